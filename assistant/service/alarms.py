"""Notices troubles that only a person can mend, of each assistant and of what all assistants share."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred

from assistant.config.settings import SettingsError
from assistant.errors import KeyReferenceError
from assistant.events.outcome import Answered, Failed, Limit, LimitReached, NothingToDo, Outcome
from assistant.events.trace import StepTrace
from assistant.journal import Journal, JournalError
from assistant.loop.billing import TOTAL
from assistant.runtime.character import Assistant
from assistant.service.troubles import Trouble, TroubleKind, Troubles
from assistant.service.wording.status import key_refusals
from llm import LLMError
from resilience import Pipeline
from tools import Principal

#: How many failed attempts to wake up it takes until a cause that may pass by itself counts as trouble.
_TRIES = 3


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

    def awake(self, assistant: Assistant) -> None:
        """Note that the assistant has a model and thinks: end its troubles, and look for parked events."""
        self.cause, self._tries = "", 0
        self._journal = assistant.context.journal
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
