"""What is wrong and takes a person to mend: noticed for each assistant, kept for the process, told once.

A trouble is known by its kind and its subject. It begins once, however often it is noticed, and ends once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from twisted.internet.defer import Deferred

from assistant.character import Assistant
from assistant.journal import Journal, JournalError, Store
from assistant.key_errors import KeyReferenceError
from assistant.outcome import Answered, Failed, Limit, LimitReached, NothingToDo, Outcome
from assistant.purse import TOTAL
from assistant.settings import SettingsError
from assistant.status import key_refusals
from assistant.trace import StepTrace
from llm import LLMError
from resilience import Pipeline
from tools import Principal

#: The subject of what concerns every assistant.
EVERYBODY = TOTAL
#: Tries to wake up before a cause that may pass by itself counts as trouble.
_TRIES = 3


class Kind(StrEnum):
    """What kind of trouble it is."""

    EMERGENCY = "emergency stop"
    PARKED = "put aside"
    NO_MODEL = "no model"
    MODEL = "model"
    KEY = "key"
    BUDGET = "budget"
    JOURNAL = "journal"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something a person must see to. `subject` is the id of an assistant, the origin of a server, or EVERYBODY.

    `name` is the name of the assistant that met it, `sentence` says what is wrong, without a key in it. What to do is
    for the surface to say: each has its own commands.
    """

    kind: Kind
    subject: str
    name: str
    sentence: str

    @property
    def key(self) -> tuple[Kind, str]:
        """What makes it the same trouble."""
        return self.kind, self.subject


#: Told of a trouble that began, and with True of one that is over. Must not raise and must not wait.
Listener = Callable[[Trouble, bool], None]


class Troubles:
    """The troubles there are now, oldest first."""

    def __init__(self) -> None:
        self._current: dict[tuple[Kind, str], Trouble] = {}
        self.listeners: list[Listener] = []

    def __iter__(self) -> Iterator[Trouble]:
        """Each trouble there is."""
        return iter(tuple(self._current.values()))

    def restore(self, known: Iterable[Trouble]) -> None:
        """Take up troubles that an earlier process left; nobody is told of them."""
        for trouble in known:
            self._current.setdefault(trouble.key, trouble)

    def begin(self, trouble: Trouble) -> None:
        """Note a trouble; the listeners are told when it is new."""
        is_new = trouble.key not in self._current
        self._current[trouble.key] = trouble
        if is_new:
            self._tell(trouble, over=False)

    def end(self, kind: Kind, subject: str) -> None:
        """Note that a trouble is over; the listeners are told when there was one."""
        if (trouble := self._current.pop((kind, subject), None)) is not None:
            self._tell(trouble, over=True)

    def of(self, subject: str) -> list[Trouble]:
        """The troubles of one assistant, and those of everybody."""
        return [one for one in self._current.values() if one.subject in {subject, EVERYBODY}]

    def forget(self, subject: str) -> None:
        """End all troubles of an assistant that is stopped or gone."""
        for kind in Kind:
            self.end(kind, subject)

    def _tell(self, trouble: Trouble, *, over: bool) -> None:
        for listener in tuple(self.listeners):
            listener(trouble, over)


class Lookout:
    """Looks at what all assistants share, and notes the troubles there."""

    def __init__(self, troubles: Troubles, scrub: Callable[[str], str], store: Store, pipeline: Pipeline) -> None:
        self.troubles = troubles
        self.scrub = scrub
        self._store = store
        self._pipeline = pipeline

    def look_at_journal(self, name: str) -> None:
        """Notice whether the journal could be written lately; `name` is the assistant that asks."""
        if (why := self._store.trouble) is None:
            self.troubles.end(Kind.JOURNAL, EVERYBODY)
        else:
            said = f"nothing can be written to {self._store.path}: {why}; what is said to the assistants is not kept"
            self.troubles.begin(Trouble(Kind.JOURNAL, EVERYBODY, name, said))

    def look_at_keys(self, name: str) -> None:
        """Notice which servers refuse their key though another one answered for them."""
        for origin, why in key_refusals(self._pipeline.snapshot()).items():
            if why:
                said = f"{origin} refuses its key ({why}); another model answers for it as long as one can"
                self.troubles.begin(Trouble(Kind.KEY, origin, name, self.scrub(said)))
            else:
                self.troubles.end(Kind.KEY, origin)


class Alarms:
    """Notices the troubles of one assistant. `launch` lets work go on by itself."""

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
        """Note why it has no model or no storage; it is tried again by itself."""
        self.cause = self._lookout.scrub(str(error))
        self._tries += 1
        if self._tries >= _TRIES or _is_lasting(error):
            self._begin(Kind.NO_MODEL, f"{self._name} cannot think: {self.cause}")

    def awake(self, assistant: Assistant) -> None:
        """It has a model, and thinks."""
        self.cause, self._tries = "", 0
        self._journal = assistant.mind.journal
        assistant.tick.on_emergency = self._stopped
        self._troubles.end(Kind.NO_MODEL, self._id)
        self._troubles.end(Kind.EMERGENCY, self._id)
        self._launch(self.look(), "looking for events that were put aside")

    def failed(self, failure: Failed | LimitReached) -> None:
        """Note why a run failed. A player whose own budget is used up is no trouble of the assistant's."""
        if isinstance(failure, LimitReached):
            if failure.limit is not Limit.BUDGET or failure.account not in {self._id, TOTAL}:
                return
            whose = self._name if failure.account == self._id else "all assistants together"
            cause = f"the budget of {whose} is used up for today"
            self._troubles.begin(Trouble(Kind.BUDGET, failure.account, self._name, cause))
            self.cause = cause
            return
        self._lookout.look_at_journal(self._name)
        self.cause = self._lookout.scrub(failure.cause)
        if failure.lasting:
            self._begin(Kind.MODEL, f"{self._name} cannot think: {self.cause}")

    async def look(self) -> None:
        """Look in the journal for events that were put aside."""
        assert self._journal is not None
        try:
            count = len(await self._journal.parked())
        except JournalError:
            return  # what is wrong with the journal is told elsewhere
        if count:
            things = "1 thing" if count == 1 else f"{count} things"
            verb = "was" if count == 1 else "were"
            said = (
                f"{things} that {self._name} heard {verb} put aside: runs over {'it' if count == 1 else 'them'} crashed"
            )
            self._begin(Kind.PARKED, said)
        else:
            self._troubles.end(Kind.PARKED, self._id)

    def heard(self) -> None:
        """Something was written down, or could not be."""
        self._lookout.look_at_journal(self._name)

    def lifted(self) -> None:
        """The emergency stop was lifted."""
        self._troubles.end(Kind.EMERGENCY, self._id)

    def thinking(self, run_id: str, step: int) -> None:
        """The model is about to be asked."""

    def step(self, trace: StepTrace) -> None:
        """A step is over."""

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """A run that went well ends the trouble; one that crashed may have put events aside."""
        if isinstance(outcome, Answered | NothingToDo):
            self.cause = ""
            self._troubles.end(Kind.MODEL, self._id)
        if isinstance(outcome, Answered):
            for subject in (self._id, TOTAL):
                self._troubles.end(Kind.BUDGET, subject)
            self._lookout.look_at_keys(self._name)
        if isinstance(outcome, Failed) and outcome.bug:
            self._launch(self.look(), "looking for events that were put aside")

    def _stopped(self) -> None:
        self._begin(
            Kind.EMERGENCY, f"{self._name} crashed five times in a row and thinks no more until the stop is lifted"
        )

    def _begin(self, kind: Kind, sentence: str) -> None:
        self._troubles.begin(Trouble(kind, self._id, self._name, sentence))


def _is_lasting(error: Exception) -> bool:
    """Whether waiting alone will not help."""
    cause = error.__cause__
    if isinstance(cause, LLMError):
        return not cause.retryable
    return isinstance(error, SettingsError | KeyReferenceError) or isinstance(cause, KeyReferenceError)
