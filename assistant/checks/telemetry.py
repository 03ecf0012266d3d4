"""Checks whether those who may look on from outside can: the packages of the extras, and the collector."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct
from twisted.web.http_headers import Headers

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.config.telemetry import METRICS_MISSING, OTEL_MISSING, TelemetryConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.assistant.models.bound_keys import BoundKeys, bindings_of_telemetry
from mud_assistant.resilience import HttpExchange, Request, ResilienceError
from mud_assistant.resilience.http.request import Collected, origin_of

#: How long a collector may take to answer, in seconds.
COLLECTOR_SECONDS = 10.0
_TAKEN, _REFUSED = frozenset({200, 202, 204}), frozenset({401, 403})


class TelemetryChecks(Struct, frozen=True):
    """The check of what `[telemetry]` switches on. A relative path of a key file starts from `folder`."""

    config: TelemetryConfig
    environment: Mapping[str, str]
    folder: Path
    keys: KeySources
    bound: BoundKeys
    exchange: HttpExchange
    runner: CheckRunner

    async def run(self) -> None:
        """Run the check. Where nothing is switched on there is nothing to say."""
        if self.config.metrics or self.config.sends(self.environment):
            await self.runner.check("telemetry", COLLECTOR_SECONDS, self._look, "see telemetry.endpoint")

    async def _look(self) -> str:
        absent, signals = [], self.config.sends(self.environment)
        if self.config.metrics and find_spec("prometheus_client") is None:
            absent.append(f"{METRICS_MISSING}, or set telemetry.metrics to false")
        if signals and not _has_otel():
            absent.append(f"{OTEL_MISSING}, or set no telemetry.endpoint")
        if absent:
            raise Problem("; ".join(absent))
        said = ["the page answers Prometheus at /metrics"] if self.config.metrics else []
        return "; ".join([*said, *[await self._send(signal) for signal in signals]])

    async def _send(self, signal: str) -> str:
        """Send nothing of this signal to the collector, which is a request it must take."""
        url = self.config.url_of(signal, self.environment)
        where, answer = origin_of(url), Collected()
        headers = Headers({"content-type": ["application/x-protobuf"], **await self._headers()})
        try:
            await self.exchange.perform(Request("POST", url, headers), answer)
        except ResilienceError as error:
            raise Problem(f"{error}; start the collector, or see telemetry.endpoint") from error
        if answer.status in _REFUSED:
            raise Problem(f"{where} refuses {signal} with status {answer.status}; see telemetry.headers")
        if answer.status not in _TAKEN:
            rest = f'; leave "{signal}" out of telemetry.send when it takes none' if len(self.config.send) > 1 else ""
            raise Unclear(f"{where} answers {signal} with status {answer.status}{rest}")
        return f"{where} takes {signal}"

    async def _headers(self) -> dict[str, list[str]]:
        """Return the headers of the settings. Those of the environment are left to OpenTelemetry. Raises Problem."""
        try:
            for binding in bindings_of_telemetry(self.config, self.folder):
                self.bound.check_binding(binding)
            return {name: [await resolve_key(key, self.keys)] for name, key in self.config.headers.items()}
        except KeyReferenceError as error:
            raise Problem(f"{error} (telemetry.headers)") from error


def _has_otel() -> bool:
    """Tell whether OpenTelemetry's SDK and its exporter are installed."""
    try:
        return all(map(find_spec, ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")))
    except ModuleNotFoundError:
        return False
