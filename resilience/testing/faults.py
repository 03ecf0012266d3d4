"""What goes wrong with an answer: faults of the connection, alone or together, and the plan that says which request's.

The faults act on what goes to the client. Durations are float seconds, sizes bytes, rates bytes per second. Those that
cut an answer count its bytes, including the head; an answer of fewer bytes is not cut. A cut before the first byte
(Hang, Refuse, or a size of 0) happens at once and the real server is not asked. From 1 byte on it is asked, and its
work is lost. Faults that are whole answers are in `answers.py`.

A plan is a function from a request's index and head to its fault. The index counts the requests from 0, and starts
again when a running server is given another plan. The head is everything before the request's body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from random import Random

from mud_assistant.resilience.testing.answers import Answer, require


@dataclass(frozen=True, slots=True)
class Latency:
    """Each piece of the answer comes `seconds` later, plus or minus up to `jitter_seconds`; the order is kept."""

    seconds: float
    jitter_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Reject times below zero."""
        require(self.seconds >= 0 and self.jitter_seconds >= 0, "give latency and jitter as 0 or more seconds")


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """The answer comes at no more than `bytes_per_second`."""

    bytes_per_second: float

    def __post_init__(self) -> None:
        """Reject a rate at which nothing would ever come; that is Hang."""
        require(self.bytes_per_second > 0, "give the bandwidth as more than 0 bytes per second")


@dataclass(frozen=True, slots=True)
class SlowClose:
    """The connection, when it is to be closed after the answer, is closed `seconds` later."""

    seconds: float

    def __post_init__(self) -> None:
        """Reject a time below zero."""
        require(self.seconds >= 0, "give the delay of the close as 0 or more seconds")


@dataclass(frozen=True, slots=True)
class Slicer:
    """The answer comes in pieces of at most `size` bytes, with `delay_seconds` between two of them."""

    size: int
    delay_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Reject pieces without bytes, and delays below zero."""
        require(self.size >= 1, "give the size of a slice as 1 or more bytes")
        require(self.delay_seconds >= 0, "give the delay between slices as 0 or more seconds")


@dataclass(frozen=True, slots=True)
class Hang:
    """The request is taken and never answered; the connection stays open until the client leaves."""


@dataclass(frozen=True, slots=True)
class HangAfter:
    """The first `bytes` bytes of the answer come and then nothing more; the connection stays open."""

    bytes: int

    def __post_init__(self) -> None:
        """Reject a size below zero."""
        require(self.bytes >= 0, "give the place of the silence as 0 or more bytes")


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset (TCP RST) after `after_bytes` bytes of the answer."""

    after_bytes: int = 0

    def __post_init__(self) -> None:
        """Reject a size below zero."""
        require(self.after_bytes >= 0, "give the place of the reset as 0 or more bytes")


@dataclass(frozen=True, slots=True)
class Truncate:
    """The connection is closed normally (TCP FIN) after `after_bytes` bytes of the answer."""

    after_bytes: int

    def __post_init__(self) -> None:
        """Reject a size below zero."""
        require(self.after_bytes >= 0, "give the place of the end as 0 or more bytes")


@dataclass(frozen=True, slots=True)
class Refuse:
    """The connection is closed as soon as a request begins on it."""


Cut = Hang | HangAfter | Reset | Truncate | Refuse
ConnectionFault = Latency | Bandwidth | SlowClose | Slicer | Cut


@dataclass(frozen=True, slots=True, init=False)
class Faults:
    """Faults that act together on one answer: one of each kind, at most one that cuts and one that is an answer."""

    faults: tuple[ConnectionFault | Answer, ...]

    def __init__(self, *faults: ConnectionFault | Answer) -> None:
        object.__setattr__(self, "faults", faults)
        kinds = [type(fault) for fault in faults]
        require(len(set(kinds)) == len(kinds), "combine faults of different kinds")
        require(
            sum(isinstance(fault, _Cuts) for fault in faults) <= 1, "combine one fault that cuts the answer at most"
        )
        require(sum(isinstance(fault, Answer) for fault in faults) <= 1, "combine one fault that is an answer at most")


Fault = ConnectionFault | Answer | Faults
_Cuts = Hang | HangAfter | Reset | Truncate | Refuse
#: No fault: the request and the answer pass as they are.
PASS = Faults()
Plan = Callable[[int, bytes], Fault]


def always(fault: Fault) -> Plan:
    """Return a plan with the same fault for each request."""
    return lambda _index, _head: fault


def sequence(*faults: Fault, then: Fault = PASS) -> Plan:
    """Return a plan with these faults in order, and `then` for all requests after them."""
    return lambda index, _head: faults[index] if index < len(faults) else then


def every(n: int, faults: Sequence[Fault]) -> Plan:
    """Return a plan with a fault for each n-th request (the first is number n); the faults take turns."""
    require(n >= 1, "let every 1st, 2nd or later request fail: give 1 or more")
    require(bool(faults), "give one fault or more")

    def plan(index: int, _head: bytes) -> Fault:
        turn, rest = divmod(index + 1, n)
        return PASS if rest else faults[(turn - 1) % len(faults)]

    return plan


def at_random(share: float, faults: Sequence[Fault], random: Random) -> Plan:
    """Return a plan with one of the faults, all equally likely, for a `share` (0 to 1) of the requests."""
    require(0 <= share <= 1, "give the share of the requests that fail as a number from 0 to 1")
    require(bool(faults), "give one fault or more")
    return lambda _index, _head: random.choice(faults) if random.random() < share else PASS


@dataclass(slots=True)
class Record:
    """One request.

    `index` counts all requests of the server from 0, `at` is when it began in clock seconds, `fault` is its fault.
    `sent_bytes` of the answer have gone to the client so far, including the head. `error` is empty, or says why the
    proxy failed: the real server cannot be reached, or the request could not be followed.
    """

    index: int
    at: float
    fault: Fault
    sent_bytes: int = 0
    error: str = ""


class Ending(Enum):
    """What happens to the client's connection once its answer, or the part of it that is sent, has gone out."""

    KEEP = auto()
    CLOSE = auto()
    RESET = auto()
    HANG = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """How an answer goes out. `cut_bytes` None: whole; 0: not at all. `answer` None: the real server's answer."""

    latency: Latency = Latency(0.0)
    bytes_per_second: float | None = None
    slicer: Slicer | None = None
    slow_close_seconds: float = 0.0
    cut_bytes: int | None = None
    cut_ending: Ending = Ending.CLOSE
    answer: Answer | None = None

    @property
    def asks(self) -> bool:
        """Whether the real server is asked."""
        return self.cut_bytes != 0 and self.answer is None


def parts(fault: Fault) -> tuple[ConnectionFault | Answer, ...]:
    """Return the simple faults that a fault is made of; none for PASS."""
    return fault.faults if isinstance(fault, Faults) else (fault,)


def shape_of(fault: Fault) -> Shape:
    """Return the combined effect of a fault."""
    given: dict[str, object] = {}
    for part in parts(fault):
        given |= _given(part)
    return Shape(**given)  # type: ignore[arg-type]  # each field has its own type, as _given has them


def _given(fault: ConnectionFault | Answer) -> dict[str, object]:
    """Return the fields of a shape that a fault sets."""
    match fault:
        case Latency():
            return {"latency": fault}
        case Bandwidth(rate):
            return {"bytes_per_second": rate}
        case Slicer():
            return {"slicer": fault}
        case SlowClose(seconds):
            return {"slow_close_seconds": seconds}
        case Hang():
            return {"cut_bytes": 0, "cut_ending": Ending.HANG}
        case Refuse():
            return {"cut_bytes": 0}
        case HangAfter(size):
            return {"cut_bytes": size, "cut_ending": Ending.HANG}
        case Reset(size):
            return {"cut_bytes": size, "cut_ending": Ending.RESET}
        case Truncate(size):
            return {"cut_bytes": size}
        case _:
            return {"answer": fault}
