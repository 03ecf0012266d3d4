"""What must become of the turns of a gateway: who is refused and why, who is asked, who pays what, what comes. Pure.

Two servers stand behind the one model, the second for when the first cannot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.assistant.gateway.cast_of_turns import (
    BREAKING,
    BROKEN,
    BUSY,
    FAILING,
    HELD,
    KINDS,
    LEAST,
    MOST,
    SLOW,
    TEXTS,
    USAGES,
    Bucket,
    Face,
    Key,
    cost,
)  # fmt: skip

#: How many turns may be under way to the servers; the others wait.
PLACES = 3
#: How many wrong keys of one address are looked at in a minute.
_WRONG_KEYS = 10.0
#: How many failures in a row are let happen: after more, a server is left alone.
_FAILURES = 2


@dataclass(frozen=True)
class End:
    """What the client gets. `server` answered, and `text` is the whole of it, or where `is_broken` begins with that."""

    status: int
    server: int | None = None
    text: str = ""
    is_broken: bool = False
    retries: bool = False
    after: str | None = None


@dataclass(eq=False)
class Turn:
    """One request. `left` are the headers of its answer that say what its key has left."""

    key: Key
    dialect: str
    streams: bool
    faces: tuple[Face, ...]
    model: str = "wise"
    number: int = 0
    end: End | None = None
    is_queued: bool = False
    server: int = 0
    since: float = 0.0
    left: dict[str, str] = field(default_factory=dict)

    @property
    def face(self) -> Face:
        return self.faces[self.server]

    @property
    def words(self) -> list[str]:
        return [str(self.number), *self.faces]

    def is_certain(self) -> bool:
        """Tell whether it is known beforehand of each of its calls whether it may be made."""
        if self.key.has_room(LEAST, MOST) is False:
            return True
        more = BROKEN[1] if self.faces[0] in BREAKING else (0, 0, 0)
        return bool(self.key.has_room(LEAST, (1, MOST[1] + more[1], MOST[2] + more[2])))

    @property
    def is_forwarded(self) -> bool:
        return self.dialect == ("chat", "messages")[self.server]


class PlannedTurns:
    """All turns there were, and all that must have come of them."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = {key.name: key for key in keys}
        self.now = 0.0
        self.under_way: list[Turn] = []
        self.queued: list[Turn] = []
        #: How often a server was asked for a turn, by its number; and the calls by server that were charged.
        self.asked: Counter[tuple[int, int]] = Counter()
        self.charged: Counter[int] = Counter()
        self.wrong = Bucket(_WRONG_KEYS, _WRONG_KEYS / 60)
        #: By server: failures in a row, and how often it had too much.
        self.failed, self.throttled = [0, 0], [0, 0]

    def waiting(self) -> list[Turn]:
        return [*self.under_way, *self.queued]

    def possible(self, turn: Turn) -> Turn:
        """Return a turn of which it is known what must come: no server is left alone, and no estimate decides."""
        for at, face in enumerate(turn.faces):
            is_too_much = face is Face.BUSY and (self.waiting() or self.throttled[at])
            if is_too_much or (face in FAILING and self.failed[at] >= _FAILURES):
                turn.faces = (*turn.faces[:at], Face.ANSWERS, *turn.faces[at + 1 :])
        if not turn.is_certain() or (not turn.key.counts_calls and len(self.under_way) >= PLACES):
            turn.key = self.keys["free"]
        return turn

    def total(self) -> list[float]:
        """Return the calls, tokens and money of all keys."""
        return [sum(key.used[0][at] for key in self.keys.values()) for at in range(len(KINDS))]

    def stranger(self) -> End:
        """Return what somebody without a key of this gateway gets."""
        if self.wrong.takes(self.now):
            return End(401)
        return End(429, after=str(max(1, round((1 - self.wrong.at(self.now)) / self.wrong.rate))))

    def admit(self, key: Key) -> End | None:
        """Return why the key is not let in now, None when it is."""
        if key.is_revoked:
            return End(401)
        if not key.pace.takes(self.now):
            return End(429, retries=True, after="1")
        if key.has_room((1, 1, 0), (1, 1, 0)) is False:
            return End(429, after=key.most[1])
        if key.in_flight >= key.limits.in_flight:
            return End(429, retries=True, after="1")
        return None

    def may_use(self, key: Key, model: str) -> End | None:
        """Return why the key does not get this model."""
        if model not in {"wise", "gpt-4o-mini", "wise:latest"}:
            return End(404)
        if key.limits.models and not {"wise", "gpt-4o-mini"} & {*key.limits.models}:
            return End(403)
        return None

    def begins(self, turn: Turn) -> None:
        """A turn comes."""
        turn.end = self.admit(turn.key) or self.may_use(turn.key, turn.model)
        if turn.end is not None:
            return
        turn.left = self._left(turn.key, turn.dialect)
        turn.key.in_flight += 1
        turn.is_queued = True
        self.queued.append(turn)
        self._go_on()
        for server, face in enumerate(turn.faces):
            was_asked = bool(self.asked[server, turn.number])
            self.failed[server] += face in FAILING and (was_asked or turn.is_queued)
            self.throttled[server] += face is Face.BUSY and was_asked
            if was_asked and face is Face.ANSWERS:
                self.failed[server] = 0

    def leaves(self, turn: Turn) -> None:
        """The client of a turn that has no end yet goes away."""
        if turn.is_queued:
            self.queued.remove(turn)
        else:
            self.under_way.remove(turn)
            turn.key.reserved -= 1
            if turn.face is Face.STALLS:
                self._charge(turn, *BROKEN)
        turn.key.in_flight -= 1
        self._go_on()

    def passes(self, seconds: float) -> None:
        """Time passes. Slow answers come."""
        self.now += seconds
        answered = [turn for turn in self.under_way if turn.face is Face.SLOW and turn.since + SLOW <= self.now]
        for turn in answered:
            self.under_way.remove(turn)
            turn.key.reserved -= 1
            turn.key.in_flight -= 1
            self._answers(turn)
        self._go_on()

    def _left(self, key: Key, dialect: str) -> dict[str, str]:
        """Return the headers with the limits and what is left. Of requests it is the pace, where no other is set."""
        allowed, used = key.most[0], key.used[0]
        left = {"requests": (key.limits.per_second, int(key.pace.at(self.now)))}
        if allowed.calls is not None:
            left["requests"] = (allowed.calls, int(allowed.calls - used[0] - key.reserved))
        if allowed.tokens is not None and not key.reserved:
            left["tokens"] = (allowed.tokens, int(max(0, allowed.tokens - used[1])))
        names = ("x-ratelimit-limit-{}", "x-ratelimit-remaining-{}")
        if dialect == "messages":
            names = ("anthropic-ratelimit-{}-limit", "anthropic-ratelimit-{}-remaining")
        pairs = [(name.format(what), str(left[what][at])) for what in left for at, name in enumerate(names)]
        return {} if dialect == "ollama" else dict(pairs)

    def _go_on(self) -> None:
        while self.queued and len(self.under_way) < PLACES:
            turn = self.queued.pop(0)
            turn.is_queued = False
            self._runs(turn)

    def _runs(self, turn: Turn) -> None:
        for server in (0, 1):
            turn.server, is_last = server, server == 1
            if not turn.key.has_room(LEAST, MOST):
                turn.end = End(429, after=turn.key.most[1])
                break
            self.asked[server, turn.number] += 1
            if turn.face in HELD:
                turn.since = self.now
                turn.key.reserved += 1
                self.under_way.append(turn)
                return
            if self._tries(turn, is_last=is_last):
                break
        turn.key.in_flight -= turn.end is not None

    def _tries(self, turn: Turn, *, is_last: bool) -> bool:
        """Let one server do what it does at once. Return whether that is the end of the turn."""
        face, server = turn.face, turn.server
        if face is Face.ANSWERS:
            self._answers(turn)
        elif face is Face.REFUSES:
            turn.end = End(400)
        elif face in BREAKING and (turn.streams or not turn.is_forwarded or face is not Face.ERRS):
            self._charge(turn, *BROKEN)
            if turn.streams and (turn.is_forwarded or face is not Face.DIES_AT_ONCE):  # the client has a part
                turn.end = End(200, server, TEXTS[server], is_broken=True)
        if turn.end is None and is_last:  # the first that may recover is told of, and when all of them may
            after = f"{BUSY:g}" if {*turn.faces} == {Face.BUSY} else None
            turn.end = End(429, retries=True, after=after) if turn.faces[0] is Face.BUSY else End(502)
        return turn.end is not None

    def _answers(self, turn: Turn) -> None:
        used = (1, sum(USAGES[turn.server]), cost(turn.server))
        self._charge(turn, used, used)
        turn.end = End(200, turn.server, TEXTS[turn.server])

    def _charge(self, turn: Turn, least: Sequence[float], most: Sequence[float]) -> None:
        self.charged[turn.server] += 1
        for used, more in zip(turn.key.used, (least, most), strict=True):
            used[:] = [one + other for one, other in zip(used, more, strict=True)]
