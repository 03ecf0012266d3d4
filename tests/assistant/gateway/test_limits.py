"""Clients that ask for more than they may have: of a budget, of models, of requests at once, of gateways in a row."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_twisted

from mud_assistant.assistant.config.schema import BudgetConfig
from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.assistant.loop.spending import total_account
from mud_assistant.llm.testing import Reply
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.asking import LANES, PATHS, ask, body_of, connect, get, post
from tests.assistant.gateway.standing import Standing, standing
from tests.assistant.gateway.test_planted_keys import key_of


async def known(gateway: Standing, name: str, limits: KeyLimits) -> str:
    """Make a key that the gateway knows."""
    secret = key_of(gateway, name, limits)
    await gateway.gateway._keys.refresh()
    return secret


@pytest.mark.parametrize("lane", [("chat", "local"), ("messages", "local")])
@pytest_twisted.ensureDeferred
async def test_fifty_at_once_overrun_a_budget_by_no_more_than_what_is_under_way(
    tmp_path: Path, lane: tuple[str, str]
) -> None:
    dialect, provider = lane
    reply = Reply("Here.", usage=(400, 600))

    async with standing(tmp_path, lambda _: reply, provider=provider) as gateway:
        secret = await known(gateway, "laptop", KeyLimits(day=Allowance(tokens=5_000), in_flight=64, per_second=100))
        body = post(PATHS[dialect], body_of(dialect, streams=False), connection="close", x_api_key=secret)
        clients = [await connect(gateway, body) for _ in range(50)]
        for client in clients:
            await client.closed()
        answers = [bytes(client.received) for client in clients]
        good = [answer for answer in answers if answer.startswith(b"HTTP/1.1 200")]
        refused = [answer for answer in answers if answer.startswith(b"HTTP/1.1 429")]
        (offered,) = gateway.gateway.models._offered.values()
        assert len(good) + len(refused) == 50
        assert 5 <= len(good) <= 5 + offered.places.limit
        assert all(b"x-should-retry: false" in answer.lower() for answer in refused)
        assert len(gateway.fake.chats) == len(good), "nothing was sent that the budget does not allow"
        assert gateway.service.parts.ledger.spent("key:laptop").tokens == 1000 * len(good)
        assert gateway.service.parts.ledger.reserved("key:laptop").tokens == 0
        assert gateway.service.parts.ledger.spent(total_account(BudgetConfig()).name).tokens == 1000 * len(good)


@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_a_loop_of_gateways_ends(tmp_path: Path, dialect: str, provider: str) -> None:
    async with standing(tmp_path, lambda _: Reply("Here."), provider=provider) as gateway:
        for passed in ("", "1", "2"):
            hops = {"x_mud_assistant_hops": passed} if passed else {}
            assert (await ask(gateway, PATHS[dialect], body_of(dialect), **hops)).status == 200
        sent = [request.headers["x-mud-assistant-hops"] for request in gateway.fake.chats]
        assert sent == ["1", "2", "3"]
        for said in ("3", "999999999999", "-1", "x"):
            got = await ask(gateway, PATHS[dialect], body_of(dialect), x_mud_assistant_hops=said)
            assert got.status == 400
            assert "gateways" in got.text
        assert len(gateway.fake.chats) == 3


@pytest_twisted.ensureDeferred
async def test_a_key_uses_the_models_it_may_and_hears_of_no_other(tmp_path: Path) -> None:
    async with standing(tmp_path, [Reply("Here."), Reply("There.")]) as gateway:
        secret = await known(gateway, "guest", KeyLimits(models=("gpt-4o-mini",)))
        key = {"authorization": f"Bearer {secret}"}
        for model in ("wise", "gpt-4o-mini"):  # an alias means the model
            assert (await ask(gateway, PATHS["chat"], body_of("chat", model=model), **key)).status == 200
        other = {"authorization": f"Bearer {await known(gateway, 'other', KeyLimits(models=('elsewhere',)))}"}
        got = await ask(gateway, PATHS["chat"], body_of("chat"), **other)
        assert got.status == 404
        assert "may not use" in got.text
        got = await ask(gateway, PATHS["messages"], body_of("messages"), **other)
        assert got.status == 403
        got = await ask(gateway, PATHS["chat"], body_of("chat", model="nobody"), **other)
        assert (got.status, "those there are: none" in got.text) == (404, True)
        assert (await get(gateway, "/v1/models", **other)).body.count(b'"id"') == 0
        assert (await ask(gateway, PATHS["chat"], body_of("chat"))).status == 401


@pytest_twisted.ensureDeferred
async def test_two_equal_requests_at_once_are_two(tmp_path: Path) -> None:
    async with standing(tmp_path, [Reply("One."), Reply("Two.")]) as gateway:
        body = post(PATHS["chat"], body_of("chat"), connection="close")
        clients = [await connect(gateway, body) for _ in range(2)]
        got = sorted(client for client in [b"One" in await client.closed() for client in clients])
        assert got == [False, True]
        assert len(gateway.fake.chats) == 2


@pytest_twisted.ensureDeferred
async def test_the_headers_tell_what_the_key_has_left_and_nothing_of_the_provider(tmp_path: Path) -> None:
    limits = KeyLimits(day=Allowance(calls=10, tokens=5_000))
    async with standing(tmp_path, lambda _: Reply("Here.", usage=(60, 40)), provider="anthropic") as gateway:
        secret = await known(gateway, "laptop", limits)
        got = await ask(gateway, PATHS["messages"], body_of("messages", streams=False), x_api_key=secret)
        assert got.headers["anthropic-ratelimit-requests-limit"] == "10"
        assert got.headers["anthropic-ratelimit-tokens-limit"] == "5000"
        got = await ask(gateway, PATHS["messages"], body_of("messages", streams=False), x_api_key=secret)
        assert got.headers["anthropic-ratelimit-requests-remaining"] == "9"
        assert got.headers["anthropic-ratelimit-tokens-remaining"] == "4900"
        got = await ask(gateway, PATHS["chat"], body_of("chat", streams=False), x_api_key=secret)
        assert got.headers["x-ratelimit-remaining-tokens"] == "4800"
        assert got.headers["request-id"] == got.headers["x-request-id"]
