"""Starts what the settings `[telemetry]` ask for: the composition of this room.

metrics = true               -> MetricsWatch: observers, timers, a registry; answers the page's /metrics
an endpoint, here or OTEL_*  -> Sending: the SDK's threads, spans of each assistant, metrics of model calls
neither                      -> nothing is imported, attached or measured
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from twisted.logger import Logger

from mud_assistant.assistant.config.telemetry import METRICS_MISSING
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.telemetry.sending import Sending

if TYPE_CHECKING:
    from mud_assistant.assistant.telemetry.watching import MetricsWatch

_log = Logger()


class Telemetry:
    """What looks on at one service from outside. It ends with the service."""

    def __init__(self, service: AssistantService) -> None:
        self._service = service
        self._metrics: MetricsWatch | None = None
        self._sending: Sending | None = None
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why something that is switched on does not work, in one sentence without a key; empty when all is well."""
        return self._trouble or (self._sending.trouble if self._sending is not None else "")

    def span_counts(self) -> tuple[int, int] | None:
        """Return how many spans the collector took and how many were dropped; None where none are sent."""
        return None if self._sending is None else self._sending.counts

    def metrics_answer(self, accept: str) -> tuple[str, bytes] | None:
        """Return content type and body of a scrape for this Accept header; None where metrics are off or missing."""
        return None if self._metrics is None else self._metrics.metrics.render(accept)

    def start(self) -> None:
        """Begin what is switched on, and return at once. Call it before the service starts an assistant."""
        config = self._service.config.settings.telemetry
        signals = config.sends(self._service.config.environment)
        if not config.metrics and not signals:
            return
        if config.metrics:
            self._start_metrics()
        if signals:
            self._sending = Sending(self._service, signals, installed_version("mud-assistant"))
            self._sending.start()
        self._service.on_start.append(self._watch)
        self._service.on_close.append(self._stop)

    def _start_metrics(self) -> None:
        try:
            from mud_assistant.assistant.telemetry.gauges import ServiceGauges  # noqa: PLC0415  (an extra)
            from mud_assistant.assistant.telemetry.watching import MetricsWatch  # noqa: PLC0415  (the same)
        except ImportError as error:
            self._trouble = f"{METRICS_MISSING} ({error})"
            _log.error("{why}", why=self._trouble)
            return
        versions = {"version": installed_version("mud-assistant"), "twisted": installed_version("twisted")}
        watch = self._metrics = MetricsWatch(self._service, versions)
        self._service.read_metrics = self.metrics_answer
        watch.start(ServiceGauges(self._service, lambda: watch.pending, self.span_counts, lambda: watch.messages))

    def _watch(self, runner: AssistantRunner) -> None:
        if self._metrics is not None:
            self._metrics.watch(runner)
        if self._sending is not None:
            self._sending.watch(runner)

    async def _stop(self) -> None:
        if self._metrics is not None:
            await self._metrics.stop()
        if self._sending is not None:
            await self._sending.stop()


def watch_service(service: AssistantService) -> Telemetry:
    """Start what the service's settings ask for and return it. Raises nothing: what is missing is logged.

    Call it once, before the service starts an assistant. What is started ends when the service is closed.
    """
    telemetry = Telemetry(service)
    telemetry.start()
    return telemetry


def installed_version(name: str) -> str:
    """Return the installed version of a distribution, "unknown" when it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
