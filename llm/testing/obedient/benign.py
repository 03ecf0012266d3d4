"""A good assistant without a model: does what a line of speech plainly asks, and ignores everything else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from llm.testing.obedient.turns import Turn, turns_of
from llm.testing.script import Call, RecordedRequest, Reply

#: How many characters of what it found out it reports.
_TOLD_CHARS = 150
_HEARD = re.compile(
    r"(?P<who>[^\n]{1,80}?) (?P<how>says(?: to you)?|whispers to you|pages you|says on [^:\n]{1,40}): \"(?P<text>.*)\""
)
_NAMED = re.compile(
    r"\A\W*(?:@?\w+,\s+)?(?:please\s+)?(?P<wish>.*?)(?:,?\s+please)?[.!?]*\Z", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a player asked for, and how they spoke: 'says', 'whispers to you', 'pages you', 'says on CHANNEL'."""

    who: str
    text: str
    how: str


#: Makes the call for a wish from the words that its pattern caught.
_Act = Callable[[Wish, re.Match[str]], Call]


def _say(text: str) -> Call:
    return Call("say", {"text": text})


_ACTS: tuple[tuple[re.Pattern[str], _Act], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), act)
    for pattern, act in (
        (
            r"(?:hello|good (?:morning|day|evening)|greetings)\b",
            lambda retry_after, _: _answer(retry_after, f"Good day, {retry_after.who}."),
        ),
        (r"(?:look (?:a)?round|what can you see|describe the room)", lambda *_: Call("look")),
        (r"(?:look at|inspect|examine) (?:the )?(?P<what>.+)", lambda _, m: Call("inspect", {"target": m["what"]})),
        (r"who is (?:here|in the game|about)", lambda *_: Call("who")),
        (
            r"whisper to (?P<to>\w+): (?P<text>.+)",
            lambda _, m: Call("whisper", {"target": m["to"], "text": m["text"]}),
        ),
        (r"say (?P<text>.+)", lambda _, m: _say(m["text"])),
        (r"(?P<act>smile|bow|wave|nod|dance|laugh)\b", lambda _, m: Call("emote", {"text": f"{m['act'].lower()}s."})),
        (r"(?:go|walk|move)(?: to)? (?P<way>[\w ]+)", lambda _, m: Call("move", {"direction": m["way"]})),
        (r"remember(?: that)? (?P<fact>.+)", lambda _, m: Call("remember", {"text": m["fact"]})),
        (r"what do you (?:know|remember) of (?P<what>.+)", lambda _, m: Call("recall", {"query": m["what"]})),
        (r"(?:type|run the command) (?P<line>.+)", lambda _, m: Call("execute_command", {"command": m["line"]})),
        (r"search the web for (?P<what>.+)", lambda _, m: Call("web_search", {"query": m["what"]})),
        (r"(?:read|open) (?P<url>https?://\S+)", lambda _, m: Call("open_page", {"url": m["url"]})),
    )
)


def dutiful(request: RecordedRequest) -> Reply:
    """Return what the last line of speech asks for; after that, the answer, given in the way it was asked.

    Without tools the reply is text. Deterministic. The wishes it knows: greet, look round, look at X, who is here,
    whisper to X: ..., say ..., smile (bow, wave, ...), go X, remember that ..., what do you know of X, type COMMAND,
    search the web for X, read URL.
    """
    call = _next_call(turns_of(request))
    if not request.tools:
        return Reply(orjson.dumps({"tool": call.name, "parameters": call.arguments}).decode())
    return Reply(calls=(call,))


def _next_call(turns: Sequence[Turn]) -> Call:
    """Return the call for the last wish, or what follows its result."""
    heard = [place for place, turn in enumerate(turns) if turn.kind == "heard"]
    at = heard[-1] if heard else -1
    retry_after = _wish(turns[at].text) if at >= 0 else None
    if retry_after is None:
        return Call("noop", {"reason": "nobody asked"})
    results = [turn for turn in turns[at + 1 :] if turn.kind == "result"]
    if results:
        return _answer(retry_after, " ".join(results[-1].text.split())[:_TOLD_CHARS])
    for pattern, act in _ACTS:
        if match := pattern.match(retry_after.text):
            return act(retry_after, match)
    return _answer(retry_after, f"I heard you, {retry_after.who}")


def _wish(text: str) -> Wish | None:
    """Return the wish in the last spoken line."""
    for line in reversed(text.splitlines()):
        if heard := _HEARD.fullmatch(line.strip()):
            named = _NAMED.match(heard["text"])
            retry_after = named["wish"] if named else heard["text"]
            return Wish(heard["who"], retry_after, heard["how"])
    return None


def _answer(retry_after: Wish, text: str) -> Call:
    if retry_after.how.startswith("says on "):
        return Call("channel", {"channel": retry_after.how.removeprefix("says on "), "text": text})
    if retry_after.how.startswith("says"):
        return _say(text)
    return Call("page" if retry_after.how.startswith("pages") else "whisper", {"target": retry_after.who, "text": text})
