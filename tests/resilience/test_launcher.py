from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.resilience import Launcher
from tests.guards import FlushFailures


def test_work_is_held_until_it_is_over() -> None:
    launcher = Launcher()
    gate: Deferred[None] = Deferred()

    async def work() -> None:
        await gate

    over = launcher.launch(work(), "work")
    assert len(launcher) == 1
    gate.callback(None)
    assert over.called
    assert len(launcher) == 0


def test_an_error_is_logged_and_goes_no_further(flush_failures: FlushFailures) -> None:
    launcher = Launcher()

    async def work() -> None:
        raise ZeroDivisionError

    over = launcher.launch(work(), "work")
    assert over.called
    assert len(flush_failures(ZeroDivisionError)) == 1


def test_stop_cancels_what_runs_and_waits_for_its_end() -> None:
    launcher = Launcher()
    seen: list[str] = []
    goodbye: Deferred[None] = Deferred()

    async def work() -> None:
        try:
            await Deferred()
        except CancelledError:
            await goodbye
            seen.append("cleaned up")
            raise

    launcher.launch(work(), "work")
    stopped = launcher.stop()
    assert not stopped.called
    goodbye.callback(None)
    assert [stopped.called] == [True]
    assert seen == ["cleaned up"]
    assert len(launcher) == 0
