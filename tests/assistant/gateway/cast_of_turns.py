"""The keys of a gateway, and two servers behind its one model, which do with a turn what its words say.

The first word is the number of the turn, and one for each server follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.llm.testing import DieMidStream, EndEarly, ErrorInStream, Hang, HttpError, RecordedRequest, Reply
from mud_assistant.llm.testing.script import Step
from mud_assistant.resilience import Allowance, Amount
from tests.assistant.gateway.asking import PATHS, body_of, post

#: The owner's key of the servers: no client may read it, whatever a server says.
OWNERS_KEY = "sk-planted-0123456789abcdefghijklmnop"
#: A key of the owner's for something else, which a server happens to know: no client may read that one either.
OTHER_KEY = "sk-search-9876543210zyxwvutsrqponm"
#: What the servers tell of the owner's network when they fail: neither may a client read that.
ADDRESS = "http://10.11.12.13:8080"
TEXTS = ("The well lies north of the mill, past the old oak.", "Ask the old miller, for she knows the way to it.")
USAGES = ((60, 40), (130, 70))
#: What a million tokens cost, in and out.
PRICES = {"input": 1000.0, "output": 10_000.0}
#: Seconds until a slow answer comes, and until a server that had too much wants to be asked again.
SLOW, BUSY = 10.0, 7.0
#: How each dialect says that an answer has 100 tokens at most.
_BOUNDS: Mapping[str, Mapping[str, Any]] = {
    "chat": {"max_tokens": 100},
    "responses": {"max_output_tokens": 100},
    "messages": {},
    "ollama": {"options": {"num_predict": 100}},
}
#: What a call is expected to use at least and at most: 100 tokens of answer, and its prompt.
LEAST, MOST = (1, 110, 1.01), (1, 200, 1.10)
#: What a call that broke off is booked with: less than a whole one, and more than nothing.
BROKEN = ((1, 1, 0.001), (1, 150, 0.7))
#: The seconds until a day and a month begin anew.
_DAY, _MONTH = "43200", "734400"
KINDS = ("calls", "tokens", "money")
LIMITS = {
    "free": KeyLimits(in_flight=4, per_second=1000),
    "ample": KeyLimits(day=Allowance(tokens=10_000_000)),
    "calls": KeyLimits(day=Allowance(calls=4), in_flight=3),
    "tokens": KeyLimits(day=Allowance(tokens=700)),
    "money": KeyLimits(day=Allowance(money=3.0)),
    "month": KeyLimits(month=Allowance(calls=4), day=Allowance(calls=9)),
    "both": KeyLimits(month=Allowance(calls=9), day=Allowance(calls=3), per_second=4),
    "paced": KeyLimits(per_second=2),
    "alone": KeyLimits(in_flight=1),
    "alias": KeyLimits(models=("gpt-4o-mini",)),
    "barred": KeyLimits(models=("elsewhere",), per_second=3),
}


class Face(StrEnum):
    """What a server does with a turn."""

    ANSWERS = "answers"
    SLOW = "answers late"
    FAILS = "fails"
    BUSY = "has too much"
    REFUSES = "refuses the request"
    DIES = "dies in its answer"
    DIES_AT_ONCE = "dies before a word"
    ENDS = "ends in its answer"
    ERRS = "tells an error in its answer"
    HANGS = "says nothing"
    STALLS = "stops in its answer"


BREAKING = (Face.DIES, Face.DIES_AT_ONCE, Face.ENDS, Face.ERRS)
FAILING = (*BREAKING, Face.FAILS)
HELD = (Face.SLOW, Face.HANGS, Face.STALLS)


def serve(server: int, asked: RecordedRequest) -> Step:
    """Do what the words of the request say."""
    face = Face(words_of(asked)[1 + server])
    reply = Reply(TEXTS[server], usage=USAGES[server])
    said = f"the account of {OWNERS_KEY}, beside {OTHER_KEY},"
    steps: dict[Face, Step] = {
        Face.ANSWERS: reply,
        Face.SLOW: Reply(TEXTS[server], usage=USAGES[server], delay_seconds=SLOW),
        Face.FAILS: HttpError(500, f"{said} at {ADDRESS} fell over", {"x-account-key": OWNERS_KEY}),
        Face.BUSY: HttpError(429, f"{said} at {ADDRESS} has too much", {"retry-after": f"{BUSY:g}"}),
        Face.REFUSES: HttpError(400, f"odd words for {said}"),
        Face.DIES: DieMidStream(6, reply),
        Face.DIES_AT_ONCE: DieMidStream(1, reply),
        Face.ENDS: EndEarly(6, reply),
        Face.ERRS: ErrorInStream(said, 6, reply),
        Face.HANGS: Hang("headers"),
        Face.STALLS: Hang("mid", 6, reply),
    }
    return steps[face]


def cost(server: int) -> float:
    """Return what a whole answer of a server costs."""
    return sum(tokens * price for tokens, price in zip(USAGES[server], PRICES.values(), strict=True)) / 1_000_000


def words_of(asked: RecordedRequest) -> list[str]:
    """Return the number of the turn, and what each server does with it."""
    content: Any = asked.messages[-1]["content"]
    return str(content if isinstance(content, str) else content[0]["text"]).split("|")


def names_told(asked: RecordedRequest, names: Iterable[str]) -> set[str]:
    """Return which of these names of keys a server is told: who asks is none of its business."""
    return {*names}.intersection(re.findall(r"\w+", f"{asked.headers} {asked.raw.decode()}"))


def question(dialect: str, words: Sequence[str], key: str, model: str, *, streams: bool) -> bytes:
    """Return a request of a client, whose key stands where it stands by turns."""
    text = "|".join(words)
    said: Any = {"input": text} if dialect == "responses" else {"messages": [{"role": "user", "content": text}]}
    usage = {"stream_options": {"include_usage": True}} if dialect == "chat" and streams else {}
    body = body_of(dialect, streams=streams, **{**_BOUNDS[dialect], **said, **usage, "model": model})
    shown = {"x_api_key": key} if int(words[0]) % 2 else {"authorization": f"Bearer {key}"}
    return post(PATHS[dialect], body, connection="close", **shown)


@dataclass
class Bucket:
    """How many may come at once, and how many more in a second."""

    burst: float
    rate: float
    left: float = -1.0
    since: float = 0.0

    def at(self, now: float) -> float:
        left = self.burst if self.left < 0 else self.left
        return min(self.burst, left + (now - self.since) * self.rate)

    def takes(self, now: float) -> bool:
        """Tell whether one more may come, and count it."""
        left = self.at(now)
        self.left, self.since = (left - 1 if left > 0.9999 else left), now
        return left > 0.9999


@dataclass(eq=False)
class Key:
    """A virtual key and what is known of it. `used` is the least and the most of calls, tokens and money."""

    name: str
    limits: KeyLimits
    used: list[list[float]] = field(default_factory=lambda: [[0, 0, 0], [0, 0, 0]])
    in_flight: int = 0
    reserved: int = 0
    is_revoked: bool = False

    def __post_init__(self) -> None:
        self.pace = Bucket(self.limits.per_second, self.limits.per_second)

    @property
    def most(self) -> tuple[Allowance, str]:
        """The limits that end first, and the seconds until they begin anew."""
        month, day = self.limits.month, self.limits.day
        is_month = month.is_limited and (month.calls or 0) < (day.calls or 0)
        return (month, _MONTH) if is_month else (day, _DAY)

    @property
    def counts_calls(self) -> bool:
        """Whether no estimate decides of what it may do."""
        return self.most[0].tokens is None and self.most[0].money is None

    def learns(self, spent: Amount) -> None:
        """Compare what was really used with what is known of it."""
        used = [spent.calls, spent.tokens, spent.money]
        limits = zip(self.used[0], used, self.used[1], strict=True)
        assert all(low - 1e-6 <= one <= high + 1e-6 for low, one, high in limits), (self.name, used, self.used)
        self.used = [[*used], [*used]]

    def has_room(self, least: Sequence[float], most: Sequence[float]) -> bool | None:
        """Tell whether a call that uses this may be made; None when that depends on what is only estimated."""
        has_room: bool | None = True
        for at, kind in enumerate(KINDS):
            limit = getattr(self.most[0], kind)
            if limit is None:
                continue
            low, high = (self.used[i][at] + self.reserved * (LEAST, MOST)[i][at] for i in (0, 1))
            if low + least[at] > limit + 1e-9:
                return False
            if high + most[at] > limit + 1e-9:
                has_room = None
        return has_room
