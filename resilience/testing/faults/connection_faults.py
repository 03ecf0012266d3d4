"""Faults of the connection, whatever it carries: what can go wrong with the bytes of an answer on their way.

Durations are float seconds, sizes bytes, rates bytes per second. The faults act on what goes to the client. Those that
cut an answer count its bytes, including the head; an answer of fewer bytes is not cut. A cut before the first byte
(Hang, Refuse, or a size of 0) happens at once and the real server is not asked. From 1 byte on it is asked, and its
work is lost.
"""

from __future__ import annotations

from dataclasses import dataclass


def require(is_right: bool, sentence: str) -> None:
    """Raise ValueError with the sentence when `is_right` is False."""
    if not is_right:
        raise ValueError(sentence)


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
