"""The doctor's line about telemetry, against a collector on loopback, and where the extras are missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.telemetry import watch_service
from mud_assistant.llm.testing import FakeOllama, Reply, serve
from tests.assistant.living import reactor
from tests.assistant.service.village import village
from tests.assistant.telemetry.collector import collecting
from tests.assistant.telemetry.test_sending import until

KEY = "sk-planted-0123456789abcdef"


async def told(folder: Path, environment: dict[str, str] | None = None, **telemetry: Any) -> Finding | None:
    """What the doctor says of these settings."""
    found: list[Finding] = []
    async with serve(FakeOllama(reactor, lambda _: Reply("yes")), reactor) as url:
        config = merged({"model": {"provider": "ollama", "url": url, "model": "sage"}, "telemetry": telemetry})
        around = {"COLLECTOR_KEY": KEY} | (environment or {})
        request = DoctorRequest(config, folder, around, lambda: 1e6, found.append, lambda _: None)
        await examine(reactor, request)
    return next((finding for finding in found if finding.check == "telemetry"), None)


async def test_it_says_nothing_where_nothing_is_switched_on(tmp_path: Path) -> None:
    assert await told(tmp_path) is None


async def test_it_says_what_takes_what(tmp_path: Path) -> None:
    async with collecting() as collector:
        headers = {"authorization": "env:COLLECTOR_KEY"}
        finding = await told(tmp_path, metrics=True, endpoint=f"{collector.url}/v1/traces", headers=headers)
    assert finding is not None
    assert finding.state is FindingState.OK
    assert "/metrics" in finding.sentence
    assert f"{collector.url} takes traces; {collector.url} takes metrics" in finding.sentence
    assert set(collector.authorizations) == {KEY}


@pytest.mark.parametrize(
    ("status", "state", "hint"),
    [(401, FindingState.WRONG, "telemetry.headers"), (404, FindingState.UNKNOWN, "telemetry.send")],
)
async def test_it_says_what_to_change(tmp_path: Path, status: int, state: FindingState, hint: str) -> None:
    async with collecting(status) as collector:
        finding = await told(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
    assert finding is not None
    assert (finding.state, hint in finding.sentence) == (state, True)


async def test_it_names_every_extra_that_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("prometheus_client", "opentelemetry.sdk"):
        monkeypatch.setitem(sys.modules, package, None)
    finding = await told(tmp_path, metrics=True, endpoint="http://127.0.0.1:9")
    assert finding is not None
    assert finding.state is FindingState.WRONG
    for extra in ("metrics", "otel"):
        assert f"pip install 'mud-assistant[{extra}]'" in finding.sentence


@pytest.mark.parametrize(("package", "extra"), [("prometheus_client", "metrics"), ("opentelemetry.sdk", "otel")])
async def test_a_missing_extra_is_told_with_its_remedy_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    for name in [name for name in sys.modules if name.startswith(("mud_assistant.assistant.telemetry.", package))]:
        if not name.endswith((".telemetry", ".sending", ".names")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    wanted = {"telemetry": {"metrics": extra == "metrics", "endpoint": "http://127.0.0.1:9" if extra == "otel" else ""}}
    async with village(tmp_path, settings=wanted) as v:
        watching = watch_service(v.service)
        await until(lambda: watching.trouble)
        assert f"pip install 'mud-assistant[{extra}]'" in watching.trouble
        assert watching.metrics_answer("") is None
