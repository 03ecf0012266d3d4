"""What a settings file says of a model, in the bytes that reach its server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.llm.testing import (
    Call,
    FakeAnthropic,
    FakeChat,
    FakeOllama,
    FakeServer,
    HttpError,
    RecordedRequest,
    RefuseTools,
    Reply,
    Step,
    serve,
)
from tests.live.command import Result, reactor, run

KEY = "planted-0123456789-key"
TOKEN = "planted-9876543210-token"
HERE = str(Path(__file__).parents[2])
ENVIRONMENT = {"THE_KEY": KEY, "WIKI_TOKEN": TOKEN, "PYTHONPATH": HERE}
CLAUDE = "[model]\nprovider = 'anthropic'\nurl = 'URL'\nmodel = 'sage'\nkey = 'env:THE_KEY'\n"
LOCAL = "[model]\nprovider = 'local'\nurl = 'URL/v1'\nmodel = 'sage'\n"


def says(request: RecordedRequest) -> Step:
    """A greeting, by whatever tool there is for it."""
    if any("greet" in str(tool) for tool in request.tools):
        return Reply(calls=(Call("greet", {"name": "Anna"}),))
    return Reply(calls=(Call("say", {"text": "I am Sage."}),))


async def command(folder: Path, url: str, settings: str, *arguments: str, given: bytes = b"") -> Result:
    (folder / "assistant.toml").write_text(settings.replace("URL", url))
    result = await run(list(arguments), given, ENVIRONMENT, folder=str(folder))
    assert "Traceback" not in result.err
    assert KEY not in result.out + result.err
    assert TOKEN not in result.out + result.err
    return result


async def asked(folder: Path, fake: FakeServer, settings: str) -> RecordedRequest:
    """The request for the answer to one line of a trial."""
    async with serve(fake, reactor) as url:
        result = await command(folder, url, settings, "trial", given=b"Hello Sage\n")
    assert "I am Sage." in result.out, result
    return fake.chats[0]


async def test_anthropics_server_tools_by_name_and_in_full_beside_the_characters_own(tmp_path: Path) -> None:
    tools = "server_tools = ['web_search', 'web_fetch', { type = 'code_execution_20260521', name = 'code_execution' }]"
    request = await asked(tmp_path, FakeAnthropic(reactor, says, KEY), f"{CLAUDE}{tools}")
    own = [tool["name"] for tool in request.tools if "input_schema" in tool]
    assert "say" in own
    assert request.tools[len(own) :][:2] == [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
    ]
    assert request.tools[-1]["type"] == "code_execution_20260521"
    assert request.headers["anthropic-beta"] == "web-fetch-2025-09-10"


async def test_anthropics_headers_and_thinking(tmp_path: Path) -> None:
    more = "betas = ['one', 'two']\napi_version = '2026-10-21'\nthink = true\nthinking_tokens = 1500\n"
    request = await asked(tmp_path, FakeAnthropic(reactor, says, KEY), CLAUDE + more)
    assert request.headers["anthropic-beta"] == "one,two"
    assert request.headers["anthropic-version"] == "2026-10-21"
    assert request.body["thinking"] == {"type": "enabled", "budget_tokens": 1500}


async def test_an_mcp_server_with_its_key_by_reference(tmp_path: Path) -> None:
    more = """
[[model.extra_params.mcp_servers]]
type = "url"
url = "https://mcp.example/sse"
name = "wiki"
authorization_token = "env:WIKI_TOKEN"
"""
    request = await asked(tmp_path, FakeAnthropic(reactor, says, KEY), CLAUDE + more)
    servers: Any = request.body["mcp_servers"]
    assert servers[0]["authorization_token"] == TOKEN
    assert request.headers["anthropic-beta"] == "mcp-client-2025-11-20"


async def test_a_written_out_key_of_an_mcp_server_is_refused_and_not_repeated(tmp_path: Path) -> None:
    more = f"extra_params = {{ mcp_servers = [{{ name = 'wiki', authorization_token = '{TOKEN}' }}] }}\n"
    result = await command(tmp_path, "http://127.0.0.1:9", CLAUDE + more, "doctor")
    assert "model.extra_params: a key is given by reference" in result.out


async def test_extra_params_are_added_to_what_is_sent(tmp_path: Path) -> None:
    more = "[model.extra_params]\ntop_p = 0.5\nstream_options = { include_obfuscation = false }\n"
    settings = f"{LOCAL}{more}tools = [{{ type = 'oracle' }}]\n"
    request = await asked(tmp_path, FakeChat(reactor, says), settings)
    assert request.body["top_p"] == 0.5
    assert request.body["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert [tool["type"] for tool in request.tools[-2:]] == ["function", "oracle"]


async def test_openai_bills_whom_the_settings_name(tmp_path: Path) -> None:
    more = "key = 'env:THE_KEY'\norganization = 'org-hamlet'\nproject = 'proj_sage'\n"
    request = await asked(tmp_path, FakeChat(reactor, says, KEY), LOCAL.replace("local", "openai") + more)
    assert request.headers["openai-organization"] == "org-hamlet"
    assert request.headers["openai-project"] == "proj_sage"


async def test_openrouter_is_told_the_name_of_the_game(tmp_path: Path) -> None:
    more = "key = 'env:THE_KEY'\nreferer = 'https://hamlet.example'\ntitle = 'The hamlet'\n"
    request = await asked(tmp_path, FakeChat(reactor, says, KEY), LOCAL.replace("local", "openrouter") + more)
    assert request.headers["http-referer"] == "https://hamlet.example"
    assert request.headers["x-openrouter-title"] == "The hamlet"


@pytest.mark.parametrize(("written", "sent"), [("'1h30m'", "1h30m"), ("-1", -1), ("'-1'", -1), ("''", "10m")])
async def test_how_long_ollama_keeps_the_model(tmp_path: Path, written: str, sent: object) -> None:
    settings = f"[model]\nprovider = 'ollama'\nurl = 'URL'\nkeep_alive = {written}\ncontext_tokens = 4096\n"
    request = await asked(tmp_path, FakeOllama(reactor, says), settings)
    options: Any = request.body["options"]
    assert (request.body["keep_alive"], options["num_ctx"]) == (sent, 4096)


async def test_a_fallback_is_asked_as_its_own_settings_say(tmp_path: Path) -> None:
    async with serve(FakeChat(reactor, lambda _: HttpError(500)), reactor) as elsewhere:
        first = f"[model]\nprovider = 'local'\nurl = '{elsewhere}/v1'\nmodel = 'x'\nmax_attempts = 1\n"
        settings = first + CLAUDE.replace("[model]", "[[fallback]]") + "server_tools = 'web_search'\n"
        request = await asked(tmp_path, FakeAnthropic(reactor, says, KEY), settings)
    assert request.tools[-1]["name"] == "web_search"


def calls_in_text(request: RecordedRequest) -> Step:
    return RefuseTools(Reply('{"tool": "say", "parameters": {"text": "I am Sage."}}'))


@pytest.mark.parametrize(
    ("structured", "chat", "ollama"),
    [("auto", "json_schema", dict), ("schema", "json_schema", dict), ("json", "json_object", str), ("off", None, None)],
)
async def test_how_calls_that_come_as_text_are_held(
    tmp_path: Path, structured: str, chat: str | None, ollama: type | None
) -> None:
    more = f"structured = '{structured}'\n"
    fake = FakeChat(reactor, calls_in_text)
    await asked(tmp_path, fake, LOCAL + more)
    form: Any = fake.chats[-1].body.get("response_format")
    assert (form and form["type"]) == chat
    assert "Answer with one JSON object" in str(fake.chats[-1].messages[0]["content"])
    other = FakeOllama(reactor, calls_in_text)
    await asked(tmp_path, other, f"[model]\nprovider = 'ollama'\nurl = 'URL'\nmodel = 'sage'\n{more}")
    native = other.chats[-1].body.get("format")
    assert native is None if ollama is None else isinstance(native, ollama)


@pytest.mark.parametrize(
    ("option", "provider", "said"),
    [
        ("keep_alive = '1h'", "local", "does not take it; those that do: auto, ollama"),
        ("server_tools = ['web_search']", "openai", "does not take it; those that do: anthropic"),
        ("organization = 'x'", "anthropic", "does not take it; those that do: openai"),
        ("betas = ['x']", "ollama", "does not take it; those that do: anthropic"),
        ("title = 'x'", "openai", "does not take it; those that do: openrouter"),
        ("structured = 'json'", "anthropic", "has no such mode 'json'; those that do: auto, embedded, ollama, local"),
        ("server_tools = ['oracle']", "anthropic", "is no server tool 'oracle'; give one of web_search, web_fetch"),
        ("extra_params = { messages = [] }", "local", "'messages' is set by the program and cannot be replaced"),
        ('organization = "a\\nb"', "openai", "one line of at most 200 plain characters"),
    ],
)
async def test_an_option_that_cannot_be_is_told_with_its_line(
    tmp_path: Path, option: str, provider: str, said: str
) -> None:
    result = await command(tmp_path, "", f"[model]\nprovider = '{provider}'\n{option}\n", "trial")
    assert result.status == 2
    assert f"assistant.toml, line 3: model.{option.partition(' ')[0]}: " in result.err
    assert said in result.err


async def test_another_provider_on_the_command_line_leaves_the_options_of_the_old_one(tmp_path: Path) -> None:
    fake = FakeChat(reactor, says)
    async with serve(fake, reactor) as url:
        settings = "[model]\nprovider = 'ollama'\nkeep_alive = '1h'\ntemperature = 0.5\n"
        arguments = ("trial", "--provider", "local", "--url", f"{url}/v1")
        result = await command(tmp_path, url, settings, *arguments, given=b"Hello Sage\n")
    assert "I am Sage." in result.out, result
    assert fake.chats[0].body["temperature"] == 0.5
    assert "keep_alive" not in fake.chats[0].body


async def test_the_doctor_says_that_the_options_are_taken_or_which_is_refused(tmp_path: Path) -> None:
    def picky(request: RecordedRequest) -> Step:
        return HttpError(400, "oracle: unknown tool type") if "oracle" in str(request.tools) else says(request)

    more = "server_tools = [{ type = 'oracle' }]\nextra_params = { top_k = 3 }\n"
    async with serve(FakeAnthropic(reactor, says, KEY), reactor) as url:
        result = await command(tmp_path, url, CLAUDE + more, "doctor")
        assert "ok       model options: the server takes extra_params, server_tools" in result.out
        assert result.status == 0
    async with serve(FakeAnthropic(reactor, picky, KEY), reactor) as url:
        result = await command(tmp_path, url, CLAUDE + more, "doctor")
    refused = "model options: the server refuses the request with model.server_tools: oracle: unknown tool type"
    assert f"wrong    {refused}" in result.out
    assert "ok       model tools: sage calls tools" in result.out


async def test_setup_asks_for_the_options_of_the_provider_when_it_is_asked_to(tmp_path: Path) -> None:
    fake = FakeAnthropic(reactor, says, KEY)
    async with serve(fake, reactor) as url:
        model = ("anthropic", url, "env", "THE_KEY", "sage")
        options = ("web_search, web_fetch", "none", "", "", "")
        answers = "".join(f"{answer}\n" for answer in (*model, "no", "none", "more", *options, "yes"))
        result = await run(["setup"], answers.encode(), ENVIRONMENT, folder=str(tmp_path))
    assert result.status == 0, result
    assert 'server_tools = ["web_search", "web_fetch"]' in (tmp_path / "assistant.toml").read_text()
    assert "ok       model options: the server takes server_tools" in result.out
    assert [tool.get("type") for tool in fake.chats[-1].tools][1:] == ["web_search_20250305", "web_fetch_20250910"]


async def test_setup_takes_out_what_another_provider_does_not_take(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text("[model]\nprovider = 'ollama'\nkeep_alive = '1h'\nthink = false\n")
    async with serve(FakeChat(reactor, says), reactor) as url:
        answers = "".join(f"{a}\n" for a in ("yes", "local", f"{url}/v1", "no", "sage", "no", "none", "more", "yes"))
        result = await run(["setup"], answers.encode(), ENVIRONMENT, folder=str(tmp_path))
    assert result.status == 0, result
    text = (tmp_path / "assistant.toml").read_text()
    assert "keep_alive" not in text
    assert "think = false" in text
    assert "'local' has no options of its own" in result.out
