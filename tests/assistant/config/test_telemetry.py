"""The settings `[telemetry]`, with OpenTelemetry's own variables where they say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.config.telemetry import TelemetryConfig, keys_in_headers
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.models.bound_keys import bindings_of

BOTH = ("traces", "metrics")


@pytest.mark.parametrize(
    ("config", "environment", "sends"),
    [
        (TelemetryConfig(), {}, ()),
        (TelemetryConfig(endpoint="http://127.0.0.1:4318"), {}, BOTH),
        (TelemetryConfig(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, BOTH),
        (TelemetryConfig(), {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318"}, BOTH),
        (TelemetryConfig(endpoint="http://c:4318", send=("traces",)), {}, ("traces",)),
        (TelemetryConfig(endpoint="http://c:4318"), {"OTEL_METRICS_EXPORTER": "none"}, ("traces",)),
        (TelemetryConfig(endpoint="http://c:4318"), {"OTEL_SDK_DISABLED": "true"}, ()),
    ],
)
def test_what_is_sent(config: TelemetryConfig, environment: dict[str, str], sends: tuple[str, ...]) -> None:
    assert config.sends(environment) == sends


@pytest.mark.parametrize(
    ("endpoint", "environment", "url"),
    [
        ("http://c:4318/", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other"}, "http://c:4318/v1/traces"),
        ("http://c:4318/v1/traces", {}, "http://c:4318/v1/traces"),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c/otlp/"}, "http://c/otlp/v1/traces"),
        ("", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/exactly"}, "http://c/exactly"),
    ],
)
def test_where_traces_go(endpoint: str, environment: dict[str, str], url: str) -> None:
    assert TelemetryConfig(endpoint=endpoint).url_of("traces", environment) == url


def test_keys_of_the_environment_are_known_in_each_spelling() -> None:
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20sk-1234567890,x-empty=,junk"}
    assert keys_in_headers(headers) == ["Bearer%20sk-1234567890", "Bearer sk-1234567890", "sk-1234567890"]


def test_a_key_written_out_and_a_header_of_two_lines_are_refused_and_not_repeated() -> None:
    for headers in ({"authorization": "sk-planted-0123456789"}, {"x\r\ny": "env:KEY"}):
        with pytest.raises(SettingsError) as refused:
            merged({"telemetry": {"headers": headers}})
        assert "sk-planted" not in str(refused.value)


def test_a_header_binds_its_key_to_the_collector() -> None:
    config = merged({"telemetry": {"endpoint": "https://c.example", "headers": {"x-key": "env:KEY"}}})
    assert KeyBinding.of("env:KEY", "https://c.example") in bindings_of(config, Path())
