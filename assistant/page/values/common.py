"""Values that several views share: servers, circuits, timings, troubles, problems."""

from __future__ import annotations

from msgspec import Struct

from mud_assistant.assistant.service.operations.operators import VisitorRole as VisitorRole  # noqa: PLC0414  (re-exported)


class Value(Struct, frozen=True, forbid_unknown_fields=True):
    """A frozen value of the API. Unknown fields are refused, so that a misspelt one is noticed."""


class ServerStatus(Value, frozen=True):
    """One server of models: its circuit, and what it does now. `sentence` describes it as /status does."""

    origin: str
    circuit: str
    open_for: float = 0.0
    failures_in_a_row: int = 0
    in_flight: int = 0
    waiting: int = 0
    sentence: str = ""


class CircuitSpan(Value, frozen=True):
    """How the circuit of a server was from `since` to `until`."""

    origin: str
    circuit: str
    since: float
    until: float


class TimingPoint(Value, frozen=True):
    """How long people waited in the minute from `at` on, in seconds: the middle of its runs, None where there was none.

    `waiting` is from hearing something to the first question to a model, `first_sentence` from hearing it to speaking.
    """

    at: float
    waiting: float | None = None
    first_sentence: float | None = None


class TroubleNotice(Value, frozen=True, kw_only=True):
    """Something that a person must see to. `assistant` is the id of the one concerned, empty for all."""

    kind: str
    assistant: str = ""
    name: str = ""
    sentence: str


class ProblemDocument(Value, frozen=True, kw_only=True):
    """An error of the API: a problem document of RFC 9457 (application/problem+json)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
