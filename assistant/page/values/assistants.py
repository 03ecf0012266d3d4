"""How assistants are: the overview and one assistant."""

from __future__ import annotations

from mud_assistant.assistant.page.values.common import CircuitSpan, ServerStatus, TimingPoint, TroubleNotice, Value
from mud_assistant.assistant.page.values.life_view import LifeView
from mud_assistant.resilience import Allowance, Amount


class LeaseHolder(Value, frozen=True):
    """The process that runs an assistant, where several processes share a journal.

    `process` is what the others call it, `is_here` says that it is the one that shows this. `since` is when it took the
    assistant, in seconds since 1970, and `renewed_ago` how many seconds ago it last said that it still runs it. `name`
    is the character's.
    """

    assistant: str
    name: str
    process: str
    since: float
    renewed_ago: float
    is_here: bool = False


class AssistantStatus(Value, frozen=True):
    """One assistant, as the overview shows it.

    `state` is off, opening, waiting, awake, stopped, lost or emergency. `doing` says in a few words what it does now.
    `last_words` is what it said last, empty for a viewer. `context_used` is the part of the context window in use, from
    0 to 1, None when it does not run. `holder` is the process that runs it, None where no journal is shared.
    """

    id: str
    name: str
    state: str
    doing: str = ""
    run: str | None = None
    place: str = ""
    model: str = ""
    circuit: str = "unknown"
    events_waiting: int | None = None
    approvals_waiting: int = 0
    used_today: Amount = Amount()
    ceiling: Allowance = Allowance()
    last_words: str = ""
    last_at: float | None = None
    trouble: str = ""
    context_used: float | None = None
    context_tokens: int | None = None
    holder: LeaseHolder | None = None


class Overview(Value, frozen=True):
    """All assistants of the process at one moment. `reactor_lag` is the worst delay of the last minute.

    `timings` and `circuits` are of the last hour, the oldest first; empty where they are not kept. `elsewhere` are the
    assistants that only other processes know, which share the journal.
    """

    at: float
    version: str
    assistants: tuple[AssistantStatus, ...]
    servers: tuple[ServerStatus, ...] = ()
    troubles: tuple[TroubleNotice, ...] = ()
    used_today: Amount = Amount()
    ceiling: Allowance = Allowance()
    reactor_lag: float | None = None
    approvals_waiting: int = 0
    watchers: int = 0
    timings: tuple[TimingPoint, ...] = ()
    #: Whether all assistants are to do nothing of their own accord.
    quiet: bool = False
    circuits: tuple[CircuitSpan, ...] = ()
    elsewhere: tuple[LeaseHolder, ...] = ()


class ModelLine(Value, frozen=True):
    """A model an assistant thinks with; the first is asked first. `why` is the sentence that says which and where."""

    name: str
    provider: str
    why: str
    circuit: str = "unknown"


class ToolGrant(Value, frozen=True):
    """A tool the assistant could have, and whether it is granted."""

    name: str
    granted: bool
    category: str = ""
    meaning: str = ""


class MutedPlayer(Value, frozen=True):
    """A player whom the assistant neither hears nor remembers."""

    id: str
    name: str
    since: float | None = None


class ParkedNotice(Value, frozen=True):
    """Something heard that is not tried any more. `heard` is empty for a viewer."""

    event: str
    heard: str
    reason: str


class UnknownCallNotice(Value, frozen=True):
    """A call of which it is not known whether it happened."""

    run: str
    step: int
    call: str
    at: float


class SettingLine(Value, frozen=True):
    """One setting. `set_by` is "assistant", "game", "character" or "default". A key is shown as its reference."""

    name: str
    value: str
    meaning: str
    set_by: str
    default: str
    allowed: str
    example: str


class AssistantDetail(Value, frozen=True):
    """One assistant with all that is known of it, but for its runs."""

    status: AssistantStatus
    persona: str = ""
    character: str = ""
    lore_entries: int = 0
    models: tuple[ModelLine, ...] = ()
    #: What is fetched behind the talk, in one sentence; empty when nothing is.
    background: str = ""
    servers: tuple[ServerStatus, ...] = ()
    troubles: tuple[TroubleNotice, ...] = ()
    tools: tuple[ToolGrant, ...] = ()
    muted: tuple[MutedPlayer, ...] = ()
    memories: int | None = None
    parked: tuple[ParkedNotice, ...] = ()
    unknown: tuple[UnknownCallNotice, ...] = ()
    settings: tuple[SettingLine, ...] = ()
    timings: tuple[TimingPoint, ...] = ()
    life: LifeView = LifeView()
