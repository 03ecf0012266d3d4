"""Brains without a model that behave well, always in the same way.

The sage, for benches and trials, answers like a sensible model. The dutiful one does what a line of speech plainly asks
and ignores everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct

from mud_assistant.llm.testing.goals import Turn, turns_of
from mud_assistant.llm.testing.script import Call, RecordedRequest, Reply

#: How many characters of the last line are quoted.
QUOTE_LIMIT = 200
_REASONING = "Someone spoke to me, so I answer."
#: How many characters of what it found out it reports.
_TOLD_CHARS = 150
_HEARD = re.compile(
    r"(?P<who>[^\n]{1,80}?) (?P<how>says(?: to you)?|whispers to you|pages you|says on [^:\n]{1,40}): \"(?P<text>.*)\""
)
_NAMED = re.compile(
    r"\A\W*(?:@?\w+,\s+)?(?:please\s+)?(?P<wish>.*?)(?:,?\s+please)?[.!?]*\Z", re.IGNORECASE | re.DOTALL
)


def simple_sage(request: RecordedRequest) -> Reply:
    """Return a reply that quotes the last line a user said.

    With native tools it is a call of `say`, or plain text when `say` is not offered. Without tools it is the JSON form
    of a call. After a tool's result the sage has nothing to add.
    """
    if not request.tools:
        call = {"tool": "say", "parameters": {"text": _last_words(request)}, "reasoning": _REASONING}
        return Reply(orjson.dumps(call).decode())
    if request.messages and _is_result(request.messages[-1]):
        return Reply("Nothing to add.")
    if "say" in map(_tool_name, request.tools):
        return Reply(calls=(Call("say", {"text": _last_words(request)}, f"call_sage_{len(request.messages)}"),))
    return Reply(_last_words(request))


def _last_words(request: RecordedRequest) -> str:
    """Return the quotation, as the sage says it."""
    said = [_text(message) for message in request.messages if message.get("role") == "user"]
    lines = [line.strip() for line in "\n".join(said).splitlines() if line.strip()]
    return f"You asked: {lines[-1][:QUOTE_LIMIT]}" if lines else "You asked nothing."


def _is_result(message: Mapping[str, Any]) -> bool:
    """Tell whether this is the result of a tool. Anthropic sends that as a block of a user's message."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return message.get("role") == "tool" or any(
        isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks
    )


def _text(message: Mapping[str, Any]) -> str:
    """Return a message's text. Chat Completions may send it in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return str(content or "")


def _tool_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    named = function if isinstance(function, Mapping) else tool
    return str(named.get("name") or "")


class Wish(Struct, frozen=True):
    """What a player asked for, and how they spoke: 'says', 'whispers to you', 'pages you', 'says on CHANNEL'."""

    who: str
    text: str
    how: str


#: Makes the call for a wish from the words that its pattern caught.
_Act = Callable[[Wish, re.Match[str]], Call]
_ACTS: tuple[tuple[re.Pattern[str], _Act], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), act)
    for pattern, act in (
        (
            r"(?:hello|good (?:morning|day|evening)|greetings)\b",
            lambda wish, _: _answer(wish, f"Good day, {wish.who}."),
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
    wish = _wish(turns[at].text) if at >= 0 else None
    if wish is None:
        return Call("noop", {"reason": "nobody asked"})
    results = [turn for turn in turns[at + 1 :] if turn.kind == "result"]
    if results:
        return _answer(wish, " ".join(results[-1].text.split())[:_TOLD_CHARS])
    for pattern, act in _ACTS:
        if match := pattern.match(wish.text):
            return act(wish, match)
    return _answer(wish, f"I heard you, {wish.who}")


def _wish(text: str) -> Wish | None:
    """Return the wish in the last spoken line."""
    for line in reversed(text.splitlines()):
        if heard := _HEARD.fullmatch(line.strip()):
            named = _NAMED.match(heard["text"])
            wish = named["wish"] if named else heard["text"]
            return Wish(heard["who"], wish, heard["how"])
    return None


def _answer(wish: Wish, text: str) -> Call:
    if wish.how.startswith("says on "):
        return Call("channel", {"channel": wish.how.removeprefix("says on "), "text": text})
    if wish.how.startswith("says"):
        return _say(text)
    return Call("page" if wish.how.startswith("pages") else "whisper", {"target": wish.who, "text": text})


def _say(text: str) -> Call:
    return Call("say", {"text": text})
