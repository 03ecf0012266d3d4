"""What the embedded model tells while it is being made ready, and where it can be reached then."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from llm.messages import JSONObject


class Phase(StrEnum):
    """What is going on; the values of the first three are the words of the fetching process."""

    DOWNLOAD = "download"
    VERIFY = "verify"
    JOIN = "join"
    #: Something a person should see happened; `Progress.note` says what.
    NOTE = "note"
    #: The model is being loaded.
    START = "start"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the embedded model is. Sizes are bytes, 0 where they mean nothing."""

    phase: Phase
    done_bytes: int = 0
    total_bytes: int = 0
    source: str = ""
    note: str = ""

    @property
    def fraction(self) -> float:
        """The part of this phase that is done, from 0 to 1."""
        return self.done_bytes / self.total_bytes if self.total_bytes else 0.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the embedded model answers. `url` has no path; Chat Completions are below `/v1`.

    `own_template` is True when the template was changed so that native tool calls come back; then 3-4 examples of
    calls in the history make them right.
    """

    url: str
    key: str = field(repr=False)
    model: str
    own_template: bool

    @property
    def port(self) -> int:
        """The port number."""
        return int(self.url.rpartition(":")[2])


def told_progress(record: JSONObject) -> Progress | None:
    """The progress that a line of the fetching process tells; None when the line tells something else."""
    note = record.get("note")
    if isinstance(note, str):
        return Progress(Phase.NOTE, note=note)
    done, total, source = record.get("done_bytes"), record.get("total_bytes"), record.get("source")
    if isinstance(done, int) and isinstance(total, int) and isinstance(source, str):
        try:
            return Progress(Phase(str(record.get("progress"))), done, total, source)
        except ValueError:
            return None
    return None
