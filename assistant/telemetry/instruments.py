"""The metrics of the GenAI conventions, as OpenTelemetry's instruments. Imports OpenTelemetry's API."""

from __future__ import annotations

from opentelemetry.metrics import Histogram, Meter

from mud_assistant.assistant.telemetry import names
from mud_assistant.llm import CallReport
from mud_assistant.llm.reports import ANSWERED

#: How many models have series of their own; all others together are "other".
_MAX_MODELS = 20


class Instruments:
    """The histograms of one process. Every method returns at once; the SDK sends them from its own thread."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._models: set[tuple[str, str]] = set()
        self._tokens = self._histogram(names.TOKEN_USAGE, "{token}", "Number of input and output tokens used.")
        self._chats = self._histogram(names.CHAT_SECONDS, "s", "GenAI operation duration.")
        self._first_chunks = self._histogram(names.FIRST_CHUNK_SECONDS, "s", "Time to receive the first chunk.")
        self._agents = self._histogram(names.AGENT_SECONDS, "s", "Duration of an agent's run.")
        self._tools = self._histogram(names.TOOL_SECONDS, "s", "Duration of a tool's execution.")

    def called(self, report: CallReport) -> None:
        """Record an exchange with a model."""
        provider, model = self._model(report)
        about = {names.OPERATION: names.CHAT, names.PROVIDER: provider, names.REQUEST_MODEL: model}
        error = {} if report.outcome == ANSWERED else {names.ERROR_TYPE: report.outcome}
        self._chats.record(report.seconds, {**about, **error})
        if report.first_seconds is not None:
            self._first_chunks.record(report.first_seconds, about)
        for kind, tokens in (("input", report.usage.input_tokens), ("output", report.usage.output_tokens)):
            if tokens is not None:
                self._tokens.record(tokens, {**about, names.TOKEN_TYPE: kind})

    def agent_ran(self, name: str, seconds: float, error: str) -> None:
        """Record a run of the assistant of this name. `error` is empty when it went well."""
        about = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: name}
        self._agents.record(max(0.0, seconds), about | ({names.ERROR_TYPE: error} if error else {}))

    def tool_ran(self, name: str, seconds: float, error: str) -> None:
        """Record a call of a tool. `error` is empty when it went well."""
        about = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: name}
        self._tools.record(seconds, about | ({names.ERROR_TYPE: error} if error else {}))

    def _model(self, report: CallReport) -> tuple[str, str]:
        labels = (report.provider, report.model)
        if labels not in self._models:
            if len(self._models) >= _MAX_MODELS:
                return ("other", "other")
            self._models.add(labels)
        return labels

    def _histogram(self, name: str, unit: str, meaning: str) -> Histogram:
        bounds = names.TOKEN_BOUNDS if unit == "{token}" else names.SECONDS_BOUNDS
        return self._meter.create_histogram(name, unit, meaning, explicit_bucket_boundaries_advisory=bounds)
