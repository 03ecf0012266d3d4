"""Sends spans and metrics of a service to a collector, from `start` until `stop`.

The SDK is loaded in a thread, and only then are observers attached. Nothing of the SDK is imported at the top here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.telemetry import OTEL_MISSING, keys_in_headers
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.keys.reference import resolve_key
from mud_assistant.assistant.models.bound_keys import bindings_of_telemetry
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.llm import CallReport
from mud_assistant.resilience import DeadlineExceeded, Launcher
from mud_assistant.resilience.background import in_daemon_thread

if TYPE_CHECKING:
    from mud_assistant.assistant.telemetry.exporting import Exporting, SpanCounts
    from mud_assistant.assistant.telemetry.instruments import Instruments
    from mud_assistant.assistant.telemetry.spans import RunSpans, Tracing

#: How long loading the SDK may take, and sending what waits at the end, in seconds.
LOAD_SECONDS, FLUSH_SECONDS = 60.0, 1.0
#: The name of a service that has no other.
_NAME = "mud-assistant"
_NO_MODEL = ("unknown", "unknown")

_log = Logger()


class Sending:
    """Sends `signals` ("traces", "metrics") of a service to the collector that its settings name."""

    def __init__(self, service: AssistantService, signals: tuple[str, ...], version: str) -> None:
        self._service = service
        self._config = service.config.settings.telemetry
        self._signals = signals
        self._version = version
        self._launcher = Launcher()
        self._exporting: Exporting | None = None
        self._counts: SpanCounts | None = None
        self._instruments: Instruments | None = None
        self._tracing: Tracing | None = None
        #: The observers by the id of their assistant; each is held by its runner.
        self._spans: WeakValueDictionary[str, RunSpans] = WeakValueDictionary()
        self._is_over = False
        #: Why nothing is sent, in one sentence; empty when all is well.
        self.trouble = ""

    @property
    def counts(self) -> tuple[int, int]:
        """How many spans the collector took, and how many were dropped."""
        return (0, 0) if self._counts is None else (self._counts.sent, self._counts.dropped)

    def start(self) -> None:
        """Begin in the background, and return at once."""
        self._launcher.launch(self._start(), "starting to send telemetry")

    def watch(self, runner: AssistantRunner) -> None:
        """Make spans of what this assistant does, as soon as the SDK is loaded."""
        if self._tracing is None:
            return
        from mud_assistant.assistant.telemetry.spans import RunSpans  # noqa: PLC0415  (an extra, loaded by now)

        def model() -> tuple[str, str]:
            return (runner.models[0].provider.name, runner.models[0].provider.model) if runner.models else _NO_MODEL

        me = runner.embodiment.me
        self._spans[me.id] = spans = RunSpans(self._tracing, me.id, me.name, model)
        runner.observers.add(spans)

    async def stop(self) -> None:
        """Send what waits, for at most FLUSH_SECONDS, and end the SDK's threads. Cancelling abandons what waits."""
        self._is_over = True
        self._service.parts.process.reports.remove(self._called)
        await self._launcher.stop()
        exporting, self._exporting = self._exporting, None
        if exporting is None:
            return
        try:
            await in_daemon_thread(self._service.parts.reactor, FLUSH_SECONDS, exporting.close)
        except DeadlineExceeded:
            _log.warn("{count} spans were not sent before the end", count=exporting.counts.waiting)

    async def _start(self) -> None:
        """Read the keys of the headers, load the SDK in a thread, and attach to every assistant."""
        for key in keys_in_headers(self._service.config.environment):
            self._service.config.secrets.add(key)
        try:
            headers = await self._headers()
            loaded = await in_daemon_thread(self._service.parts.reactor, LOAD_SECONDS, lambda: self._load(headers))
        except AssistantError as error:
            self._cannot(str(error))
        except ImportError as error:
            self._cannot(f"{OTEL_MISSING} ({error})")
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (the SDK reads its own variables, and raises what it likes)
            self._cannot(f"OpenTelemetry cannot start ({type(error).__name__}: {error})")
        else:
            self._exporting, self._instruments, self._tracing = loaded
            self._counts = self._exporting.counts
            self._service.parts.process.reports.add(self._called)
            for runner in self._service.runners.values():
                self.watch(runner)

    async def _headers(self) -> Mapping[str, str]:
        """Return the headers for the collector. Raises AssistantError."""
        parts, folder = self._service.parts, self._service.config.folder
        bound = await parts.bound_with(Config(telemetry=self._config), "")
        for binding in bindings_of_telemetry(self._config, folder):
            bound.check_binding(binding)
        return {name: await resolve_key(reference, parts.keys) for name, reference in self._config.headers.items()}

    def _load(self, headers: Mapping[str, str]) -> tuple[Exporting, Instruments, Tracing]:
        """Load and start the SDK. Blocks."""
        from mud_assistant.assistant.telemetry.exporting import Destination, Exporting  # noqa: PLC0415  (an extra)
        from mud_assistant.assistant.telemetry.instruments import Instruments  # noqa: PLC0415  (the same)
        from mud_assistant.assistant.telemetry.spans import Tracing  # noqa: PLC0415  (the same)

        config, inputs = self._config, self._service.config
        urls = {signal: config.url_of(signal, inputs.environment) for signal in self._signals}
        name = config.service_name or inputs.environment.get("OTEL_SERVICE_NAME", "") or _NAME
        exporting = Exporting(Destination(urls, name, self._version, config.interval, headers), self._told)
        if self._is_over:
            exporting.close()
        instruments = Instruments(exporting.meter)
        tracing = Tracing(
            exporting.tracer, instruments, inputs.wall, self._service.clock.seconds, self._service.scrub, config.content
        )
        return exporting, instruments, tracing

    def _called(self, report: CallReport) -> None:
        if self._instruments is not None:
            self._instruments.called(report)
        if (spans := self._spans.get(report.caller)) is not None:
            spans.called(report)

    def _cannot(self, why: str) -> None:
        self.trouble = self._service.scrub(f"nothing is sent to the collector: {why}")
        _log.error("{why}", why=self.trouble)

    def _told(self, trouble: str) -> None:
        """Log what the collector does not take, or that it takes it again. Called on threads of the SDK."""
        self._service.parts.reactor.callFromThread(self._log_trouble, self._service.scrub(trouble))

    def _log_trouble(self, trouble: str) -> None:
        self.trouble = trouble
        if trouble:
            _log.warn("{trouble}; what it does not take is dropped", trouble=trouble)
        else:
            _log.info("the collector takes telemetry again")
