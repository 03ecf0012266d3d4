"""Measures what no observer sees while metrics are on: the reactor's lag, the journal's commits, the inboxes.

Imports prometheus-client, by way of the metrics it feeds.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.telemetry.gauges import ServiceGauges
from mud_assistant.assistant.telemetry.metrics import Metrics
from mud_assistant.resilience import Launcher

#: The seconds between two looks at the reactor, and between two counts of the inboxes.
LOOK_SECONDS, COUNT_SECONDS = 1.0, 5.0

_log = Logger()


class MetricsWatch:
    """Feeds the metrics of a service from `start` until `stop`."""

    def __init__(self, service: AssistantService, versions: Mapping[str, str]) -> None:
        self.metrics = Metrics(versions)
        self._service = service
        self._launcher = Launcher()
        self._count = LoopingCall(self._begin_count)
        self._count.clock = service.clock
        #: The timer that looks at the reactor, and when it is due, in clock seconds.
        self._timer: IDelayedCall | None = None
        self._due = 0.0
        #: How many events waited when they were counted last, by assistant.
        self.pending: Mapping[str, int] = {}
        #: How many messages waited for assistants then, in all processes that share the journal.
        self.messages = 0
        self._is_counting = self._is_away = False

    def start(self, gauges: ServiceGauges) -> None:
        """Begin, with the gauges that are read at each scrape."""
        self.metrics.registry.register(gauges)
        self._service.parts.process.reports.add(self.metrics.called)
        self._service.parts.journal.watch_commits(self.metrics.journal_commit.observe)
        self._look_later()
        self._count.start(COUNT_SECONDS, now=False).addErrback(_log_end)

    def watch(self, runner: AssistantRunner) -> None:
        """Count what this assistant does."""
        runner.observers.add(self.metrics)

    async def stop(self) -> None:
        """End all timers and leave the service as it was."""
        self._service.parts.process.reports.remove(self.metrics.called)
        self._service.parts.journal.watch_commits(None)
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self._count.running:
            self._count.stop()
        await self._launcher.stop()

    def _look_later(self) -> None:
        self._due = self._service.clock.seconds() + LOOK_SECONDS
        self._timer = self._service.clock.callLater(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Note how late this timer is, and set the next."""
        late = max(0.0, self._service.clock.seconds() - self._due)
        self.metrics.reactor_lag.observe(late)
        was_away, self._is_away = self._is_away, self._service.parts.journal.sharing_counts().is_away
        if self._is_away:
            self.metrics.outages.inc(not was_away)
            self.metrics.outage_seconds.inc(LOOK_SECONDS + late)
        self._look_later()

    def _begin_count(self) -> None:
        if not self._is_counting:
            self._is_counting = True
            self._launcher.launch(self._count_pending(), "counting the events that wait")

    async def _count_pending(self) -> None:
        try:
            self.pending = await self._service.parts.journal.count_pending()
            self.messages = await self._service.parts.journal.count_messages()
        except CancelledError:
            raise
        except JournalError:
            return  # troubles of the journal are told elsewhere
        finally:
            self._is_counting = False


def _log_end(failure: object) -> None:
    _log.error("a timer of the metrics ended: {why}", why=str(failure))
