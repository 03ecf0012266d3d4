"""What the live stream carries."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from mud_assistant.assistant.page.values.common import Value


class LiveKind(StrEnum):
    """The kind of a live event, which is the `event:` of the stream."""

    STATE = "state"
    HEARD = "heard"
    THINKING = "thinking"
    DELTA = "delta"
    STEP = "step"
    OUTCOME = "outcome"
    APPROVAL = "approval"
    SPENT = "spent"
    CIRCUIT = "circuit"


class LiveEvent(Value, frozen=True, kw_only=True):
    """One event of the stream. `id` is START-NUMBER: a growing number after the start of the process.

    `data` holds plain JSON values, those of each kind as docs/operator-page.md lists them. A viewer is sent those that
    hold no words of players.
    """

    id: str
    kind: LiveKind
    at: float
    assistant: str = ""
    name: str = ""
    run: str = ""
    data: dict[str, Any]
