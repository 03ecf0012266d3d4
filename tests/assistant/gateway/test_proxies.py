"""A gateway that others reach through a proxy asks everybody for a key, and knows who they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_twisted

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.gateway.running import GatewayNotOpened
from mud_assistant.llm.testing import Reply
from tests.assistant.gateway.asking import PATHS, ask, body_of
from tests.assistant.gateway.http.reached import until
from tests.assistant.gateway.standing import reactor, standing
from tests.assistant.gateway.test_planted_keys import key_of

OPEN: list[dict[str, Any]] = [
    {"hosts": ["ai.example.org"]},
    {"hosts": ["localhost", "10.0.0.5"]},
    {"proxies": ["127.0.0.1"]},
]
PATH, BODY = PATHS["chat"], body_of("chat")


@pytest.mark.parametrize("settings", OPEN)
@pytest_twisted.ensureDeferred
async def test_a_name_that_others_reach_needs_a_key_before_the_gateway_opens(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    said = rf"\[gateway\] {next(iter(settings))} = .* Make one first: mud-assistant gateway keys add NAME"
    with pytest.raises(GatewayNotOpened, match=said):
        async with standing(tmp_path, [], settings=settings):
            pass


@pytest_twisted.ensureDeferred
async def test_names_of_this_machine_need_none(tmp_path: Path) -> None:
    async with standing(tmp_path, [Reply("Here.")], settings={"hosts": ["me.localhost", "127.0.0.2"]}) as gateway:
        assert (await ask(gateway, PATH, BODY, host="me.localhost")).status == 200


@pytest.mark.parametrize("settings", OPEN)
@pytest_twisted.ensureDeferred
async def test_whoever_comes_from_the_proxy_s_machine_shows_a_key(tmp_path: Path, settings: dict[str, Any]) -> None:
    async with standing(tmp_path, [Reply("Here.")] * 9, keys=["laptop"], settings=settings) as gateway:
        host = settings.get("hosts", ["127.0.0.1"])[-1]
        for headers in ({"host": host}, {"host": "127.0.0.1"}, {"host": host, "x-forwarded-for": "127.0.0.1"}):
            assert (await ask(gateway, PATH, BODY, **headers)).status == 401
            got = await ask(gateway, PATH, BODY, **headers, authorization=f"Bearer {gateway.secrets['laptop']}")
            assert got.status == 200
        (tmp_path / "gateway-keys.json").write_text('{"version": 1, "keys": []}')
        await until(reactor, lambda: not gateway.gateway.has_keys)
        assert (await ask(gateway, PATH, BODY)).status == 401


@pytest_twisted.ensureDeferred
async def test_wrong_keys_count_for_the_client_of_a_named_proxy_and_for_nobody_else(tmp_path: Path) -> None:
    wrong = {"authorization": "Bearer mak_0123456789ab_wrong"}
    async with standing(tmp_path, [], keys=["laptop"], settings={"proxies": ["127.0.0.1"]}) as gateway:
        statuses = [
            (await ask(gateway, PATH, BODY, **wrong, x_forwarded_for=f"198.51.100.{at}, 192.0.2.7")).status
            for at in range(20)
        ]
        assert (statuses[:10], statuses[-1]) == ([401] * 10, 429)
        assert (await ask(gateway, PATH, BODY, **wrong, x_forwarded_for="192.0.2.7, 198.51.100.1")).status == 401


@pytest_twisted.ensureDeferred
async def test_from_who_is_no_named_proxy_the_headers_say_nothing(tmp_path: Path) -> None:
    wrong = {"authorization": "Bearer mak_0123456789ab_wrong"}
    async with standing(tmp_path, [], keys=["laptop"]) as gateway:
        statuses = [
            (await ask(gateway, PATH, BODY, **wrong, x_forwarded_for=f"192.0.2.{at}")).status for at in range(20)
        ]
        assert (statuses[:10], statuses[-1]) == ([401] * 10, 429)


@pytest_twisted.ensureDeferred
async def test_what_a_stranger_writes_makes_nobody_of_them(tmp_path: Path) -> None:
    """Without keys only this machine may ask; whom a header names matters for no one."""
    async with standing(tmp_path, [Reply("Here.")]) as gateway:
        assert (await ask(gateway, PATH, BODY, x_forwarded_for="192.0.2.7")).status == 200
        assert (await ask(gateway, PATH, BODY, host="ai.example.org")).status == 421


def test_a_proxy_that_is_no_address_is_told_in_one_sentence() -> None:
    with pytest.raises(SettingsError, match=r"'proxy.example' is no address: write that of the proxy"):
        merged({"gateway": {"proxies": ["proxy.example"]}})


@pytest_twisted.ensureDeferred
async def test_a_key_that_was_revoked_does_not_open_the_gateway_to_anyone(tmp_path: Path) -> None:
    async with standing(tmp_path, [], settings={"hosts": ["ai.example.org"]}, keys=["laptop"]) as gateway:
        assert key_of(gateway, "phone")
        assert gateway.gateway.has_keys
        assert (await ask(gateway, PATH, BODY, host="ai.example.org")).status == 401
