"""Keeps the last question of each place, so that a short answer to it is understood: "Rex.". In memory only."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.events.classify import Attention, OpenQuestion
from mud_assistant.assistant.events.events import ChannelSaid, Emoted, Event, Paged, Said, Whispered, quoted_in
from mud_assistant.assistant.language.words import is_question, sentences_of
from mud_assistant.tools.text.clean import clean_heard
from mud_assistant.tools.trust import TOP, label_of

#: How long a question waits for its answer, in seconds.
ANSWER_SECONDS = 120.0
#: The longest question that is kept, in characters.
MAX_CHARS = 200
#: How many places are kept, the newest.
_KEPT = 200


class _Waiting(Struct, frozen=True):
    """A question that waits for its answer since `at`, in clock seconds.

    `who` is the id of who asked. `of` are the ids of those who were asked, None for whoever was there.
    """

    question: OpenQuestion
    who: str
    at: float
    of: frozenset[str] | None


class Questions:
    """The last question in each place: the room, each channel, the private talk with each person.

    `now` gives clock seconds.
    """

    __slots__ = ("_last", "_now")

    def __init__(self, now: Callable[[], float] = lambda: 0.0) -> None:
        self._now = now
        self._last: dict[str, _Waiting] = {}

    def ask(
        self,
        place: str,
        text: str,
        who: str,
        *,
        sources: frozenset[str] = frozenset(),
        authority: int = TOP,
        of: frozenset[str] | None = None,
    ) -> None:
        """Take note of what somebody says in a place (`room`, `channel`, `private`), if it ends with a question.

        `sources` are the ids of all whose words it repeats, and `authority` is its level of trust. `of` are the ids of
        those who are spoken to, None for whoever is there. Who says something else after a question waits for no
        answer, nor does who is told something after theirs.
        """
        sentences = sentences_of(clean_heard(text))
        if sentences and is_question(sentences[-1]) and len(sentences[-1]) <= MAX_CHARS:
            self._last.pop(place, None)
            self._last[place] = _Waiting(OpenQuestion(sentences[-1], sources, authority), who, self._now(), of)
            while len(self._last) > _KEPT:
                del self._last[next(iter(self._last))]
        elif (last := self._last.get(place)) is not None and last.who in {who, *(of or ())}:
            del self._last[place]

    def heard(self, event: Event, attention: Attention) -> Attention:
        """Return the attention of an event with the question that its words may answer, and note one that they ask."""
        place, text = _place_and_words(event)
        if not text:
            return attention
        last = self._last.get(place)
        who = event.who
        self.ask(place, text, who.id, sources=frozenset({who.id}), authority=label_of(who).authority)
        if last is None or last.who == event.who.id or self._now() - last.at > ANSWER_SECONDS:
            return attention
        is_asked = last.of is None or event.who.id in last.of
        return replace(attention, asked=last.question) if is_asked else attention

    def forget(self, principal_id: str) -> None:
        """Forget the questions that repeat words of this principal, all of them for ""."""
        waiting = self._last.items() if principal_id else ()
        self._last = {place: one for place, one in waiting if principal_id not in one.question.sources}


def room() -> str:
    """Return the place of what is said aloud."""
    return "room"


def channel(name: str) -> str:
    """Return the place of what is said on a channel."""
    return f"channel {name.casefold()}"


def private(principal_id: str) -> str:
    """Return the place of what is whispered or paged to one person, or by them."""
    return f"private {principal_id}"


def _place_and_words(event: Event) -> tuple[str, str]:
    match event:
        case Said():
            return room(), event.text
        case Emoted():
            return room(), quoted_in(event.text)
        case ChannelSaid():
            return channel(event.channel), event.text
        case Whispered() | Paged():
            return private(event.who.id), event.text
        case _:
            return "", ""
