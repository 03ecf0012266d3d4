"""Several faults on one answer together, and their combined effect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from resilience.testing.faults.answers import Answer
from resilience.testing.faults.connection_faults import (
    Bandwidth,
    ConnectionFault,
    Hang,
    HangAfter,
    Latency,
    Refuse,
    Reset,
    Slicer,
    SlowClose,
    Truncate,
    require,
)


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


class Ending(Enum):
    """What happens to the client's connection once its answer, or the part of it that is sent, has gone out."""

    KEEP = auto()
    CLOSE = auto()
    RESET = auto()
    HANG = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """How an answer goes out. `cut_bytes` None: whole; 0: not at all. `answer` None: the real server's answer."""

    latency: Latency = Latency(0.0)  # noqa: RUF009  (frozen)
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
