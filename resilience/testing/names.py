"""The names of faults on a command line: `latency`, `latency=0.5`, `latency=0.5,0.1`, `latency=0.5+slicer=10`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields

from msgspec import Struct

from mud_assistant.resilience.testing.answers import (
    Answer,
    EndlessEvents,
    GzipBomb,
    HalfEvent,
    HtmlPage,
    HugeHeader,
    Status,
    overloaded,
    server_error,
    throttled,
)
from mud_assistant.resilience.testing.faults import (
    PASS,
    Bandwidth,
    ConnectionFault,
    Fault,
    Faults,
    Hang,
    HangAfter,
    Latency,
    Refuse,
    Reset,
    Slicer,
    SlowClose,
    Truncate,
    parts,
)


class Named(Struct, frozen=True):
    """A fault that can be asked for by name. `defaults` are its values, integers where only whole numbers are valid."""

    make: Callable[..., ConnectionFault | Answer]
    does: str
    values: str = ""
    defaults: tuple[float, ...] = ()


NAMES: dict[str, Named] = {
    "bandwidth": Named(Bandwidth, "the answer comes slowly", "BYTES_PER_SECOND", (1000.0,)),
    "endless-events": Named(EndlessEvents, "server-sent comments for ever", "SECONDS_BETWEEN", (1.0,)),
    "gzip-bomb": Named(GzipBomb, "a body that is a thousand times as large unpacked", "BYTES", (100_000_000,)),
    "half-event": Named(HalfEvent, "half a server-sent event, then a clean end"),
    "hang": Named(Hang, "no answer, ever"),
    "hang-after": Named(HangAfter, "silence after some bytes of the answer", "BYTES", (500,)),
    "html-page": Named(HtmlPage, "200 with a web page"),
    "huge-header": Named(HugeHeader, "200 with too many headers", "BYTES,LINE_BYTES", (1_000_000, 1000)),
    "latency": Named(Latency, "everything comes late", "SECONDS,JITTER_SECONDS", (1.0, 0.0)),
    "overloaded": Named(overloaded, "529 as Anthropic answers it"),
    "refuse": Named(Refuse, "the connection is closed as soon as a request begins"),
    "reset": Named(Reset, "the connection is reset after some bytes of the answer", "BYTES", (0,)),
    "server-error": Named(server_error, "an error of the server", "CODE", (500,)),
    "slicer": Named(Slicer, "the answer comes in small pieces", "BYTES,SECONDS_BETWEEN", (10, 0.0)),
    "slow-close": Named(SlowClose, "the connection is closed late", "SECONDS", (5.0,)),
    "status": Named(Status, "an empty answer with a status", "CODE", (503,)),
    "throttled": Named(throttled, "429 with Retry-After as OpenAI answers it", "SECONDS", (5.0,)),
    "truncate": Named(Truncate, "the connection is closed after some bytes of the answer", "BYTES", (500,)),
}
_SEE = "`--list` names all"


def fault_named(text: str) -> Fault:
    """Return the fault that the text names. Raises ValueError with one sentence that says what to type instead."""
    made = [_made(part) for part in text.split("+")]
    return made[0] if len(made) == 1 else Faults(*made)


def describe(fault: Fault) -> str:
    """Return the text that names the fault, its values included."""
    if fault == PASS:
        return "pass"
    return "+".join(_described(part) for part in parts(fault))


def listing() -> str:
    """Return one line for each fault: its name and values as they may be typed, and what happens."""
    lines = []
    for name, named in NAMES.items():
        usage = f"{name}[={named.values}]" if named.values else name
        example = f" (default {_joined(named.defaults)})" if named.defaults else ""
        lines.append(f"{usage:<39} {named.does}{example}\n")
    return "".join(lines)


def _made(text: str) -> ConnectionFault | Answer:
    name, equals, given = text.partition("=")
    named = NAMES.get(name)
    if named is None:
        raise ValueError(f"there is no fault {name!r}; {_SEE}")
    if not equals:
        return named.make(*named.defaults)
    values = given.split(",")
    if len(values) > len(named.defaults):
        usage = f"`{name}={named.values}`" if named.values else f"`{name}` alone"
        raise ValueError(f"{text!r} has too many values: type {usage}")
    typed = [_number(value, like, name) for value, like in zip(values, named.defaults, strict=False)]
    try:
        return named.make(*typed, *named.defaults[len(typed) :])
    except ValueError as error:
        raise ValueError(f"{text!r} cannot be: {error}") from None


def _number(text: str, like: float, name: str) -> float:
    try:
        number = type(like)(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        kind = "a whole number" if isinstance(like, int) else "a number"
        example = _joined((like,))
        raise ValueError(f"{text!r} is no value for {name}: type {kind}, as in `{name}={example}`")
    return number


def _described(fault: ConnectionFault | Answer) -> str:
    name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in type(fault).__name__)
    values = [getattr(fault, field.name) for field in fields(fault)]
    numbers = tuple(value for value in values if isinstance(value, int | float))
    return name[1:] + (f"={_joined(numbers)}" if numbers else "")


def _joined(numbers: tuple[float, ...]) -> str:
    return ",".join(f"{number:.10g}" for number in numbers)
