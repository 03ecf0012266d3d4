"""The table of the settings for monitoring: metrics for Prometheus, spans and metrics for an OpenTelemetry collector.

OpenTelemetry's own environment variables count where the settings say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field, field_validator

from mud_assistant.assistant.config.sections import Address, KeyReference, Settings

#: Where a collector usually listens.
USUAL_ENDPOINT = "http://localhost:4318"
#: The variables that name a collector, any of which switches the sending on.
ENDPOINT_VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
#: The variables that hold headers, and so keys.
HEADER_VARIABLES = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
)
#: The distributions of each extra that is missing, and how they are installed.
METRICS_MISSING = "metrics need a package that is not here: pip install 'mud-assistant[metrics]'"
OTEL_MISSING = "OpenTelemetry needs packages that are not here: pip install 'mud-assistant[otel]'"
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,80}")
_PATHS = {"traces": "/v1/traces", "metrics": "/v1/metrics"}


def _header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError("give the name of a header, such as authorization")
    return name


class TelemetryConfig(Settings):
    """Who may look on from outside: Prometheus, and an OpenTelemetry collector. Nothing is measured without them."""

    #: Whether the operator page answers Prometheus at /metrics.
    metrics: bool = False
    #: Base URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty: as the
    #: variable OTEL_EXPORTER_OTLP_ENDPOINT says, and without that nothing is sent.
    endpoint: Address = ""
    #: Headers for the collector; each value is a reference to a key, never the key: env:NAME, file:PATH, keyring:NAME.
    headers: dict[Annotated[str, AfterValidator(_header_name)], KeyReference] = Field(
        default={}, examples=[{"authorization": "env:COLLECTOR_AUTHORIZATION"}]
    )
    #: What is sent there: "traces", "metrics", or both.
    send: tuple[Literal["traces", "metrics"], ...] = ("traces", "metrics")
    #: Whether what was said, thought and done is sent as well. Players must know.
    content: bool = False
    #: The name of this game in the collector; empty: as OTEL_SERVICE_NAME says, else mud-assistant.
    service_name: str = Field(default="", max_length=100, examples=["my-game"])
    #: The seconds between two reports of metrics to the collector.
    interval: float = Field(default=60.0, ge=1, le=3600)

    @field_validator("endpoint")
    @classmethod
    def _base(cls, value: str) -> str:
        """Take the address of one signal for that of the collector, as documents of vendors often name it."""
        for path in _PATHS.values():
            value = value.removesuffix(path)
        return value.rstrip("/")

    def sends(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Return what is sent to a collector, by the settings and the environment; nothing when there is none."""
        named = self.endpoint or any(environment.get(variable) for variable in ENDPOINT_VARIABLES)
        if not named or environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return ()
        return tuple(
            signal for signal in self.send if environment.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip() != "none"
        )

    def url_of(self, signal: str, environment: Mapping[str, str]) -> str:
        """Return where a signal goes, "traces" or "metrics", by the settings and the environment."""
        if not self.endpoint and (own := environment.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")):
            return own
        base = self.endpoint or environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or USUAL_ENDPOINT
        return base.rstrip("/") + _PATHS[signal]


def keys_in_headers(environment: Mapping[str, str]) -> list[str]:
    """Return the values of the headers that the environment holds, which are kept out of every log.

    They may be percent-encoded there, and of `Bearer KEY` the key alone counts as well.
    """
    pairs = (pair for variable in HEADER_VARIABLES for pair in environment.get(variable, "").split(","))
    values = [value.strip() for _, found, value in (pair.partition("=") for pair in pairs) if found]
    spelled = [spelling for value in values if value for spelling in (value, unquote(value))]
    return list(dict.fromkeys([*spelled, *(spelling.split()[-1] for spelling in spelled)]))
