"""Hands assistants to other processes that share the journal, and takes what others said to them there.

Imported only where the journal is in PostgreSQL.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.assistant.service.service import AssistantService

_log = Logger()


def share_out(service: AssistantService, journal: SharedJournal) -> None:
    """Give assistants to other processes that may run them as well and run fewer, from now on."""
    journal.balance(partial(_may_go, service), partial(hand_over, service, journal))


async def hand_over(service: AssistantService, journal: SharedJournal, assistant_id: str, to: str) -> None:
    """Stop an assistant, so that the process named `to` goes on where it was; then wait for it as the others do.

    A run is suspended and taken up again there. It stays when it may not go, as since it was chosen it has asked for an
    approval, or was stopped. Raises JournalError; then it goes on here if it can.
    """
    if assistant_id not in _may_go(service):
        return
    runner = service.runners[assistant_id]
    _log.info("{name} is given to {to}, which runs fewer", name=runner.embodiment.me.name, to=to)
    try:
        await runner.stop()
        await journal.give(assistant_id, to)
    except CancelledError:  # the service ends
        raise
    except JournalError:
        _begin_again(service, runner)
        raise
    _begin_again(service, runner)


async def take_in(service: AssistantService, assistant_id: str, event: Event) -> bool:
    """Let an assistant of this process hear an event from elsewhere. Return False when it cannot now."""
    runner = service.runners.get(assistant_id)
    if runner is None or runner.state in {RunnerState.STOPPED, RunnerState.LOST}:
        return False
    return await runner.inbox.accepts(replace(event, at=service.clock.seconds()))


def _begin_again(service: AssistantService, runner: AssistantRunner) -> None:
    """Begin anew, unless the owner stopped or restarted it meanwhile."""
    if service.runners.get(runner.embodiment.me.id) is runner:
        service.begin_again(runner)


def _may_go(service: AssistantService) -> list[str]:
    """Return the assistants that live here, those first that do nothing now.

    One that waits for an approval stays: what it asked for is known only here.
    """
    alive = [one for one, runner in service.runners.items() if runner.state is RunnerState.AWAKE]
    free = [one for one in alive if one not in service.parts.approvals or not service.parts.approvals[one].pending()]
    return sorted(free, key=lambda one: _is_busy(service.runners[one]))


def _is_busy(runner: AssistantRunner) -> bool:
    return runner.assistant is not None and runner.assistant.tick.busy
