"""The doctor's lines about the gateway: its models, its keys, and who may ask."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.checks.doctor import DoctorRequest, examine
from mud_assistant.assistant.checks.finding import Finding, FindingState, Problem
from mud_assistant.assistant.checks.gateway import given_keys, who_may_ask
from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.gateway.keys import KeyLimits, key_store
from mud_assistant.llm.testing import FakeOllama, OllamaModel, Reply, serve
from tests.assistant.living import reactor

WALL = 1_795_348_800.0  # 2026-11-22 12:00 UTC


def with_keys(folder: Path, *names: str, **settings: Any) -> GatewayConfig:
    config = GatewayConfig.model_validate(settings)
    for name in names:
        key_store(config, folder).add(name, KeyLimits(), WALL, secrets.token_bytes)
    return config


async def findings(folder: Path, **gateway: Any) -> dict[str, Finding]:
    """What the doctor says, by the names of the checks."""
    found: list[Finding] = []
    async with serve(FakeOllama(reactor, lambda _: Reply("yes"), {"sage": OllamaModel()}), reactor) as url:
        model = {"provider": "ollama", "url": url, "model": "sage"}
        offered = {"small": {**model, "fallback": [{**model, "model": "gone"}]}} if gateway.pop("offers", True) else {}
        config = merged({"model": model, "gateway": {**gateway, "models": offered}})
        await examine(reactor, DoctorRequest(config, folder, {}, lambda: WALL, found.append, lambda _: None))
    return {finding.check: finding for finding in found}


async def test_each_model_of_the_gateway_is_tried(tmp_path: Path) -> None:
    found = await findings(tmp_path)
    assert found["gateway.models.small name"].state is FindingState.OK
    assert "a larger model" in found["gateway.models.small tools"].sentence, "it was asked, and called no tool"
    assert found["gateway.models.small.fallback[0] name"].state is FindingState.WRONG
    assert found["gateway keys"].sentence == "there is none: every program on this machine may ask"
    assert found["gateway"].state is FindingState.OK
    assert "only programs on this machine" in found["gateway"].sentence


async def test_nothing_is_said_where_there_is_no_gateway(tmp_path: Path) -> None:
    found = await findings(tmp_path, offers=False)
    assert not [check for check in found if check.startswith("gateway")]
    assert "gateway keys" in await findings(tmp_path, offers=False, enabled=True)


def test_keys_are_counted_and_their_file_is_for_the_owner_alone(tmp_path: Path) -> None:
    config = with_keys(tmp_path, "laptop", "phone")
    store = key_store(config, tmp_path)
    store.revoke("phone", WALL)
    assert given_keys(config, tmp_path) == f"there are 2 in {store.path}, of which 1 were revoked"
    store.path.chmod(0o640)
    with pytest.raises(Problem, match="chmod 600"):
        given_keys(config, tmp_path)
    store.path.write_text("no keys")
    with pytest.raises(Problem, match="lets nobody in"):
        given_keys(config, tmp_path)


def test_an_open_gateway_needs_a_key_that_is_taken(tmp_path: Path) -> None:
    config = with_keys(tmp_path, interface="0.0.0.0", enabled=True)  # noqa: S104  (it is judged, not opened)
    with pytest.raises(Problem, match="gateway keys add"):
        who_may_ask(config, tmp_path)
    store = key_store(with_keys(tmp_path, "laptop"), tmp_path)
    assert "open to other machines at 0.0.0.0, port 8420" in who_may_ask(config, tmp_path)
    store.revoke("laptop", WALL)
    with pytest.raises(Problem, match="no key they could show"):
        who_may_ask(config, tmp_path)


@pytest.mark.parametrize("setting", [{"hosts": ["ai.example.org"]}, {"proxies": ["127.0.0.1"]}])
def test_a_gateway_behind_a_proxy_is_as_open(tmp_path: Path, setting: dict[str, Any]) -> None:
    config = with_keys(tmp_path, **setting, enabled=True)
    with pytest.raises(Problem, match=rf"{next(iter(setting))} = .* through a proxy.*gateway keys add"):
        who_may_ask(config, tmp_path)
    with_keys(tmp_path, "laptop")
    assert "for those that show a key" in who_may_ask(config, tmp_path)
