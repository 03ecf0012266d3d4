"""Sends spans and metrics to a collector with OpenTelemetry's own SDK, in the SDK's threads.

Nothing here waits on the reactor's thread. What a collector does not take is dropped and counted. Imports the SDK, so
it is imported only where something is sent, and off the reactor's thread, since that takes a while.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Meter, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import NoOpTracerProvider, Tracer

from mud_assistant.assistant.telemetry import names

#: How many spans wait at most, and go in one request.
QUEUE, BATCH = 2048, 512
#: The pause between two requests, in milliseconds, and how long a collector may take, in seconds.
DELAY_MILLIS, TIMEOUT_SECONDS = 2000.0, 5.0
_LOGGER = "opentelemetry"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where what goes. `urls` has the address of each signal that is sent: "traces", "metrics".

    `headers` may hold keys; None leaves them to the environment. `interval` is in seconds.
    """

    urls: Mapping[str, str]
    service_name: str
    version: str
    interval: float
    headers: Mapping[str, str] | None = field(default=None, repr=False)


@dataclass(slots=True)
class SpanCounts:
    """How many spans came, went, and were dropped. Only the reactor's thread writes the first two, the SDK's the rest.

    `refused` came while too many waited; `lost` are those that the collector did not take.
    """

    taken: int = 0
    refused: int = 0
    sent: int = 0
    lost: int = 0

    @property
    def waiting(self) -> int:
        """How many are still to be sent."""
        return self.taken - self.sent - self.lost

    @property
    def dropped(self) -> int:
        """How many no collector will see."""
        return self.refused + self.lost


class Exporting:
    """The SDK's providers for one process. Blocks: make it and close it off the reactor's thread.

    `on_trouble` is called with a sentence when a collector does not take something, and with "" when it does again, on
    the SDK's threads.
    """

    def __init__(self, destination: Destination, on_trouble: Callable[[str], None]) -> None:
        self.counts = SpanCounts()
        self._reasons = _Reasons()
        logging.getLogger(_LOGGER).addHandler(self._reasons)
        self._trouble = _Trouble(on_trouble, self._reasons)
        named = {SERVICE_NAME: destination.service_name} if destination.service_name else {}
        resource = Resource.create({"service.version": destination.version, **named})
        self._spans = self._span_processor(destination)
        self._tracers: TracerProvider | None = None
        if self._spans is not None:
            self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
            self._tracers.add_span_processor(self._spans)
        self._reader = self._metric_reader(destination)
        self._meters: MeterProvider | None = None
        if self._reader is not None:
            self._meters = MeterProvider([self._reader], resource, shutdown_on_exit=False)

    @property
    def tracer(self) -> Tracer:
        """What makes spans; one that makes none where none are sent."""
        return (self._tracers or NoOpTracerProvider()).get_tracer(names.SCOPE)

    @property
    def meter(self) -> Meter:
        """What makes metrics; one that makes none where none are sent."""
        return (self._meters or NoOpMeterProvider()).get_meter(names.SCOPE)

    def close(self) -> None:
        """Send what waits, as far as the collector takes it, and end the SDK's threads. Blocks for up to a minute."""
        if self._tracers is not None:
            self._tracers.shutdown()
        if self._meters is not None:
            self._meters.shutdown(timeout_millis=1000 * TIMEOUT_SECONDS)
        logging.getLogger(_LOGGER).removeHandler(self._reasons)

    def _span_processor(self, destination: Destination) -> _Bounded | None:
        url = destination.urls.get("traces")
        if url is None:
            return None
        exporter = OTLPSpanExporter(url, headers=_headers(destination), timeout=TIMEOUT_SECONDS)
        return _Bounded(_CountedSpans(exporter, self.counts, self._trouble), self.counts)

    def _metric_reader(self, destination: Destination) -> PeriodicExportingMetricReader | None:
        url = destination.urls.get("metrics")
        if url is None:
            return None
        exporter = _ToldMetrics(url, headers=_headers(destination), timeout=TIMEOUT_SECONDS)
        exporter.trouble = self._trouble
        return PeriodicExportingMetricReader(exporter, destination.interval * 1000, 1000 * TIMEOUT_SECONDS)


def _headers(destination: Destination) -> dict[str, str] | None:
    return dict(destination.headers) if destination.headers else None


class _Reasons(logging.Handler):
    """Keeps the last thing that the SDK logged. Without any handler Python would print it to the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()


class _Trouble:
    """Tells when a collector begins to refuse, and when it takes again."""

    def __init__(self, tell: Callable[[str], None], reasons: _Reasons) -> None:
        self._tell = tell
        self._reasons = reasons
        #: Of each signal, whether it is refused.
        self._refused: dict[str, bool] = {}

    def sent(self, signal: str, *, well: bool) -> None:
        """Note that a signal was sent, and whether the collector took it."""
        if self._refused.get(signal, False) is not well:
            return
        self._refused[signal] = not well
        self._tell("" if well else f"the collector does not take {signal}: {self._reasons.last or 'no reason given'}")


class _CountedSpans(SpanExporter):
    """The exporter of spans, which counts what becomes of them."""

    def __init__(self, exporter: OTLPSpanExporter, counts: SpanCounts, trouble: _Trouble) -> None:
        self._exporter = exporter
        self._counts = counts
        self._trouble = trouble

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            if well := result is SpanExportResult.SUCCESS:
                self._counts.sent += len(spans)
            else:
                self._counts.lost += len(spans)
            self._trouble.sent("traces", well=well)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _Bounded(SpanProcessor):
    """The SDK's batches, with a bound of our own, so that what is dropped is counted."""

    def __init__(self, exporter: SpanExporter, counts: SpanCounts) -> None:
        self._batches = BatchSpanProcessor(exporter, 2 * QUEUE, DELAY_MILLIS, BATCH)
        self._counts = counts

    def on_end(self, span: ReadableSpan) -> None:
        if self._counts.waiting >= QUEUE:
            self._counts.refused += 1
            return
        if span.context is not None and span.context.trace_flags.sampled:
            self._counts.taken += 1
            self._batches.on_end(span)

    def shutdown(self) -> None:
        self._batches.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._batches.force_flush(timeout_millis)


class _ToldMetrics(OTLPMetricExporter):
    """The exporter of metrics, which tells whether they were taken."""

    trouble: _Trouble | None = None

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: object
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **kwargs)
        if self.trouble is not None:
            self.trouble.sent("metrics", well=result is MetricExportResult.SUCCESS)
        return result
