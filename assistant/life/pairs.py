"""Decides whether a character answers another assistant: a few lines, while a person hears it, then a rest of the pair.

Each of the two counts the lines that it hears from the other and says to it, and both come to the same number. The
decision is pure. The count outlives a restart; the last lines, by which a line is found to add nothing, do not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.events.conversation import is_farewell
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.life.life_state import LifeState, Pair, StoredLife
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Principal

#: How many lines a pair exchanges at most, and how long it rests after the last of them, in seconds.
MOST_LINES, REST_SECONDS = 6, 1800.0
#: A line adds nothing when this share of its words stood in the last lines of the pair, of which so many count.
SAME_SHARE, LAST_LINES = 0.6, 2
#: Why a line of another assistant is not answered.
RESTS, UNHEARD = "the two have talked enough for now", "nobody is present to hear the two talk"
FAREWELL, NOTHING_NEW, LAST_LINE = "it was a farewell", "the line added nothing", "it was the last line of their talk"


class PairLine(Struct, frozen=True):
    """A line that one assistant says to another. `now` is in seconds since 1970.

    `before` are the last lines of the pair, `names` what the two are called. `is_watched`: a person is present who
    hears them.
    """

    now: float
    words: str
    before: Sequence[str] = ()
    names: Sequence[str] = ()
    is_watched: bool = True


def decide_answer(pair: Pair, line: PairLine) -> tuple[Pair, str]:
    """Return the pair after a line that was heard, and why the line is not answered, empty when it is."""
    pair = current(pair, line.now)
    if pair.count >= MOST_LINES:
        return pair, RESTS
    if not line.is_watched:
        return pair, UNHEARD
    why = FAREWELL if is_farewell(line.words) else NOTHING_NEW if adds_nothing(line) else ""
    count = MOST_LINES if why else pair.count + 1
    why = why or (LAST_LINE if count >= MOST_LINES else "")
    return Pair(count, line.now + REST_SECONDS), why


def after_own(pair: Pair, words: str, now: float) -> Pair:
    """Return the pair after a line of one's own. What is said during the rest does not make it longer."""
    pair = current(pair, now)
    if pair.count >= MOST_LINES:
        return pair
    return Pair(MOST_LINES if is_farewell(words) else pair.count + 1, now + REST_SECONDS)


def current(pair: Pair, now: float) -> Pair:
    """Return the pair, or one that has said nothing once its time is over, or its clock was set back."""
    return pair if 0 < pair.rest_until - now <= REST_SECONDS else Pair()


def adds_nothing(line: PairLine) -> bool:
    """Tell whether most words of the line stood in the last lines of the pair. Names of the two do not count."""
    if not line.before:
        return False
    names = words_of(" ".join(line.names))
    said, known = (set(words_of(text)).difference(names) for text in (line.words, " ".join(line.before)))
    return len(said & known) >= SAME_SHARE * len(said)


def _nobody_is_told() -> None:
    pass


class PairTalks:
    """The talks of one character with other assistants. `wall` gives seconds since 1970, `name` is its own."""

    __slots__ = ("_last", "_name", "_pairs", "_wall", "on_change")

    def __init__(self, wall: Callable[[], float], name: str) -> None:
        self._wall, self._name = wall, name
        #: By the id of the other assistant: the count, and the last lines of both.
        self._pairs: dict[str, Pair] = {}
        self._last: dict[str, deque[str]] = {}
        #: Called when a count has changed.
        self.on_change: Callable[[], object] = _nobody_is_told

    @property
    def pairs(self) -> dict[str, Pair]:
        """The counts that still matter, by the ids of the others."""
        return dict(self._pairs)

    def restore(self, pairs: Mapping[str, Pair]) -> None:
        """Go on with these counts. Nobody is told."""
        self._pairs = dict(pairs)

    def heard(self, who: Principal, words: str, *, is_watched: bool) -> str:
        """Take note of a line of another assistant to this one; return why it is not answered, empty when it is."""
        before, names = tuple(self._last.get(who.id, ())), (self._name, who.name)
        line = PairLine(self._wall(), words, before, names, is_watched)
        pair, why = decide_answer(self._pairs.get(who.id, Pair()), line)
        self._note(who.id, pair, words)
        return why

    def said(self, ids: Iterable[str], words: str) -> None:
        """Take note of a line of its own to other assistants, by their ids."""
        for id_ in ids:
            self._note(id_, after_own(self._pairs.get(id_, Pair()), words, self._wall()), words)

    def forget(self, id_: str) -> None:
        """Forget what was exchanged with somebody. What is kept of it must be deleted as well."""
        self._pairs.pop(id_, None)
        self._last.pop(id_, None)

    def _note(self, id_: str, pair: Pair, words: str) -> None:
        now, before = self._wall(), self._pairs.get(id_)
        known = {**self._pairs, id_: pair}
        self._pairs = {other: one for other, one in known.items() if current(one, now).count}
        self._last = {other: lines for other, lines in self._last.items() if other in self._pairs}
        if id_ in self._pairs:
            self._last.setdefault(id_, deque(maxlen=LAST_LINES)).append(words)
        if self._pairs.get(id_) != before:
            self.on_change()


def keep_pairs(talks: PairTalks, stored: StoredLife, launcher: Launcher) -> None:
    """Go on with the talks that are kept, and write down every change from now on."""

    def note(state: LifeState) -> LifeState:
        return replace(state, pairs=talks.pairs)

    talks.restore(stored.state.pairs)
    talks.on_change = lambda: launcher.launch(
        stored.keep("how much a character has talked with others", note), "keeping how much assistants have talked"
    )
