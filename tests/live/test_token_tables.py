"""Which counter of tokens is in use, as `mud-assistant doctor` and a trial show it; no table is ever fetched."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from mud_assistant.llm.testing import FakeAnthropic, FakeChat, FakeServer, Reply, serve
from mud_assistant.resilience.testing.fake import Fake, Response, ServedRequest
from tests.live.command import Result, reactor, run
from tests.live.test_model_options import HERE, KEY, says

pytest.importorskip("tiktoken")
TABLE = b"".join(b64encode(bytes((byte,))) + b" %d\n" % byte for byte in range(256))


class Proxy(Fake[ServedRequest]):
    """What a program that fetches something would ask."""

    request_type = ServedRequest

    def answer(self, request: ServedRequest) -> Response:
        return Response(200, {})


async def told(folder: Path, fake: FakeServer, settings: str, *arguments: str, given: bytes = b"") -> Result:
    proxy = Proxy()
    async with serve(fake, reactor) as url, serve(proxy, reactor) as elsewhere:
        (folder / "assistant.toml").write_text(settings.replace("URL", url))
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), elsewhere)
        cache = {"TIKTOKEN_CACHE_DIR": str(folder / "cache")}
        environment = {"THE_KEY": KEY, "PYTHONPATH": HERE, **proxies, **cache}
        result = await run(list(arguments), given, environment, folder=str(folder))
    assert proxy.requests == []
    assert "Traceback" not in result.err
    return result


def openai(more: str = "") -> str:
    return f"[model]\nprovider = 'openai'\nurl = 'URL/v1'\nmodel = 'sage'\nkey = 'env:THE_KEY'\n{more}"


async def test_the_doctor_names_the_table_and_how_far_off_it_was(tmp_path: Path) -> None:
    (tmp_path / "small.tiktoken").write_bytes(TABLE)
    settings = openai("token_table = 'small.tiktoken'\n")
    result = await told(tmp_path, FakeChat(reactor, says, KEY), settings, "doctor")
    assert result.status == 0, result
    assert "tokens are counted with tiktoken and small.tiktoken, " in result.out
    assert "% off the server's own count in 1 answer\n" in result.out


async def test_without_a_table_it_says_how_to_fetch_one_and_fetches_none(tmp_path: Path) -> None:
    result = await told(tmp_path, FakeChat(reactor, says, KEY), openai(), "doctor")
    assert result.status == 0, result
    assert "tokens are estimated from " in result.out
    assert "to fetch it: python -c \"import tiktoken; tiktoken.get_encoding('o200k_base')\"" in result.out
    assert not (tmp_path / "cache").exists()


async def test_anthropics_are_an_estimate(tmp_path: Path) -> None:
    (tmp_path / "small.tiktoken").write_bytes(TABLE)
    settings = "[model]\nprovider = 'anthropic'\nurl = 'URL'\nmodel = 'sage'\nkey = 'env:THE_KEY'\n"
    settings += "token_table = 'small.tiktoken'\n"
    result = await told(tmp_path, FakeAnthropic(reactor, says, KEY), settings, "doctor")
    assert "tokens are estimated with tiktoken and small.tiktoken, " in result.out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "nothing.tiktoken cannot be read: No such file or directory: see model.token_table"),
        (b"not a table", "nothing.tiktoken is no table of tokens: see its line 1: see model.token_table"),
    ],
)
async def test_a_table_that_cannot_be_used_is_wrong_where_it_was_asked_for(
    tmp_path: Path, data: bytes | None, said: str
) -> None:
    if data is not None:
        (tmp_path / "nothing.tiktoken").write_bytes(data)
    settings = openai("token_table = 'nothing.tiktoken'\n")
    result = await told(tmp_path, FakeChat(reactor, says, KEY), settings, "doctor")
    assert result.status == 1
    assert said in result.out
    trial = await told(tmp_path, FakeChat(reactor, says, KEY), settings, "trial", given=b"Hello Sage\n")
    assert "I am Sage." in trial.out


async def test_a_table_bounds_what_is_sent(tmp_path: Path) -> None:
    """With a token for each byte the window holds a quarter of what it holds by bytes, so less of the talk is sent."""
    (tmp_path / "small.tiktoken").write_bytes(TABLE)
    lines = b"".join(b"Sage, line %d of what I have to tell you: %s\n" % (at, b"and so on " * 40) for at in range(12))

    async def sent(more: str) -> int:
        fake = FakeChat(reactor, lambda _: Reply("Hm.", usage=(50, 1)), KEY)
        settings = openai(f"context_tokens = 8192\nexamples = false\n{more}[assistant]\ntools = ['say']\n")
        result = await told(tmp_path, fake, settings, "trial", given=lines)
        assert result.status == 0, result
        return len(fake.chats[-1].raw)

    assert await sent("token_table = 'small.tiktoken'\n") < await sent("") - 1000
