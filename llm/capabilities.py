"""What each model turned out to be able to do, learned from its answers and shared by every client of the process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ModelRecord:
    """What is known of one model at one origin; None means not tried."""

    native_tools: bool | None = None
    schema: bool | None = None
    thinking: bool | None = None

    @property
    def as_text(self) -> bool:
        """Whether tools must be described and called as text."""
        return self.native_tools is False


class Capabilities:
    """Records by (API URL, model)."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ModelRecord] = {}

    def of(self, api_url: str, model: str) -> ModelRecord:
        """The record of one model, empty at first."""
        return self._records.setdefault((api_url, model), ModelRecord())
