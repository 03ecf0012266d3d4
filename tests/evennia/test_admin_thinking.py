"""The model of an assistant is changed in the game: tried first, kept when it answered, and no key is ever shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.service.operations.operators import InvalidInput
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.commands.thinking import ModelChange, apply_change, parse_change
from mud_assistant.llm.testing import Call, FakeChat, HttpError, Reply, serve
from tests.evennia.office import Office, office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")
KEY = "sk-planted-0123456789abcdef"


def model_of(name: str = "Sage") -> ModelConfig:
    (character,) = [one for one in creation.assistants() if one.key == name]
    return creation.config_of(character).model


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ollama", ModelChange("ollama", "", "")),
        ("OLLAMA qwen3:4b", ModelChange("ollama", "qwen3:4b", "")),
        ("qwen3:4b http://10.0.0.2:11434 ollama", ModelChange("ollama", "qwen3:4b", "http://10.0.0.2:11434")),
        ("openai gpt-5 env:MY_KEY", ModelChange("openai", "gpt-5", "", "env:MY_KEY")),
        ("opena gpt-5", ModelChange("openai", "gpt-5", "")),
        ("openai-r gpt-5", ModelChange("openai-responses", "gpt-5", "")),
        ("anth claude force", ModelChange("anthropic", "claude", "", None, force=True)),
        ("local /x.gguf http://h:1/v1 file:keys/l", ModelChange("local", "/x.gguf", "http://h:1/v1", "file:keys/l")),
    ],
)  # fmt: skip
def test_provider_model_address_and_key_are_told_apart_in_any_order(text: str, wanted: ModelChange) -> None:
    assert parse_change(text) == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Which provider: anthropic, auto"),
        ("opena gpt 5", "Give one model"),
        ("o gpt-5", "'o' is the beginning of ollama, openai, openai-responses, openrouter"),
        ("gpt-5 llama", "There is no provider 'gpt-5'. There are: anthropic"),
        ("local http://a:1/v1 http://b:1/v1", "one address"),
        (f"openai gpt-5 {KEY}", "A key is never typed out here"),
    ],
)
def test_what_cannot_be_meant_is_told_with_the_choices(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refused:
        parse_change(text)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("now", "wanted", "key"),
    [
        ({"provider": "openai", "key": "env:A"}, ModelChange("anthropic", "claude"), ""),
        ({"provider": "openai", "key": "env:A"}, ModelChange("openai", "gpt-5", ""), "env:A"),
        ({"provider": "local", "url": "http://h:1/v1", "key": "env:A"}, ModelChange("local", "", "http://h:2/v1"), ""),
        (
            {"provider": "local", "url": "http://h:1/v1", "key": "env:A"},
            ModelChange("local", "", "http://h:1/v2"),
            "env:A",
        ),
        ({"provider": "openai", "key": "env:A"}, ModelChange("anthropic", "claude", key="env:B"), "env:B"),
        ({"provider": "openai", "key": "env:A"}, ModelChange(model="gpt-6"), "env:A"),
    ],
)  # fmt: skip
def test_a_key_does_not_go_to_another_server_by_itself(now: dict[str, str], wanted: ModelChange, key: str) -> None:
    config = ModelConfig.model_validate(now)
    after = apply_change({"model": dict(now)}, config, wanted)["model"]
    assert after.get("key", config.key) == key


async def test_a_provider_is_tried_and_kept_when_it_answered(tmp_path: Path) -> None:
    old, new = ollama(), ollama()
    async with office(tmp_path) as here, serve(old, reactor) as first, serve(new, reactor) as second:
        await here.sage(first)
        told = await here.orders(f"assistant/provider sage = ollama {second}")
        assert told.startswith("Asking the model that Sage shall think with ...")
        assert f"Kept: Ollama at {second}, model sage:latest: it answered in" in told
        assert model_of().url == second
        (character,) = creation.assistants()
        runner = server.runner_of(character)
        assert runner is not None
        await runner.settled()
        assert runner.models[0].provider.api_url == second


async def test_a_provider_that_does_not_answer_leaves_the_old_one(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        runner = await here.sage(url)
        async with serve(ollama(), reactor) as gone:
            pass
        told = await here.orders(f"assistant/provider Sage = ollama {gone}")
        assert "The old setting stays" in told
        assert "Traceback" not in told
        (character,) = creation.assistants()
        assert (model_of().url, server.runner_of(character)) == (url, runner)


async def test_a_model_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        told = await here.orders("assistant/model Sage = nonesuch")
        assert "has no model 'nonesuch'; it has: sage" in told
        assert model_of().model == "sage"


async def test_with_force_nothing_is_asked(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        assert "Kept without being tried" in await here.orders("assistant/model Sage = later force")
        assert model_of().model == "later"


async def test_what_was_set_while_the_model_was_asked_stays_set(tmp_path: Path) -> None:
    old, new = ollama(), ollama()
    async with office(tmp_path) as here, serve(old, reactor) as first, serve(new, reactor) as second:
        await here.sage(first)
        here.admin.does(f"assistant/provider Sage = ollama {second}")
        assert "kept" in await here.orders("assistant/set Sage/max_steps = 7")
        (character,) = creation.assistants()
        config = creation.config_of(character)
        assert (config.model.url, config.assistant.max_steps) == (second, 7)


async def test_without_a_change_the_provider_and_the_choices_are_shown(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        told = await here.orders("assistant/provider")
        assert f"Sage: provider ollama, model sage, at {url}." in told
        assert "Providers: anthropic, auto, embedded" in told
        assert fake.chats == []


def local(reply: Any = None) -> FakeChat:
    return FakeChat(reactor, lambda _: reply or Reply(calls=(Call("say", {"text": "Yes."}),)), key=KEY)


async def hosted(here: Office, url: str) -> str:
    await here.orders("assistant/create Sage")
    return await here.orders(f"assistant/provider Sage = local sage {url}/v1 env:MY_KEY")


async def test_a_key_is_given_by_reference_and_never_shown(tmp_path: Path) -> None:
    fake = local()
    async with office(tmp_path, environment={"MY_KEY": KEY}) as here, serve(fake, reactor) as url:
        assert "Kept:" in await hosted(here, url)
        assert model_of().key == "env:MY_KEY"
        assert "Sage has the key env:MY_KEY." in await here.orders("assistant/key Sage")
        shown = [await here.orders(f"assistant/{line}") for line in ("status Sage", "show Sage key", "provider Sage")]
        assert KEY not in "".join(shown)


async def test_a_key_given_anew_to_one_that_does_not_run_goes_to_its_new_server_when_it_is_started(
    tmp_path: Path,
) -> None:
    fake = local()
    async with office(tmp_path, environment={"MY_KEY": KEY}) as here, serve(fake, reactor) as url:
        await hosted(here, url)
        await here.settled()
        await here.orders("assistant/stop Sage")
        async with serve(local(), reactor) as other:
            told = await here.orders(f"assistant/provider Sage = local sage {other}/v1 env:MY_KEY force")
            assert "Sage does not run now." in told
            await here.orders("assistant/start Sage")
            await here.settled()
            [runner] = here.service.runners.values()
            assert (runner.trouble, runner.models[0].provider.api_url) == ("", f"{other}/v1")


async def test_of_one_that_does_not_run_the_model_is_tried_all_the_same(tmp_path: Path) -> None:
    fake = local()
    async with office(tmp_path, environment={"MY_KEY": KEY}) as here, serve(fake, reactor) as url:
        await here.orders("assistant/create Sage")
        await here.orders("assistant/stop Sage")
        told = await here.orders(f"assistant/provider Sage = local sage {url}/v1 env:MY_KEY")
        assert "it answered in" in told
        assert "Sage does not run now" in told
        assert model_of().key == "env:MY_KEY"
        assert server.runner_of(creation.assistants()[0]) is None
        await here.orders("assistant/start Sage")
        await here.settled()
        await here.says(here.admin, next(iter(here.service.runners.values())), "Sage, hello")
        assert fake.chats[-1].authorization == f"Bearer {KEY}"


async def test_a_wrong_key_is_not_kept(tmp_path: Path) -> None:
    fake = local()
    keys = {"MY_KEY": KEY, "OTHER": "sk-another-0123456789"}
    async with office(tmp_path, environment=keys) as here, serve(fake, reactor) as url:
        await hosted(here, url)
        told = await here.orders("assistant/key Sage = env:OTHER")
        assert "refused the key" in told
        assert "sk-another" not in told
        assert model_of().key == "env:MY_KEY"


@pytest.mark.parametrize(
    "line", ["key Sage = {}", "provider Sage = openai m {}", "set Sage/model.key = {}", "key Sage = env:{}"]
)
async def test_a_key_itself_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        told = await here.orders("assistant/" + line.format(KEY))
        assert "never typed out here" in told
        assert "replace it at its provider" in told
        assert KEY not in told
        assert KEY not in str(creation.settings_of(creation.assistants()[0]))


async def test_a_new_address_does_not_get_the_old_key(tmp_path: Path) -> None:
    old, new = local(), local()
    async with (
        office(tmp_path, environment={"MY_KEY": KEY}) as here,
        serve(old, reactor) as first,
        serve(new, reactor) as second,
    ):
        await hosted(here, first)
        told = await here.orders(f"assistant/provider Sage = local sage {second}/v1")
        assert "refused the key" in told
        assert "Name the key in the same line" in told
        assert not any(KEY in request.authorization for request in new.requests)
        assert "Kept:" in await here.orders(f"assistant/provider Sage = local sage {second}/v1 env:MY_KEY")
        (character,) = creation.assistants()
        runner = server.runner_of(character)
        assert runner is not None
        await runner.settled()
        assert runner.models[0].provider.api_url == f"{second}/v1"


async def test_what_a_server_says_in_an_error_is_shown_without_the_key(tmp_path: Path) -> None:
    fake = local(HttpError(400, f"bad request with {KEY} |rand red"))
    async with office(tmp_path, environment={"MY_KEY": KEY}) as here, serve(fake, reactor) as url:
        told = await hosted(here, url)
        assert "The old setting stays" in told
        assert KEY not in told


async def test_an_option_of_the_provider_reaches_its_requests(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        assert "model.keep_alive = 1h (kept)" in await here.orders("assistant/set Sage/keep_alive = 1h")
        assert "(kept)" in await here.orders("assistant/set Sage/extra_params = { options = { top_k = 7 } }")
        (character,) = creation.assistants()
        runner = server.runner_of(character)
        assert runner is not None
        await runner.settled()
        await here.says(here.admin, runner, "Hello Sage")
        body: Any = fake.chats[-1].body
        assert (body["keep_alive"], body["options"]["top_k"], body["options"]["num_ctx"]) == ("1h", 7, 8192)
        refused = await here.orders('assistant/set Sage/server_tools = ["web_search"]')
        assert "the provider 'ollama' does not take it; those that do: anthropic" in refused


@pytest.mark.parametrize("where", ["game", "assistant"])
async def test_another_provider_does_not_get_the_options_of_the_old_one(tmp_path: Path, where: str) -> None:
    game = {"model": {"keep_alive": "1h"}} if where == "game" else {}
    fake, other = ollama(), local()
    environment = {"MY_KEY": KEY}
    async with office(tmp_path, settings=game, environment=environment) as here, serve(fake, reactor) as url:
        await here.sage(url)
        if where == "assistant":
            await here.orders("assistant/set Sage/keep_alive = 1h")
        assert model_of().keep_alive == "1h"
        async with serve(other, reactor) as elsewhere:
            told = await here.orders(f"assistant/provider Sage = local sage {elsewhere}/v1 env:MY_KEY")
            assert "Kept" in told
            assert (model_of().provider, model_of().keep_alive) == ("local", None)
        told = await here.orders(f"assistant/provider Sage = ollama sage {url}")
        assert "Kept" in told
        assert model_of().keep_alive == ("1h" if where == "game" else None)
