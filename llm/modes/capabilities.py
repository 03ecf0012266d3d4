"""What each model proved able to do, learned from its answers and shared by every client of the process."""

from __future__ import annotations

from dataclasses import dataclass, field

from llm.modes.call_record import CallRecord
from llm.modes.call_record import CallStyle as Asked
from llm.modes.mode import FieldOverride


@dataclass(slots=True)
class ModelRecord:
    """What is known of one model at one origin. None means not tried."""

    native_tools: bool | None = None
    schema: bool | None = None
    thinking: bool | None = None
    #: The context length in tokens, as an error named it.
    context_tokens: int | None = None
    #: The fields that a request to this model must leave out, rename or set to another value.
    amendments: tuple[FieldOverride, ...] = ()
    #: Whether its text was always the whole answer when tools were offered. False once it came with calls or reasoning.
    text_alone: bool | None = None
    #: How its recent calls came out, and so how to offer it tools.
    calls: CallRecord = field(default_factory=CallRecord)

    @property
    def as_text(self) -> bool:
        """Whether tools are described and called as text: the model refuses them, or its native calls fail."""
        return self.native_tools is False or self.calls.way is Asked.FALLBACK


class Capabilities:
    """Records by (API URL, model)."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ModelRecord] = {}

    def of(self, api_url: str, model: str) -> ModelRecord:
        """Return the record of one model, empty at first."""
        key = (api_url, model)
        if key not in self._records:
            self._records[key] = ModelRecord()
        return self._records[key]
