"""Notices the troubles of a process that only a person can mend, and tells of each when it begins and when it ends.

A trouble is of one assistant or of what all assistants share. It is identified by its kind and its subject. It begins
once, however often it is noticed, and ends once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.events.outcome import Answered, Failed, Limit, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.journal import HeldElsewhere, Journal, JournalError
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.wording.status import key_refusals
from mud_assistant.llm import LLMError
from mud_assistant.resilience import Pipeline
from mud_assistant.tools import Principal

#: The subject of troubles that concern every assistant.
EVERYBODY = TOTAL
#: How many failed attempts to wake up it takes until a cause that may pass by itself counts as trouble.
_TRIES = 3

_log = Logger()


class TroubleKind(StrEnum):
    """The kind of a trouble."""

    EMERGENCY = "emergency stop"
    PARKED = "put aside"
    NO_MODEL = "no model"
    MODEL = "model"
    KEY = "key"
    BUDGET = "budget"
    JOURNAL = "journal"
    WORLD = "world"


class Trouble(Struct, frozen=True):
    """Something a person must see to. `subject` is the id of an assistant, the origin of a server, or EVERYBODY.

    `name` is the name of the assistant that met it, empty for none. `sentence` says what is wrong, and holds no key.
    The user interface says what to do about it, since each has its own commands.
    """

    kind: TroubleKind
    subject: str
    name: str
    sentence: str

    @property
    def key(self) -> tuple[TroubleKind, str]:
        """The kind and subject, which identify the trouble."""
        return self.kind, self.subject


#: Called with a trouble, and False when it begins or True when it is over. Must not raise and must not wait.
Listener = Callable[[Trouble, bool], None]


class Troubles:
    """The current troubles, oldest first. Use it only on the reactor's thread."""

    def __init__(self) -> None:
        self._current: dict[tuple[TroubleKind, str], Trouble] = {}
        self.listeners: list[Listener] = []

    def __iter__(self) -> Iterator[Trouble]:
        """Iterate over the current troubles."""
        return iter(tuple(self._current.values()))

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Tell the listener of the current troubles and of each change. Return a function that ends this."""
        self.listeners.append(listener)
        for trouble in self:
            listener(trouble, False)

        def unwatch() -> None:
            if listener in self.listeners:
                self.listeners.remove(listener)

        return unwatch

    def restore(self, known: Iterable[Trouble]) -> None:
        """Add the troubles that an earlier process left, without telling the listeners."""
        for trouble in known:
            self._current.setdefault(trouble.key, trouble)

    def begin(self, trouble: Trouble) -> None:
        """Note a trouble, and tell the listeners if it is new."""
        is_new = trouble.key not in self._current
        self._current[trouble.key] = trouble
        if is_new:
            _log.error("{kind}: {sentence}", log_event="trouble", kind=trouble.kind, sentence=trouble.sentence)
            self._tell(trouble, over=False)

    def end(self, kind: TroubleKind, subject: str) -> None:
        """Note that a trouble is over, and tell the listeners if there was one."""
        if (trouble := self._current.pop((kind, subject), None)) is not None:
            _log.info("{kind}: over: {sentence}", log_event="trouble", kind=kind, sentence=trouble.sentence)
            self._tell(trouble, over=True)

    def of_journal(self, sentence: str) -> None:
        """Note what is wrong with the journal. An empty `sentence` ends the trouble."""
        if sentence:
            self.begin(Trouble(TroubleKind.JOURNAL, EVERYBODY, "", sentence))
        else:
            self.end(TroubleKind.JOURNAL, EVERYBODY)

    def of(self, subject: str) -> list[Trouble]:
        """Return the troubles of one assistant, and those that concern all."""
        return [one for one in self if one.subject in {subject, EVERYBODY}]

    def of_kind(self, kind: TroubleKind) -> list[Trouble]:
        """Return the troubles of one kind."""
        return [one for one in self if one.kind is kind]

    def forget(self, subject: str) -> None:
        """End all troubles of an assistant that is stopped or gone."""
        for kind in TroubleKind:
            self.end(kind, subject)

    def _tell(self, trouble: Trouble, *, over: bool) -> None:
        for listener in tuple(self.listeners):
            listener(trouble, over)


class Lookout:
    """An observer of what all assistants share. It notes the troubles there."""

    def __init__(self, troubles: Troubles, scrub: Callable[[str], str], pipeline: Pipeline) -> None:
        self.troubles = troubles
        self.scrub = scrub
        self._pipeline = pipeline

    def look_at_keys(self, name: str) -> None:
        """Note the servers that refuse their key while another model answers in their place."""
        for origin, why in key_refusals(self._pipeline.snapshot()).items():
            if why:
                said = f"{origin} refuses its key ({why}); another model answers for it as long as one can"
                self.troubles.begin(Trouble(TroubleKind.KEY, origin, name, self.scrub(said)))
            else:
                self.troubles.end(TroubleKind.KEY, origin)


class Alarms:
    """An observer of one assistant, which notes its troubles. `launch` starts work in the background."""

    def __init__(
        self, me: Principal, lookout: Lookout, launch: Callable[[Coroutine[Deferred[Any], Any, None], str], object]
    ) -> None:
        self._id, self._name = me.id, me.name
        self._lookout = lookout
        self._troubles = lookout.troubles
        self._launch = launch
        self._journal: Journal | None = None
        self._tries = 0
        #: Why it cannot think, in one sentence without a key; empty when it can.
        self.cause = ""

    def cannot_wake(self, error: Exception) -> None:
        """Note why it has no model or no storage. The runner tries again by itself."""
        self.cause = self._lookout.scrub(str(error))
        self._tries += 1
        if self._tries >= _TRIES or _is_lasting(error):
            self._begin(TroubleKind.NO_MODEL, f"{self._name} cannot think: {self.cause}")

    def lives_elsewhere(self, held: HeldElsewhere) -> None:
        """Note that another process runs it, which is no trouble: it has those of its own."""
        self.cause, self._tries = self._lookout.scrub(str(held)), 0
        self._troubles.forget(self._id)

    def awake(self, assistant: Assistant) -> None:
        """Note that the assistant has a model and thinks: end its troubles, and look for parked events."""
        self.cause, self._tries = "", 0
        self._journal = assistant.context.memory.journal
        assistant.tick.on_emergency = self._stopped
        self._troubles.end(TroubleKind.NO_MODEL, self._id)
        self._troubles.end(TroubleKind.EMERGENCY, self._id)
        self._launch(self.look(), "looking for events that were put aside")

    def failed(self, failure: Failed | LimitReached) -> None:
        """Note why a run failed. A player's own budget that is used up is no trouble of the assistant."""
        if isinstance(failure, LimitReached):
            if failure.limit is not Limit.BUDGET or failure.account not in {self._id, TOTAL}:
                return
            whose = self._name if failure.account == self._id else "all assistants together"
            cause = f"the budget of {whose} is used up for today"
            self._troubles.begin(Trouble(TroubleKind.BUDGET, failure.account, self._name, cause))
            self.cause = cause
            return
        self.cause = self._lookout.scrub(failure.cause)
        if failure.lasting:
            self._begin(TroubleKind.MODEL, f"{self._name} cannot think: {self.cause}")

    async def look(self) -> None:
        """Look in the journal for events that were put aside."""
        assert self._journal is not None
        try:
            count = len(await self._journal.parked())
        except JournalError:
            return  # troubles of the journal are reported elsewhere
        if count:
            things = "1 thing" if count == 1 else f"{count} things"
            verb = "was" if count == 1 else "were"
            said = (
                f"{things} that {self._name} heard {verb} put aside: runs over {'it' if count == 1 else 'them'} crashed"
            )
            self._begin(TroubleKind.PARKED, said)
        else:
            self._troubles.end(TroubleKind.PARKED, self._id)

    def lifted(self) -> None:
        """Note that the emergency stop was lifted."""
        self._troubles.end(TroubleKind.EMERGENCY, self._id)

    def thinking(self, run_id: str, step: int) -> None:
        """Do nothing when the model is about to be asked."""

    def step(self, trace: StepTrace) -> None:
        """Do nothing when a step is over."""

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """End the troubles that a successful run disproves. After a crashed run, look for events that were parked."""
        if isinstance(outcome, Answered | NothingToDo):
            self.cause = ""
            self._troubles.end(TroubleKind.MODEL, self._id)
        if isinstance(outcome, Answered):
            for subject in (self._id, TOTAL):
                self._troubles.end(TroubleKind.BUDGET, subject)
            self._lookout.look_at_keys(self._name)
        if isinstance(outcome, Failed) and outcome.bug:
            self._launch(self.look(), "looking for events that were put aside")

    def _stopped(self) -> None:
        self._begin(
            TroubleKind.EMERGENCY,
            f"{self._name} crashed five times in a row and thinks no more until the stop is lifted",
        )

    def _begin(self, kind: TroubleKind, sentence: str) -> None:
        self._troubles.begin(Trouble(kind, self._id, self._name, sentence))


def _is_lasting(error: Exception) -> bool:
    """Tell whether waiting alone will not help."""
    cause = error.__cause__
    if isinstance(cause, LLMError):
        return not cause.retryable
    return isinstance(error, SettingsError | KeyReferenceError) or isinstance(cause, KeyReferenceError)
