"""Keys of real services: their file is read in a thread, their month from the journal, and two gateways share both."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from datetime import date, timedelta
from pathlib import Path

import openai
import pytest
from twisted.internet.threads import deferToThread

from mud_assistant.assistant.gateway.keys import KeyLimits, KeyStore, ring_of
from mud_assistant.assistant.gateway.running import RunningGateway
from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused
from mud_assistant.llm.testing import FakeOllama, Reply, serve
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.keys.rings import HERE
from tests.assistant.living import reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_keys_and_the_days_of_the_month_are_read_and_watched(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        service = here.service
        await service.parts.ready()
        store = KeyStore(tmp_path / "keys.json")
        day = service.parts.ledger.day
        today = date(1970, 1, 1) + timedelta(day)
        assert today.day > 1, "the village's day is one of those with a day before it in its month"
        spent = {"key:laptop": {"calls": 10, "tokens": 100, "money": 1.0}}
        await service.parts.journal.usage.save_usage({"day": day - 1, "spent": spent})
        wall = service.config.wall()
        full = store.add("laptop", KeyLimits(month=Allowance(calls=10)), wall, secrets.token_bytes)
        other = store.add("other", KeyLimits(month=Allowance(calls=10)), wall, secrets.token_bytes)
        ring = ring_of(service, store)
        await ring.refresh()
        assert ring.admit(other, "small", HERE).accounts[0].allowance == Allowance(calls=10)
        with pytest.raises(RequestRefused) as caught:
            ring.admit(full, "small", HERE)
        assert caught.value.failure.kind is FailureKind.BUDGET
        ring.start()
        store.revoke("other", wall)
        await ring.refresh()
        with pytest.raises(RequestRefused, match="was revoked"):
            ring.admit(other, "small", HERE)
        await ring.stop()


@pytest.mark.parametrize("limits", [KeyLimits(day=Allowance(calls=2)), KeyLimits(month=Allowance(calls=2))])
async def test_two_gateways_with_one_journal_spend_one_budget_of_a_key(
    tmp_path: Path, postgres_url: str, limits: KeyLimits
) -> None:
    secret = KeyStore(tmp_path / "gateway-keys.json").add("laptop", limits, 0.0, secrets.token_bytes)
    fake = FakeOllama(reactor, lambda _: Reply("By the gate."))
    async with serve(fake, reactor) as url, AsyncExitStack() as stack:
        model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1}
        settings = {"journal": {"url": postgres_url}, "gateway": {"port": 0, "models": {"wise": model}}}
        addresses = []
        for _ in range(2):
            service = (await stack.enter_async_context(village(tmp_path, settings=settings))).service
            gateway = RunningGateway(service, service.config.settings.gateway)
            stack.push_async_callback(gateway.close)
            addresses.append(await gateway.open())
            await service.parts.ready()
        answers = [await deferToThread(ask, address, secret) for address in addresses * 2]
    assert answers == ["By the gate.", "By the gate.", "insufficient_quota", "insufficient_quota"]
    assert len(fake.chats) == 2


def ask(address: str, secret: str) -> str:
    """What a program is told. Blocks."""
    with openai.OpenAI(base_url=f"{address}/v1", api_key=secret, max_retries=0, timeout=15) as client:
        try:
            answer = client.chat.completions.create(model="wise", messages=[{"role": "user", "content": "Where?"}])
        except openai.RateLimitError as refused:
            return refused.code or ""
        return answer.choices[0].message.content or ""
