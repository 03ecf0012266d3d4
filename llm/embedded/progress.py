"""What the embedded model reports while it is being made ready, and where it can be reached afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from llm.messages import JSONObject


class Phase(StrEnum):
    """What is going on. The values of the first three are the words of the fetching process."""

    DOWNLOAD = "download"
    VERIFY = "verify"
    JOIN = "join"
    #: Something happened that a person should see; `FetchProgress.note` says what.
    NOTE = "note"
    #: The model is being loaded.
    START = "start"


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far the embedded model is. Sizes are bytes, 0 where they mean nothing."""

    phase: Phase
    done_bytes: int = 0
    total_bytes: int = 0
    source: str = ""
    note: str = ""

    @property
    def fraction(self) -> float:
        """The completed part of this phase, from 0 to 1."""
        return self.done_bytes / self.total_bytes if self.total_bytes else 0.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the embedded model answers. `url` has no path; Chat Completions are below `/v1`.

    `own_template` is True when the template was changed so that native tool calls are recognised. Then 3 to 4 examples
    of calls in the history make the calls correct.
    """

    url: str
    key: str = field(repr=False)
    model: str
    own_template: bool

    @property
    def port(self) -> int:
        """The port number."""
        return int(self.url.rpartition(":")[2])


def read_progress(record: JSONObject) -> FetchProgress | None:
    """Return the progress that a line of the fetching process reports, or None for any other line."""
    note = record.get("note")
    if isinstance(note, str):
        return FetchProgress(Phase.NOTE, note=note)
    done, total, source = record.get("done_bytes"), record.get("total_bytes"), record.get("source")
    if isinstance(done, int) and isinstance(total, int) and isinstance(source, str):
        try:
            return FetchProgress(Phase(str(record.get("progress"))), done, total, source)
        except ValueError:
            return None
    return None
