"""`mud-assistant trial` after a refusal of a key, a model, a search provider: what mends it is heeded at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.web.testing import FakeTavily, Hit
from tests.live.command import Command, reactor, start
from tests.live.test_trial_with_the_web import results

HELLO = Reply(calls=(Call("say", {"text": "Hello there."}),))
AGAIN = Reply(calls=(Call("say", {"text": "Well met."}),))


def write_key(folder: Path, name: str, key: str) -> None:
    """Put a key into a file that only its owner may read."""
    path = folder / name
    path.touch(mode=0o600)
    path.write_text(key)


def say(command: Command, line: str) -> None:
    transport: Any = command.transport
    transport.write(f"{line}\n".encode())


async def left(command: Command) -> str:
    """All that was printed, when the visitor has left."""
    say(command, "/quit")
    result = await command.ended
    assert result.status == 0, result.err
    assert "Traceback" not in result.out + result.err
    return result.out


async def test_a_key_that_is_put_right_is_used_after_reload(tmp_path: Path) -> None:
    def brain(request: RecordedRequest) -> Step:
        return HELLO if request.authorization == "Bearer right" else HttpError(401, "bad key")

    fake = FakeChat(reactor, brain)
    write_key(tmp_path, "key", "wrong")
    async with serve(fake, reactor) as url:
        model = ["--provider", "local", "--url", url, "--model", "sage", "--key", "file:key"]
        command = start("trial", *model, folder=str(tmp_path))
        say(command, "Sage, hello")
        await command.saw("could not think")
        say(command, "/status")
        await command.saw("the key was refused")
        assert len(fake.chats) == 1
        write_key(tmp_path, "key", "right")
        say(command, "/reload")
        await command.saw('Sage says, "Hello there."')
        out = await left(command)
    assert "type /reload" in out
    assert [request.authorization for request in fake.chats] == ["Bearer wrong", "Bearer right"]
    assert "right" not in out.replace('"Hello', "")


async def test_the_same_key_is_asked_with_once_more_after_reload(tmp_path: Path) -> None:
    steps: list[Step] = [HttpError(401, "not paid yet"), HELLO, AGAIN]
    fake = FakeChat(reactor, lambda _: steps.pop(0))
    write_key(tmp_path, "key", "mine")
    async with serve(fake, reactor) as url:
        model = ["--provider", "local", "--url", url, "--model", "sage", "--key", "file:key"]
        command = start("trial", *model, folder=str(tmp_path))
        say(command, "Sage, hello")
        await command.saw("could not think")
        say(command, "Sage, hello again")
        say(command, "/reload")
        await command.saw('Sage says, "Hello there."')
        await command.saw('Sage says, "Well met."')
        await left(command)
    assert len(fake.chats) == 3


async def test_a_model_that_is_not_there_is_told_in_one_sentence_and_found_after_reload(tmp_path: Path) -> None:
    is_pulled: list[bool] = []

    def brain(request: RecordedRequest) -> Step:
        if not is_pulled:
            return HttpError(404, "model 'sage' not found, try pulling it first")
        return AGAIN if "are you there?" in str(request.messages[-1]) else HELLO

    fake = FakeOllama(reactor, brain)
    async with serve(fake, reactor) as url:
        command = start("trial", "--url", url, "--model", "sage", folder=str(tmp_path))
        say(command, "Sage, hello")
        await command.saw(
            f"the server {url} has no model 'sage'; run 'ollama pull sage' there, or choose another model"
        )
        say(command, "Sage, are you there?")
        say(command, "/status")
        await command.saw("not there (")
        assert len(fake.chats) == 1
        is_pulled.append(True)
        say(command, "/reload")
        await command.saw('Sage says, "Hello there."')
        await command.saw('Sage says, "Well met."')
        await left(command)
    assert len(fake.chats) == 3


async def test_a_search_providers_key_that_is_put_right_is_used_by_itself(tmp_path: Path) -> None:
    def scholar(request: RecordedRequest) -> Step:
        known = results(request)
        if not known:
            return Reply(calls=(Call("web_search", {"query": "old mill"}),))
        found = json.loads(known[0]) if known[0].startswith("{") else {}
        return Reply(calls=(Call("say", {"text": "I found it." if found.get("results") else "I found nothing."}),))

    fake = FakeOllama(reactor, scholar)
    tavily = FakeTavily(reactor, hits=[Hit("The old mill", "https://example.org/mill", "A mill.")], key="right")
    write_key(tmp_path, "tavily", "wrong")
    async with serve(fake, reactor) as url, serve(tavily, reactor) as searching:
        (tmp_path / "assistant.toml").write_text(
            f"[web]\nsearch_provider = 'tavily'\n[web.providers.tavily]\nurl = '{searching}'\nkey = 'file:tavily'\n"
        )
        command = start("trial", "--url", url, "--model", "sage", folder=str(tmp_path))
        for line in ("Sage, search", "Sage, search again"):
            say(command, line)
            await command.saw("I found nothing.", after="" if line == "Sage, search" else "> Sage, search again")
        asked = len(tavily.requests)
        write_key(tmp_path, "tavily", "right")
        say(command, "Sage, search once more")
        await command.saw("I found it.")
        await left(command)
    assert (asked, len(tavily.requests)) == (1, 2)
