"""`mud-assistant doctor` as its user runs it, against servers that behave and servers that do not."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from mud_assistant.assistant.exit_status import ExitStatus
from mud_assistant.assistant.journal.files import create
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.testing import (
    Call,
    FakeAnthropic,
    FakeChat,
    FakeOllama,
    Garbage,
    Hang,
    HttpError,
    RecordedRequest,
    Reply,
    Step,
    serve,
)
from mud_assistant.llm.testing.ollama import OllamaModel
from mud_assistant.resilience.testing.fake import Answered
from mud_assistant.tools.web.testing import FakeBrave, FakePerplexity, FakeSearxng, FakeTavily
from tests.live.command import Result, reactor, run
from tests.llm.embeddings.vector_servers import OpenAIVectors, VectorFault

KEY = "planted-0123456789-key"
#: Nothing listens there.
NOWHERE = "http://127.0.0.1:9"
#: A public address, so that no name is looked up to judge it; a fake reader is all that hears of it.
PAGE = "https://93.184.215.14/"
HERE = str(Path(__file__).parents[2])


def greets(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("greet", {"name": "Anna"}),))


async def doctor(folder: Path, settings: str, *arguments: str, key: str = KEY) -> Result:
    """What it says of these settings. The key is in the environment; a proxy of this machine is not used."""
    (folder / "assistant.toml").write_text(settings)
    environment = {"THE_KEY": key, "PYTHONPATH": HERE}
    page = () if "--page" in arguments else ("--page", PAGE)
    result = await run(["doctor", *arguments, *page], b"", environment, folder=str(folder))
    assert KEY not in result.out + result.err
    assert "Traceback" not in result.err
    return result


def wrong(result: Result) -> list[str]:
    """The sentences of what is wrong, and that the exit status agrees."""
    lines = [line.removeprefix("wrong    ") for line in result.out.splitlines() if line.startswith("wrong ")]
    status = ExitStatus.SETTINGS if any(line.startswith("settings") for line in lines) else ExitStatus.FAULT
    assert result.status == (status if lines else 0), result
    return lines


@asynccontextmanager
async def ollama(**models: OllamaModel) -> AsyncIterator[tuple[FakeOllama, str]]:
    fake = FakeOllama(reactor, greets, models or {"sage": OllamaModel()})
    async with serve(fake, reactor) as url:
        yield fake, url


def model(url: str, provider: str = "local", more: str = "model = 'sage'") -> str:
    return f"[model]\nprovider = '{provider}'\nurl = '{url}'\n{more}\n"


async def test_all_is_well(tmp_path: Path) -> None:
    create(tmp_path / "sage.journal", SCHEMA)
    async with ollama() as (fake, url):
        settings = f"{model(url, 'ollama', '')}[journal]\nfile = 'sage.journal'\nmax_bytes = 1048576\n"
        result = await doctor(tmp_path, settings)
        assert len(fake.chats) == 1
    assert wrong(result) == []
    checks = [line.split(": ")[0] for line in result.out.splitlines()]
    names = ["settings", "model key", "model server", "model key accepted", "model name", "model tools"]
    assert checks == [f"ok       {name}" for name in [*names, "model context", "journal", *JOURNAL]]
    assert "8192 tokens are used of the 32768 the model can hold" in result.out


JOURNAL = ["journal durable", "journal room", "memory search"]


async def test_json_is_one_object_for_each_check(tmp_path: Path) -> None:
    async with ollama() as (_, url):
        result = await doctor(tmp_path, model(url, "ollama"), "--json")
    found = [json.loads(line) for line in result.out.splitlines()]
    assert all(set(finding) == {"check", "state", "sentence"} for finding in found)
    assert [finding["check"] for finding in found][:2] == ["settings", "model key"]
    assert result.err == ""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[model\n", "settings: assistant.toml, line 1: "),
        ("[model]\nprovidor = 'x'\n", "settings: assistant.toml, line 2: model.providor: there is no such setting"),
        (f"[model]\nkey = '{KEY}'\n", "a key is given by reference"),
        ("[model]\nprovider = 'skynet'\n", "model key: there is no provider 'skynet'; choose one of: anthropic, auto"),
        (model(NOWHERE, "openai"), "model key: the provider 'openai' needs a key: set model.key"),
        (
            model(NOWHERE, more="key = 'env:NOT_THERE'"),
            "model key: the environment has no NOT_THERE: the program was started without it",
        ),
        (model(NOWHERE, more="key = 'file:keys/x'"), "make it, with the key as its only line"),
        (model(NOWHERE, "ollama"), f"model server: cannot connect to {NOWHERE}: Connection refused; start it with"),
        (model(NOWHERE, "anthropic", "key = 'env:THE_KEY'"), "Connection refused; check the connection"),
        ("[model]\nprovider = 'local'\n", "model server: the provider 'local' needs the address of the server"),
        ("[model]\nprovider = 'embedded'\nmodel = 'not.gguf'\n", "model file: there is no model file not.gguf"),
    ],
)
async def test_what_is_wrong_before_anything_answers(tmp_path: Path, settings: str, said: str) -> None:
    (told,) = wrong(await doctor(tmp_path, settings))
    assert said in told


async def test_the_rest_is_skipped_and_said_to_be(tmp_path: Path) -> None:
    result = await doctor(tmp_path, model(NOWHERE, "ollama"))
    assert result.out.count("skipped  model ") == 4
    assert "ok       journal: none is kept" in result.out


async def test_no_ollama_that_has_such_a_model(tmp_path: Path) -> None:
    async with ollama(sage=OllamaModel(), owl=OllamaModel()) as (_, url):
        (told,) = wrong(await doctor(tmp_path, model(url, "ollama", "model = 'cat'")))
    assert told == "model name: the server has no model 'cat'; set model.model to one of: sage:latest, owl:latest"


async def test_an_ollama_without_any_model(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, greets, {}), reactor) as url:
        (told,) = wrong(await doctor(tmp_path, model(url, "ollama", "")))
    assert told.endswith("has no model: run 'ollama pull qwen3:4b' or another")


async def test_the_model_that_knows_tools_is_the_one_that_is_asked(tmp_path: Path) -> None:
    models = {"poet": OllamaModel(("completion",)), "sage": OllamaModel()}
    async with ollama(**models) as (fake, url):
        result = await doctor(tmp_path, model(url, "auto", ""))
    assert [request.model for request in fake.chats] == ["sage:latest"]
    assert "none is named, so it is sage:latest" in result.out


async def test_a_context_that_the_model_cannot_hold(tmp_path: Path) -> None:
    async with ollama(sage=OllamaModel(context_length=2048)) as (_, url):
        (told,) = wrong(await doctor(tmp_path, model(url, "ollama")))
    assert told == "model context: the model holds 2048 tokens and model.context_tokens is 8192: set it to 2048"


class Telling(FakeChat):
    """A server that says in its list how much the model holds."""

    entry: Mapping[str, JSON] = {}

    def answer(self, request: RecordedRequest) -> Answered:
        if request.path == "/v1/models":
            return self.json({"data": [{"id": "owl", "max_model_len": 1}, {"id": "sage", **self.entry}]})
        return super().answer(request)


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"max_model_len": 4096}, "wrong"),
        ({"context_length": 4096}, "wrong"),
        ({"context_window": 8192}, "ok"),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 32768}}, "wrong"),
        ({"meta": {"n_ctx_train": 32768}}, "ok"),
        ({"meta": None, "max_model_len": "many"}, "unknown"),
    ],
)
async def test_what_a_list_says_of_the_context_is_heeded(tmp_path: Path, entry: Mapping[str, JSON], state: str) -> None:
    fake = Telling(reactor, greets)
    fake.entry = entry
    async with serve(fake, reactor) as url:
        result = await doctor(tmp_path, model(f"{url}/v1"), "--json")
    (found,) = [json.loads(line) for line in result.out.splitlines() if '"model context"' in line]
    assert found["state"] == state


@pytest.mark.parametrize("key", ["", "key = 'env:THE_KEY'"])
async def test_a_server_that_refuses_the_key_or_wants_one(tmp_path: Path, key: str) -> None:
    async with serve(FakeChat(reactor, greets, "another key"), reactor) as url:
        (told,) = wrong(await doctor(tmp_path, model(f"{url}/v1", more=f"model = 'sage'\n{key}")))
    if key:
        assert told == f"model key accepted: {url}/v1 refuses the key of env:THE_KEY: put the right one there"
    else:
        assert told.startswith(f"model key accepted: {url}/v1 wants a key: set model.key to env:NAME")


async def test_anthropics_own_server_is_asked_in_its_own_way(tmp_path: Path) -> None:
    async with serve(FakeAnthropic(reactor, greets, KEY), reactor) as url:
        result = await doctor(tmp_path, model(url, "anthropic", "model = 'sage'\nkey = 'env:THE_KEY'"))
    assert wrong(result) == []
    assert f"model key accepted: {url} takes it" in result.out


ANSWERS: dict[str, tuple[Step, str]] = {
    "words": (Reply("Hello Anna!"), "sage was asked to call a tool and did not: choose a larger model"),
    "an error": (HttpError(500), "sage was asked a question and failed: the model fell over"),
    "no credit": (HttpError(402, "insufficient credits"), "has no credit"),
    "no protocol": (Garbage(), "sage was asked a question and failed: "),
    "the key": (HttpError(500, f"what is {KEY}?"), "failed: what is [key]?"),
    "silence": (Hang(), "sage was asked a question and failed: "),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_model_that_does_not_do_what_it_is_asked(tmp_path: Path, name: str) -> None:
    step, said = ANSWERS[name]
    async with serve(FakeChat(reactor, lambda _: step, KEY), reactor) as url:
        more = "model = 'sage'\nkey = 'env:THE_KEY'\nfirst_byte_seconds = 1"
        (told,) = wrong(await doctor(tmp_path, model(f"{url}/v1", more=more)))
    assert said in told


async def test_what_is_no_model_server(tmp_path: Path) -> None:
    async with serve(FakeSearxng(reactor), reactor) as url:
        (told,) = wrong(await doctor(tmp_path, model(url, "ollama")))
        assert told == f"model server: what answers at {url} is no Ollama: see model.url"


async def test_what_speaks_openais_api_is_no_ollama_and_the_doctor_says_which_provider_it_takes(tmp_path: Path) -> None:
    async with serve(FakeChat(reactor, [], models=["sage"]), reactor) as url:
        (told,) = wrong(await doctor(tmp_path, model(url, "ollama")))
    assert told.startswith(
        f"model server: the server at {url} is no Ollama, it speaks OpenAI's API: choose the provider"
    )
    (told,) = wrong(await doctor(tmp_path, model("https://api.openai.com/v1", "ollama")))
    assert told.startswith("model server: https://api.openai.com is the address of the provider 'openai' and no Oll")


async def test_a_fallback_is_looked_at_too(tmp_path: Path) -> None:
    async with ollama() as (_, url):
        settings = f"{model(url, 'ollama')}[[fallback]]\nprovider = 'local'\nurl = '{NOWHERE}'\n"
        (told,) = wrong(await doctor(tmp_path, settings))
    assert told.startswith(f"fallback[0] server: cannot connect to {NOWHERE}")


@pytest.mark.parametrize(
    ("file", "more", "said"),
    [
        ("diary", "", "cannot be read as a journal: it is not a database; name another file in journal.file"),
        ("diary/sage", "", "nothing can be written in"),
        ("sage", "max_bytes = 1000000000000000000", "make room, or lower journal.max_bytes"),
    ],
)
async def test_a_journal_that_cannot_be_used(tmp_path: Path, file: str, more: str, said: str) -> None:
    (tmp_path / "diary").write_text("Dear diary")
    async with ollama() as (_, url):
        settings = f"{model(url, 'ollama')}[journal]\nfile = '{file}'\n{more}\n"
        told = wrong(await doctor(tmp_path, settings))
    assert said in told[0]


async def test_a_key_that_was_given_for_another_server(tmp_path: Path) -> None:
    create(tmp_path / "sage", SCHEMA)
    with closing(sqlite3.connect(tmp_path / "sage")) as db, db:
        db.execute("INSERT INTO key_bindings VALUES ('env:THE_KEY', 'https://elsewhere.example:443', 1.0)")
    fake = FakeChat(reactor, greets, KEY)
    async with serve(fake, reactor) as url:
        settings = model(f"{url}/v1", more="key = 'env:THE_KEY'") + "[journal]\nfile = 'sage'\n"
        (told,) = wrong(await doctor(tmp_path, settings))
    assert fake.requests == []
    assert told.startswith("model key: the key env:THE_KEY was given for https://elsewhere.example")


def web(url: str, name: str, search: str = "", key: str = "key = 'env:THE_KEY'") -> str:
    return (
        f"[web]\nsearch_provider = ['{search or name}']\nread_provider = ['tavily']\n"
        f"[web.providers.{name}]\nurl = '{url}'\n{key}\n"
    )


SERVICES = {
    "searxng": (FakeSearxng, "searxng answers no JSON (403): JSON is off: add json to search.formats in settings.yml"),
    "brave": (FakeBrave, "search brave: brave refused the key (401)"),
    "perplexity": (FakePerplexity, "search perplexity: perplexity refused the key (401)"),
    "tavily": (FakeTavily, "search tavily: tavily has no quota left (432)"),
}
FAULTS = {"searxng": "json-off", "brave": "auth", "perplexity": "auth", "tavily": "plan-used-up"}


@pytest.mark.parametrize("name", SERVICES)
async def test_each_search_provider_is_asked(tmp_path: Path, name: str) -> None:
    service = SERVICES[name][0](reactor, key=KEY)
    tavily = FakeTavily(reactor, key=KEY)
    tavily.pages = {PAGE: "# A page\n\nwith text"}
    if isinstance(service, FakeTavily):
        tavily = service
        service.pages = {PAGE: "# A page\n\nwith text"}
    async with ollama() as (_, at), serve(service, reactor) as url, serve(tavily, reactor) as reader:
        settings = model(at, "ollama") + web(url, name)
        if name != "tavily":
            settings += f"[web.providers.tavily]\nurl = '{reader}'\nkey = 'env:THE_KEY'\n"
        result = await doctor(tmp_path, settings, "--web", "--page", PAGE)
    assert wrong(result) == []
    assert f"search {name}: {name} answers: 3 results for 'Wikipedia encyclopedia'" in result.out
    assert f"read tavily: tavily reads {PAGE}: " in result.out


@pytest.mark.parametrize("name", SERVICES)
async def test_what_is_wrong_with_a_search_provider_is_one_sentence(tmp_path: Path, name: str) -> None:
    make, said = SERVICES[name]
    service = make(reactor)
    service.fail(FAULTS[name], times=1)
    tavily = FakeTavily(reactor)
    if isinstance(service, FakeTavily):
        tavily = service
    tavily.pages = {PAGE: "An example."}
    async with ollama() as (_, at), serve(service, reactor) as url, serve(tavily, reactor) as reader:
        settings = model(at, "ollama") + web(url, name)
        if name != "tavily":
            settings += f"[web.providers.tavily]\nurl = '{reader}'\n"
        (told,) = wrong(await doctor(tmp_path, settings, "--web"))
    assert said in told


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("", "web: the web is not set up: set web.search_provider"),
        (web(NOWHERE, "tavily"), "tavily could not be reached: "),
        (web(NOWHERE, "tavily", key="key = 'env:NOT_THERE'"), "key tavily: the environment has no NOT_THERE"),
        (web(NOWHERE, "tavily", "brave"), "search brave: brave needs a key: see web.providers.brave"),
        (
            web(NOWHERE, "tavily", "searxng"),
            "searxng needs the address (url) of your server: see web.providers.searxng",
        ),
    ],
)
async def test_what_is_wrong_with_the_web_settings(tmp_path: Path, settings: str, said: str) -> None:
    async with ollama() as (_, at):
        told = wrong(await doctor(tmp_path, model(at, "ollama") + settings, "--web"))
    assert said in "\n".join(told)


async def test_the_help_teaches() -> None:
    for command, words in (("doctor", "doctor --web --page"), ("setup", "one answer a line")):
        result = await run([command, "--help"], b"")
        assert words in result.out
        assert "Exit status" in result.out


async def test_vectors_are_made_and_their_length_is_told(tmp_path: Path) -> None:
    fake = OpenAIVectors(reactor, key=KEY)
    async with ollama() as (_, at), serve(fake, reactor) as url:
        memory = f"[memory]\nvectors = 'openai'\nvectors_url = '{url}/v1'\nvectors_model = 'm'\n"
        good = await doctor(tmp_path, f"{model(at, 'ollama')}{memory}vectors_key = 'env:THE_KEY'\n")
        refused = wrong(await doctor(tmp_path, model(at, "ollama") + memory))
        fake.vectors.steps.append(VectorFault.ZEROS)
        zeros = wrong(await doctor(tmp_path, f"{model(at, 'ollama')}{memory}vectors_key = 'env:THE_KEY'\n"))
    assert "ok       memory vectors: m makes vectors of 64 numbers" in good.out
    assert "see memory.vectors_key" in "\n".join(refused)
    assert "zeros" in "\n".join(zeros)


async def test_a_server_of_vectors_that_is_down_is_told(tmp_path: Path) -> None:
    async with ollama() as (_, at):
        memory = f"[memory]\nvectors = 'ollama'\nvectors_url = '{NOWHERE}'\nvectors_model = 'm'\n"
        (said,) = wrong(await doctor(tmp_path, model(at, "ollama") + memory))
    assert "memory vectors" in said
    assert "start its server, or see memory.vectors_url" in said
