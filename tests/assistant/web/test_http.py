"""The HTTP clients of tools under the settings of [web]: made at their first use, one set of places an assistant."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.keys.reference import KeySources
from mud_assistant.assistant.models.bound_keys import BoundKeys
from mud_assistant.assistant.web.shared import SharedWeb
from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.resilience.testing.fault_server import serve
from mud_assistant.tools.testing import tool_context
from mud_assistant.tools.web.fetch.url import UrlRefused
from mud_assistant.tools.web.testing.site import FakeSite

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def shared(reactor: Any, config: WebConfig) -> AsyncIterator[SharedWeb]:
    exchange = HttpExchange(reactor)
    keys = KeySources({}, partial(in_daemon_thread, reactor, 10.0))
    web = SharedWeb(config, keys, exchange, reactor=reactor, random=Random(1), wall=lambda: 0.0)  # noqa: S311
    try:
        yield web
    finally:
        await web.stop()
        await exchange.close()


async def test_a_client_obeys_the_settings_as_they_are_now(reactor: Any) -> None:
    site = FakeSite()
    site.page("/", "here")
    async with serve(site, reactor) as url:
        ports = [int(url.rpartition(":")[2])]
        async with shared(reactor, WebConfig.model_validate({"ports": ports})) as web:
            with pytest.raises(UrlRefused, match="loopback"):
                await web.http_client("sage").get(url)
            own = WebConfig.model_validate({"ports": ports, "allow_private": ["127.0.0.1"]})
            await web.change(own, BoundKeys())
            assert await (await web.http_client("sage").get(url)).content() == b"here"
            assert site.connections == 1


async def test_clients_of_one_assistant_share_their_places(reactor: Any) -> None:
    async with shared(reactor, WebConfig()) as web:
        sage, again, owl = web.http_client("sage"), web.http_client("sage"), web.http_client("owl")
        assert sage is not again
        assert sage._agent is again._agent
        assert sage._agent is not owl._agent


async def test_without_treq_it_says_what_to_install(reactor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mud_assistant.assistant.web.http", "mud_assistant.tools.web.http"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "treq.client", None)
    async with shared(reactor, WebConfig()) as web:
        with pytest.raises(ModuleNotFoundError, match=r"context\.http needs .*pip install 'mud-assistant\[web\]'"):
            web.http_client("sage")


def test_nothing_of_it_is_loaded_before_its_use() -> None:
    code = "import sys, mud_assistant.assistant.web.shared, mud_assistant.tools.context\n"
    code += "print(*({'treq', 'mud_assistant.tools.web.http'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert told.stdout.split() == []


def test_a_context_without_a_client_says_so() -> None:
    with pytest.raises(RuntimeError, match="a test gives one as `http_client`"):
        _ = tool_context().http
