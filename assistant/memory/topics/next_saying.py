"""Chooses what is said of a topic: another thing than the last time, the next part, the answer to a riddle. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b

from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.journal.tables.told_topics import Told
from mud_assistant.assistant.language.words import singular, words_of

#: After how long the only thing said on a topic may be said again, and after how long a story begins again, in seconds.
AGAIN_SECONDS, BEGIN_AGAIN_SECONDS = 600.0, 7 * 86_400.0
#: For how long "go on" means the topic that was told last, and an answer its riddle, in seconds.
MORE_SECONDS = 3600.0
#: The most words of a line that only wants more, of a guess, and of a line that holds the answer to a riddle.
_MORE_WORDS, _GUESS_WORDS, _ANSWER_WORDS = 8, 6, 14
#: A word of at least so many letters may be misspelt, and how alike it must be then.
_LONG, _ALIKE = 4, 0.75
_ARTICLES_TEXT = "a an the my your some one of der die das un une el la"
_ARTICLES = frozenset(_ARTICLES_TEXT.split())
_MORE = re.compile(
    r"^\W*(?:(?:and|so|then|well|ok|okay|yes|oh|please|do|just|no|but|wait|et|puis|und|y|pues)\b[\s,.!-]*)*"
    r"(?:go on|go ahead|carry on|keep going|keep talking|proceed|continue|more|tell (?:me|us) (?:some )?more|"
    r"(?:tell (?:me|us) )?(?:another|one more|some more)(?: one| part| time)?|(?:any|some)(?:thing)? more|"
    r"anything else|what else|(?:is|was) (?:that|there) (?:all|more)|next(?: part)?|what(?:'s| is| comes)? next|"
    r"and|then(?: what)?|what then|(?:what|then what) happen(?:ed|s)"
    r"(?: then| next| after(?: that| this)?| in the end)?|"
    r"how (?:does|did) (?:it|that|the story|this) (?:end|go on|continue)|the rest|(?:finish|end) (?:it|the story)|"
    r"don'?t stop(?: there| now)?|i'm listening|weiter|erzähl (?:mir )?(?:weiter|mehr)|mach weiter|(?:und )?dann|mehr|"
    r"noch (?:einer|eine|eins|mehr)|la suite|continuez?|encore|(?:et )?après|(?:et )?ensuite|sigue|más|"
    r"(?:y )?(?:luego|después|entonces)|otra|otro)\b(?P<rest>[^.!?]*)[\s.!?]*(?:i'm listening|please)?[\s.!?]*$",
    re.IGNORECASE,
)
_REST_TEXT = "please then with the it of that on now me us again more to about"
_REST = frozenset(_REST_TEXT.split())
#: After "the", what a line wants to go on: "Go on with the story." "Another story" is another.
_TOLD = frozenset({"story", "tale", "riddle", "news"})
_GIVES_UP = re.compile(
    r"\b(?:give up|giving up|no idea|no clue|beats me|stumped|cannot guess|can't guess|don't know|do not know|"
    r"(?:tell|give) (?:me|us)(?: the)? (?:answer|solution)|what(?:'s| is| was) (?:it|the (?:answer|solution))|"
    r"the (?:answer|solution), please|you tell (?:me|us)|weiß nicht|weiss nicht|gebe auf|sais pas|no (?:lo )?sé)\b",
    re.IGNORECASE,
)
_GUESS = re.compile(
    r"^\W*(?:(?:hm+|well|oh|ok|perhaps|maybe|um+|er|and|so|then)\b[\s,.!-]*)*"
    r"(?:is it|it's|it is|it must be|could it be|might it be|i (?:think|guess|say)(?: it's| it is)?|"
    r"(?:the|my) (?:answer|guess) is|an?)\b",
    re.IGNORECASE,
)


def key_of(topic: Topic) -> str:
    """Return the name under which it is kept what was said of a topic: short, and the same while its title is."""
    return blake2b(topic.title.encode(errors="replace"), digest_size=6).hexdigest()


def next_saying(topic: Topic, told: Told, now: float, *, aloud: int | None = None, is_last: bool = False) -> int | None:
    """Return the place of what is said next of a topic; None when it is used up for now.

    `aloud` is what the room heard of it lately: the room goes on from there. `is_last` says that no other topic was
    told to the listener since.
    """
    count, ago = len(topic.says), now - told.at
    if topic.parts:
        heard = max((*told.said, -1 if aloud is None else aloud))
        if heard + 1 < count:
            return heard + 1
        return 0 if told.said and ago >= BEGIN_AGAIN_SECONDS and aloud is None else None
    if told.closed and ago < BEGIN_AGAIN_SECONDS:
        return None
    fresh = [place for place in range(count) if place not in told.said and place != aloud]
    if fresh:
        return fresh[0]
    if not told.said or ago < (BEGIN_AGAIN_SECONDS if is_last and count == 1 else AGAIN_SECONDS):
        return None
    return next(
        (place for place in told.said if place < count and place not in {told.said[-1] if count > 1 else -1, aloud}),
        None,
    )


def with_said(told: Told, place: int, now: float) -> Told:
    """Return what was told, with one more thing said."""
    kept = () if place == 0 and told.said and now - told.at >= BEGIN_AGAIN_SECONDS else told.said
    return Told((*(one for one in kept if one != place), place), now, closed=False)


def last_told(topics: Sequence[Topic], told: Mapping[str, Told], now: float) -> Topic | None:
    """Return the topic that a listener was told last, unless that is long ago."""
    known = {key_of(topic): topic for topic in topics}
    lately = [(one.at, key) for key, one in told.items() if key in known and now - one.at <= MORE_SECONDS]
    return known[max(lately)[1]] if lately else None


def wants_more(line: str) -> bool:
    """Tell whether a line only asks to go on."""
    straight = line.replace("\u2019", "'").strip()
    found = _MORE.match(straight)
    if found is None or len(words_of(line)) > _MORE_WORDS:
        return False
    rest = words_of(found["rest"])
    return _REST.issuperset(rest[:-1]) and (
        not rest or rest[-1] in _REST or (rest[-2:-1] == ["the"] and rest[-1] in _TOLD)
    )


def gives_up(line: str) -> bool:
    """Tell whether a line asks for the answer to a riddle."""
    return _GIVES_UP.search(line.replace("\u2019", "'")) is not None


def is_guess(line: str) -> bool:
    """Tell whether a line looks like a guess at a riddle: "Is it a candle?", "The moon!"."""
    words = words_of(line)
    if _GUESS.match(line.replace("\u2019", "'")):
        return len(words) <= _GUESS_WORDS
    return 1 < len(words) <= 3 and words[0] in _ARTICLES  # noqa: PLR2004  ("the old moon")


def solves(line: str, answers: Sequence[str]) -> bool:
    """Tell whether a line holds one of the answers, whatever its articles, plural and small mistakes of spelling."""
    words = [singular(word) for word in words_of(line) if word not in _ARTICLES]
    if len(words) > _ANSWER_WORDS:
        return False
    for answer in answers:
        wanted = [singular(word) for word in words_of(answer) if word not in _ARTICLES] or words_of(answer)
        spans = (words[at : at + len(wanted)] for at in range(len(words) - len(wanted) + 1))
        if wanted and any(all(map(_is_meant, span, wanted)) for span in spans):
            return True
    return False


def _is_meant(word: str, wanted: str) -> bool:
    if word == wanted:
        return True
    long_enough = len(wanted) >= _LONG and len(word) >= _LONG - 1 and word[:1] == wanted[:1]
    return long_enough and SequenceMatcher(None, word, wanted, autojunk=False).ratio() > _ALIKE
