"""What Prometheus is told: counters and histograms fed as things happen, and gauges read from the service at a scrape.

Labels come from closed sets, and the number of series is bounded; no label holds anything of a player.
Imports prometheus-client, so it is imported only where metrics are switched on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.llm import CallReport
from mud_assistant.tools import Status

#: The beginning of every name.
PREFIX = "mud_assistant"
#: How many models and tools have labels of their own. All others together are OTHER.
MAX_MODELS, MAX_TOOLS = 10, 40
OTHER = "other"
#: What the model called although there is no such tool.
UNKNOWN_TOOL = "unknown"
#: The bounds of histograms, in seconds: of model calls, of the reactor, and of the disk.
CALL_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
SHORT_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_OPENMETRICS = "application/openmetrics-text"
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPEECH = frozenset({"say", "whisper", "emote", "page"})


class Metrics:
    """The metrics of one service, in a registry of their own. An observer of runs, and a listener for model calls."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        """Take `versions`, which are shown as they are."""
        self.registry = CollectorRegistry()
        self._models: set[tuple[str, str]] = set()
        self._tools: set[str] = set()
        model = ("provider", "model")
        self._requests = self._counter("llm_requests", "Exchanges with models, by how they ended.", *model, "outcome")
        self._tokens = self._counter("llm_tokens", "Tokens as the providers counted them.", *model, "direction")
        self._cost = self._counter("llm_cost", "What the calls cost, in the currency of the prices.", *model)
        self._seconds = self._histogram("llm_seconds", "Seconds until an answer was complete.", CALL_BOUNDS, *model)
        self._first_token = self._histogram(
            "first_token_seconds", "Seconds until the first piece of an answer.", CALL_BOUNDS, *model
        )
        self._first_sentence = self._histogram(
            "first_sentence_seconds", "Seconds from asking a model to the first words that are heard.", CALL_BOUNDS
        )
        self._runs = self._counter("runs", "Runs, by how they ended.", "outcome")
        self._calls = self._counter("tool_calls", "Calls of tools, by how they ended.", "tool", "outcome")
        self.journal_commit = self._histogram(
            "journal_commit_seconds", "Seconds that a commit of the journal took.", SHORT_BOUNDS
        )
        self.outages = self._counter("journal_outages", "How often the journal could not be written.")
        self.outage_seconds = self._counter("journal_outage_seconds", "Seconds in which it could not be written.")
        self.reactor_lag = self._histogram(
            "reactor_lag_seconds", "How much later than wanted a timer of each second fired.", SHORT_BOUNDS
        )
        self.registry.register(_Build(versions))

    def render(self, accept: str) -> tuple[str, bytes]:
        """Return content type and body for a scrape: Prometheus' text format, or OpenMetrics when `accept` names it."""
        wanted = f"{_OPENMETRICS}; version=1.0.0" if _OPENMETRICS in accept else ""
        encode, content_type = choose_encoder(wanted)
        return content_type, encode(_Lean(self.registry))

    def called(self, report: CallReport) -> None:
        """Count an exchange with a model."""
        labels = self._model_labels(report)
        self._requests.labels(*labels, _snake_case(report.outcome)).inc()
        usage = report.usage
        for direction, tokens in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached_input", usage.cached_tokens),
        ):
            if tokens:
                self._tokens.labels(*labels, direction).inc(tokens)
        if usage.cost:
            self._cost.labels(*labels).inc(usage.cost)
        self._seconds.labels(*labels).observe(report.seconds)
        if report.first_seconds is not None:
            self._first_token.labels(*labels).observe(report.first_seconds)

    def thinking(self, run_id: str, step: int) -> None:
        """Do nothing when the model is about to be asked."""

    def step(self, trace: StepTrace) -> None:
        """Count the calls of a step."""
        for executed in trace.executed:
            known = executed.category is not None
            self._calls.labels(self._tool(executed.call.name if known else UNKNOWN_TOOL), executed.status.value).inc()
        first = trace.first_sentence_seconds
        if first is None and any(_is_heard(each.call.name, each.status) for each in trace.executed):
            first = trace.asked_seconds
        if first is not None:
            self._first_sentence.observe(first)

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Count a run."""
        self._runs.labels(_snake_case(type(outcome).__name__)).inc()

    def _model_labels(self, report: CallReport) -> tuple[str, str]:
        """Return provider and model, or OTHER for both when too many are known."""
        labels = (report.provider, report.model)
        if labels not in self._models:
            if len(self._models) >= MAX_MODELS:
                return (OTHER, OTHER)
            self._models.add(labels)
        return labels

    def _tool(self, name: str) -> str:
        if name not in self._tools:
            if len(self._tools) >= MAX_TOOLS:
                return OTHER
            self._tools.add(name)
        return name

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", meaning, labels, buckets=bounds, registry=self.registry)


class _Lean(Collector):
    """The metrics of a registry without the time at which each series was made, which would be as many series again."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


class _Build(Collector):
    """Which versions run."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        self._info = InfoMetricFamily(f"{PREFIX}_build", "The versions that run.")
        self._info.add_metric([], dict(versions))

    def collect(self) -> Iterable[Metric]:
        return [self._info]


def _is_heard(tool: str, status: Status) -> bool:
    return tool in _SPEECH and status is Status.DONE


@cache
def _snake_case(name: str) -> str:
    """Return the name of a class as a label: RateLimited as rate_limited."""
    return _WORD.sub("_", name).lower()
