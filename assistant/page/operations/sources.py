"""What the operations work with, and what all need: texts without keys, threads, logging a reading."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from msgspec import Struct, convert, field, to_builtins
from twisted.logger import Logger

from mud_assistant.assistant.errors import AssistantError, ServiceNotRunning
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.gateway.keys import KeyStore
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.page.ports import (
    EditedStore,
    InvalidInput,
    NotAllowed,
    PageError,
    PageHost,
    Unavailable,
    Visitor,
)
from mud_assistant.assistant.page.values.actions import PlayerView
from mud_assistant.assistant.page.values.assistants import LeaseHolder
from mud_assistant.assistant.page.values.common import CircuitSpan, TimingPoint
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.values.runs import AskedRequest, RunPage, RunQuery, RunView
from mud_assistant.assistant.service.operations.operated import ONLY_LOOKED_AT, Operated
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.resilience import DeadlineExceeded, Launcher
from mud_assistant.resilience.background import in_daemon_thread

V = TypeVar("V", bound=Struct)
T = TypeVar("T")
#: The seconds that reckoning in a thread may take.
_SECONDS = 10.0

_log = Logger()


class RecentActivity(Struct, frozen=True):
    """How many events wait for an assistant, and when its last run ended, in seconds since 1970."""

    waiting: int = 0
    last_at: float | None = None


class Records(Protocol):
    """What the page reads of the journal. Methods raise JournalError; none blocks the reactor's thread."""

    def recent(self, assistants: Sequence[str]) -> Awaitable[Mapping[str, RecentActivity]]:
        """Return what each of these assistants did of late; nothing when that is not known."""
        ...

    def holders(self) -> Awaitable[Mapping[str, LeaseHolder]]:
        """Return which process runs each assistant; nothing where no journal is shared, or it is not known."""
        ...

    def memories(self, assistant: str) -> Awaitable[int | None]:
        """Return how many memories an assistant has, None when that is not known."""
        ...

    def goals(self, assistant: str) -> Awaitable[Sequence[Goal]]:
        """Return what an assistant promised, also what is over; nothing when that is not known."""
        ...

    def timings(self, assistant: str) -> Awaitable[tuple[TimingPoint, ...]]:
        """Return how long people waited in the last hour, by one assistant or, for "", by all."""
        ...

    def runs(self, query: RunQuery) -> Awaitable[RunPage]:
        """Return the runs that a search finds, newest first."""
        ...

    def run(self, run: str) -> Awaitable[RunView | None]:
        """Return one run as a tree, None when there is none."""
        ...

    def usage(self, by: str, since: str, until: str) -> Awaitable[UsageAnswer]:
        """Return what was spent. Raises ValueError with a sentence for what cannot be asked."""
        ...

    def player(self, player: str) -> Awaitable[PlayerView]:
        """Return what is kept of a player, as counts."""
        ...


class Sources(Struct, frozen=True):
    """The service, the world and the journal behind a page. `watchers` counts those who watch the live stream."""

    service: AssistantService
    host: PageHost
    records: Records
    version: str
    #: Seconds since 1970.
    wall: Callable[[], float]
    #: Returns the requests to models of a run, by assistant and run, as far as they are kept.
    asked: Callable[[str, str], Sequence[AskedRequest]] = lambda _, __: ()
    watchers: Callable[[], int] = lambda: 0
    lag: Callable[[], float | None] = lambda: None
    #: Returns how the circuits of servers were in the last hour.
    circuits: Callable[[], tuple[CircuitSpan, ...]] = tuple
    #: The keys of the gateway; None where a journal is only looked at.
    keys: KeyStore | None = None
    launcher: Launcher = field(default_factory=Launcher)

    @property
    def there(self) -> Operated:
        """What operations work on."""
        return Operated(self.service, self.host)

    @property
    def store(self) -> EditedStore:
        """Where settings are kept. Raises NotAllowed where a journal is only looked at."""
        if self.host.store is None:
            raise NotAllowed(ONLY_LOOKED_AT)
        return self.host.store

    def wall_at(self, at: float) -> float:
        """Return a time of the service's clock in seconds since 1970."""
        return self.wall() - (self.service.clock.seconds() - at)

    def scrubbed(self, value: V) -> V:
        """Return the value without keys in any of its texts."""
        return convert(_scrub(to_builtins(value), self.service.scrub), type(value))


def _scrub(value: object, scrub: Callable[[str], str]) -> object:
    match value:
        case str():
            return scrub(value)
        case dict():
            return {name: _scrub(part, scrub) for name, part in value.items()}
        case list() | tuple():
            return type(value)(_scrub(part, scrub) for part in value)
    return value


async def off_reactor(service: AssistantService, work: Callable[[], T]) -> T:
    """Return what `work` returns, called in a thread: it reckons with so much that it would hold the reactor up.

    Raises what it raises, and Unavailable when it takes too long. Cancelling ends only the wait for it.
    """
    try:
        return await in_daemon_thread(service.parts.reactor, _SECONDS, work)
    except DeadlineExceeded as late:
        raise Unavailable(f"This took longer than {_SECONDS:.0f} s. Ask for less.") from late


def log_reading(who: Visitor, what: str) -> None:
    """Log that a visitor reads words of players: who, and of what, never the words."""
    _log.info("{who} ({id}) reads {what}", log_event="read words", who=who.name, id=who.principal.id, what=what)


@contextmanager
def as_page_errors(scrub: Callable[[str], str]) -> Iterator[None]:
    """Turn the errors of the service and of the world into those of the page, without keys."""
    try:
        yield
    except PageError as error:
        error.args = (scrub(str(error)),)
        raise
    except (JournalError, ServiceNotRunning) as error:
        raise Unavailable(scrub(error.sentence)) from error
    except AssistantError as error:
        raise InvalidInput(scrub(error.sentence)) from error
