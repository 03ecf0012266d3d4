"""A store of memories for tests of sleep, and a character that sleeps over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.assistant.memory.sleep.night import NightEnd, Sleeper
from mud_assistant.assistant.memory.sleep.plan import QuietSigns, SleepPlan, list_parts_left, sources_of
from mud_assistant.assistant.memory.sleep.state import SleepRecord
from mud_assistant.llm import Message
from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import Audience

SAGE = Principal("assistant:1", "Sage", Kind.ASSISTANT)
EVERYBODY: Audience = None
DAY = 86_400.0
#: A Monday at noon, in seconds since 1970.
NOON = 1_790_596_800.0


def line(number: int, who: str, text: str, audience: Audience = EVERYBODY, **fields: object) -> Memory:
    """A line that somebody spoke, a second after the one before."""
    made = Memory(
        f"m{number}",
        text,
        MemoryKind.HEARD,
        NOON - 3600 + number,
        who=who,
        name=who.title(),
        importance=8,
        authority=1,
        sources=frozenset({who}),
        audience=audience,
    )
    return replace(made, **fields)


class Killed(BaseException):
    """The process ended here."""


@dataclass
class Pulse:
    """Counts what is written and read, and kills the process at the wanted step: before it, or when it is done."""

    kill_at: int | None = None
    steps: int = 0

    def beat(self) -> None:
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed


@dataclass
class FakeStore:
    """Memories that keep to the contract of SleepStore."""

    memories: dict[str, Memory] = field(default_factory=dict)
    pulse: Pulse = field(default_factory=Pulse)
    derived: list[str] = field(default_factory=list)

    async def lines_since(self, since: float, until: float, limit: int) -> Sequence[Memory]:
        self.pulse.beat()
        return self._newest((m for m in self._lines() if since < m.at <= until), limit)

    async def lines_of(self, principal_id: str, audience: Audience, limit: int) -> Sequence[Memory]:
        self.pulse.beat()
        return self._newest((m for m in self._lines() if m.who == principal_id and m.audience == audience), limit)

    async def find(self, ids: Collection[str]) -> Sequence[Memory]:
        self.pulse.beat()
        return [self.memories[one] for one in ids if one in self.memories]

    async def derive(self, memory: Memory, needs: Collection[str]) -> bool:
        self.pulse.beat()
        if any(one not in self.memories for one in needs):
            return False
        self.memories[memory.id] = memory
        self.derived.append(memory.id)
        self.pulse.beat()
        return True

    async def settle(self, older_id: str, newer_id: str) -> bool:
        self.pulse.beat()
        older, newer = self.memories.get(older_id), self.memories.get(newer_id)
        if older is None or newer is None or older.who != newer.who:
            return False
        self.memories[older_id] = replace(older, superseded_by=newer_id)
        self.pulse.beat()
        return True

    def forget(self, principal_id: str) -> list[tuple[str, ...]]:
        """Delete what has words of a player in it; return what is to be derived anew."""
        gone = [m for m in self.memories.values() if principal_id in sources_of(m)]
        for memory in gone:
            del self.memories[memory.id]
        return list_parts_left(gone, [memory.id for memory in gone])

    def reflections(self) -> list[Memory]:
        return [m for m in self.memories.values() if m.kind is MemoryKind.REFLECTION]

    def _lines(self) -> Iterable[Memory]:
        return [m for m in self.memories.values() if m.kind is not MemoryKind.REFLECTION]

    @staticmethod
    def _newest(found: Iterable[Memory], limit: int) -> Sequence[Memory]:
        return sorted(found, key=lambda m: -m.at)[:limit]


class MemorySleepState:
    """A record of sleep that lasts until the process ends."""

    def __init__(self) -> None:
        self._record = SleepRecord()
        self._queue: dict[tuple[str, ...], None] = {}

    async def load(self) -> SleepRecord:
        """Return the record."""
        return self._record

    async def save(self, record: SleepRecord) -> None:
        """Keep the record."""
        self._record = record

    async def queued(self) -> Sequence[tuple[str, ...]]:
        """Return the lists of ids, the oldest first."""
        return tuple(self._queue)

    async def enqueue(self, parts: Iterable[tuple[str, ...]]) -> None:
        """Add lists of ids."""
        self._queue.update(dict.fromkeys(parts))

    async def dequeue(self, parts: Iterable[tuple[str, ...]]) -> None:
        """Remove lists of ids."""
        for one in parts:
            self._queue.pop(one, None)


class KillableState(MemorySleepState):
    """A record that the process may be killed before or after the writing of."""

    def __init__(self, pulse: Pulse) -> None:
        super().__init__()
        self.pulse = pulse

    async def save(self, record: SleepRecord) -> None:
        self.pulse.beat()
        await super().save(record)
        self.pulse.beat()

    async def dequeue(self, parts: Iterable[tuple[str, ...]]) -> None:
        self.pulse.beat()
        await super().dequeue(parts)
        self.pulse.beat()


@dataclass
class Model:
    """A model that answers when it is told to, or at once with what `says` returns."""

    says: Callable[[Sequence[Message], JSONObject], str] | None = None
    prompts: list[str] = field(default_factory=list)
    schemas: list[JSONObject] = field(default_factory=list)
    answers: list[Deferred[str]] = field(default_factory=list)
    cancelled: list[Deferred[str]] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], schema: JSONObject) -> Deferred[str]:
        self.prompts.append("\n".join(message.text for message in messages))
        self.schemas.append(schema)
        answer: Deferred[str] = Deferred(self.cancelled.append)
        self.answers.append(answer)
        if self.says is not None:
            answer.callback(self.says(messages, schema))
        return answer


def asked_for(schema: JSONObject) -> str:
    """Return the name of what a schema asks for."""
    fields = schema["properties"]
    assert isinstance(fields, dict)
    return str(next(iter(fields)))


def useful(messages: Sequence[Message], schema: JSONObject) -> str:
    """Answer as a good model does."""
    match asked_for(schema):
        case "notes":
            return json.dumps({"notes": [{"number": 1, "text": "They have a mule that limps."}]})
        case "insights":
            return json.dumps({"insights": [{"lines": [1, 2], "text": "The mule limps and is loved."}]})
        case _:
            return json.dumps({"pairs": [{"pair": 1, "holds": "newer"}]})


@dataclass
class Bedroom:
    """A character that sleeps, on a Clock, with what it remembers."""

    store: FakeStore
    state: MemorySleepState
    model: Model
    plan: SleepPlan = field(default_factory=SleepPlan)
    clock: Clock = field(default_factory=Clock)
    empty_since: float | None = NOON - 3000

    def __post_init__(self) -> None:
        self.clock.rightNow = NOON
        self.restart()

    def restart(self) -> None:
        """Begin with new objects over what is stored."""
        self.sleeper = Sleeper(self.store, self.state, self.model, SAGE, self.plan)

    def sleep(self, *, waiting: bool = False) -> Deferred[NightEnd]:
        """Try to sleep now."""
        signs = QuietSigns(self.clock.seconds(), self.empty_since, waiting)
        return Deferred.fromCoroutine(self.sleeper.maybe(signs))


def bedroom(lines: Iterable[Memory], **fields: object) -> Bedroom:
    """A character with these memories, and a model that is of use."""
    store = FakeStore({memory.id: memory for memory in lines})
    return Bedroom(store, MemorySleepState(), Model(useful), **fields)  # type: ignore[arg-type]


def end_of(night: Deferred[NightEnd]) -> NightEnd:
    """Return how a night ended that is over."""
    ends: list[NightEnd] = []
    failures: list[Failure] = []
    night.addCallbacks(ends.append, failures.append)
    for failure in failures:
        failure.raiseException()
    return ends[0]
