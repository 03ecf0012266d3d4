"""What the provider says of its own failure reaches the client, without what is the owner's alone."""

from __future__ import annotations

from pathlib import Path

import openai
import pytest
import pytest_twisted

from mud_assistant.llm.testing import ErrorInStream, HttpError, Reply, Step
from tests.assistant.gateway.asking import LANES, PATHS, ask, body_of
from tests.assistant.gateway.standing import Standing, ask_chat, standing
from tests.assistant.gateway.test_planted_keys import key_of

BUSY = "The engine is overloaded, come back after the update at 17:00 UTC."


@pytest.mark.parametrize("status", [500, 502, 503, 529])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("dialect", "provider"), LANES)
@pytest_twisted.ensureDeferred
async def test_the_sentence_of_a_failure_reaches_the_client(
    tmp_path: Path, dialect: str, provider: str, status: int, *, streams: bool
) -> None:
    async with standing(tmp_path, [HttpError(status, BUSY)], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect, streams=streams))
        assert (got.status, got.headers["x-should-retry"]) == (502, "false")
        assert f"{provider} failed: {BUSY}" in got.text


@pytest_twisted.ensureDeferred
async def test_it_reaches_the_vendor_s_client_as_its_message(tmp_path: Path) -> None:
    async with standing(tmp_path, [HttpError(503, BUSY)]) as gateway:
        error = await gateway.in_thread(lambda: _refused(gateway))
        assert BUSY in error.message


def _refused(gateway: Standing) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as raised:
        ask_chat(gateway, streams=False)
    return raised.value


@pytest.mark.parametrize(
    ("dialect", "provider"), [("responses", "local"), ("messages", "local"), ("chat", "anthropic")]
)
@pytest_twisted.ensureDeferred
async def test_it_reaches_the_client_in_a_stream_that_has_begun(tmp_path: Path, dialect: str, provider: str) -> None:
    broken = ErrorInStream("The engine fell over at http://10.0.0.9:8000/v1", 6, Reply("One two three four five six."))
    async with standing(tmp_path, [broken], provider=provider) as gateway:
        got = await ask(gateway, PATHS[dialect], body_of(dialect))
        assert "The engine fell over at [address]" in got.text
        assert "10.0.0.9" not in got.text


PRIVATE = {
    "connect to http://10.1.2.3:11434/api failed": "connect to [address] failed",
    "dial tcp 192.168.0.7:8000: refused": "dial tcp [address]: refused",
    "no route to fe80::1:2": "no route to [address]",
    "upstream gpu-7.lan:9000 is gone": "upstream [address] is gone",
    "gpu-7.corp.internal does not answer": "[address] does not answer",
    "Incorrect key sk-proj-ab12****wxyz used": "Incorrect key [key] used",
    "Authorization: Bearer abcdef was refused": "Authorization: [key] was refused",
    "api_key=abc123 is no key": "[key] is no key",
    "write to oda@example.org": "write to [address]",
    "organization org-AbC123xyz is over its limit": "organization [key] is over its limit",
    "cannot open /home/oda/models/a.gguf": "cannot open [address]",
    "model requires more system memory (12.3 GiB) than is available (7.9 GiB)": "",
    "The server had an error: (Request ID: req_0123). 3.5 s, at 12:30:05, version 1.2.3": "",
}


@pytest.mark.parametrize("said", PRIVATE)
@pytest_twisted.ensureDeferred
async def test_what_is_the_owner_s_alone_is_left_out(tmp_path: Path, said: str) -> None:
    async with standing(tmp_path, [HttpError(500, said)]) as gateway:
        got = await ask(gateway, PATHS["chat"], body_of("chat"))
        assert f"local failed: {PRIVATE[said] or said}" in got.text


@pytest_twisted.ensureDeferred
async def test_what_the_other_models_said_is_for_the_log(tmp_path: Path) -> None:
    """Of a chain the client hears of the one that may recover, not of the owner's refused keys."""
    fallback: list[tuple[str, list[Step]]] = [("anthropic", [HttpError(401, "the account of Oda is closed")])]
    async with standing(tmp_path, [HttpError(503, BUSY)], fallback=fallback) as gateway:
        got = await ask(gateway, PATHS["chat"], body_of("chat"))
        assert BUSY in got.text
        assert "Oda" not in got.text


@pytest_twisted.ensureDeferred
async def test_a_model_that_is_missing_for_one_program_is_asked_for_another(tmp_path: Path) -> None:
    """A request may name a model of its own, such as that of a tool: the server then has not what this one asked."""
    steps: list[Step] = [HttpError(404, "The model `picture-9` does not exist"), Reply("North."), Reply("South.")]
    async with standing(tmp_path, steps) as gateway:
        keys = {name: key_of(gateway, name) for name in ("laptop", "phone")}
        await gateway.gateway._keys.refresh()

        async def asked(name: str) -> tuple[int, str]:
            got = await ask(gateway, PATHS["chat"], body_of("chat", streams=False), x_api_key=keys[name])
            return got.status, got.text

        assert (await asked("laptop"))[0] == 502
        assert (await asked("laptop"))[0] == 502, "it is not asked for a while"
        status, text = await asked("phone")
        assert (status, "North." in text) == (200, True)
        assert len(gateway.fake.chats) == 2
