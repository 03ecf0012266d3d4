"""What the pages show as a new provider and a new tool passes the checks as printed, and works everywhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.llm import UnifiedLLMClient, user
from mud_assistant.llm.testing import Call, FakeChat, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.resilience import HttpExchange, Limits
from mud_assistant.tools.web.testing.site import FakeSite
from tests.live.command import Result, reactor, run

ROOT = Path(__file__).parents[1]
PACKAGES = ("assistant", "tools", "llm", "resilience")
KEY = "planted-0123456789-key"
#: Each page with the number of its block of Python, and where the block is saved.
PAGES = [
    ("adding-a-provider.md", 0, "llm/providers/example.py"),
    ("adding-a-tool.md", 0, "world/ai_tools.py"),
    ("adding-a-tool.md", 2, "world/weather.py"),
]


def printed(page: str, block: int = 0) -> str:
    """A block of Python of the page, by default the first."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    return blocks[block]


def with_a_header_of_its_own() -> str:
    """The provider of the page with the method that the page prints for a key in another header."""
    page = "adding-a-provider.md"
    imports = "from twisted.web.http_headers import Headers\n\nfrom mud_assistant.llm"
    return (
        printed(page).replace("from mud_assistant.llm", imports, 1) + "\n" + textwrap.indent(printed(page, 1), "    ")
    )


def with_line(path: Path, line: str, before: str) -> None:
    """Add a line to a file, before the first place where `before` stands."""
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, f"{line}\n{before}", 1))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product with the provider of its page in it, and beside it, unchanged by them, the tools of theirs."""
    folder = tmp_path_factory.mktemp("product")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)  # with its byte code, which need not be made again
    shutil.copytree(ROOT / "mud_assistant", folder / "mud_assistant", symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "world").mkdir()
    for page, block, path in PAGES:
        (folder / path).write_text(printed(page, block))
    providers = folder / "llm/providers/__init__.py"
    with_line(providers, '    "example",', ")\n\n\ndef _providers_in")
    return folder


def with_tools(folder: Path, *texts: str, settings: str = "") -> None:
    """Put modules with these tools into a folder of an owner's, and name them in its settings."""
    (folder / "world").mkdir()
    names = [f"tools_{number}" for number, _ in enumerate(texts)]
    for name, text in zip(names, texts, strict=True):
        (folder / "world" / f"{name}.py").write_text(text)
    named = [f"world.{name}" for name in names]
    (folder / "assistant.toml").write_text(f"{settings}[tools]\nmodules = {named}\n")


def checked(*command: str, folder: Path = ROOT) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [path for _, _, path in PAGES])
def test_ruff_has_nothing_against_what_is_printed(copy: Path, path: str) -> None:
    files = [path, *(str(init.relative_to(copy)) for init in (copy / path).parent.glob("__init__.py"))]
    checked("ruff", "check", "--no-cache", "--ignore=INP001", *files, folder=copy)
    checked("ruff", "format", "--no-cache", "--check", *files, folder=copy)


def test_the_test_that_is_printed_for_a_tool_passes(copy: Path) -> None:
    (copy / "test_hum.py").write_text(printed("adding-a-tool.md", 1))
    checked("ruff", "check", "--no-cache", "--ignore=D,S101,INP001", "test_hum.py", folder=copy)
    checked("ruff", "format", "--no-cache", "--check", "test_hum.py", folder=copy)
    checked("pytest", "-q", "-p", "no:cacheprovider", "test_hum.py", folder=copy)


def test_the_test_that_is_printed_for_a_provider_passes(copy: Path) -> None:
    test = "tests/llm/providers/test_example.py"
    (copy / test).parent.mkdir(parents=True)
    for file in ("conftest.py", "effort.py", "guards.py", "postgres.py"):
        shutil.copy(ROOT / "tests" / file, copy / "tests")
    (copy / test).write_text(printed("adding-a-provider.md", 2))
    checked("ruff", "check", "--no-cache", test, folder=copy)
    checked("ruff", "format", "--no-cache", "--check", test, folder=copy)
    checked("pytest", "-q", "-p", "no:cacheprovider", test, folder=copy)


async def test_a_provider_sends_its_key_in_the_header_that_is_printed_and_nowhere_else(copy: Path) -> None:
    (copy / "keyed.py").write_text(with_a_header_of_its_own())
    checked("ruff", "check", "--no-cache", "--ignore=INP001", "keyed.py", folder=copy)
    checked("ruff", "format", "--no-cache", "--check", "keyed.py", folder=copy)
    module = types.ModuleType("keyed")
    exec(with_a_header_of_its_own(), module.__dict__)  # noqa: S102  (the page's own example)

    def answers(request: RecordedRequest) -> Step:
        return Reply("Hello") if request.headers.get("x-example-key") == KEY else HttpError(401, "no key")

    fake, exchange = FakeChat(reactor, answers), HttpExchange(reactor, Limits(2, 5, 5))
    async with serve(fake, reactor) as url:
        provider = module.ExampleProvider(f"{url}/v1", "sage", KEY)
        answer = await UnifiedLLMClient(provider, exchange, reactor).chat_completion([user("Hello")])
        await exchange.close()
    assert (answer.content, fake.chats[0].authorization) == ("Hello", "")
    provider.api_url = "https://elsewhere.example/v1"
    assert KEY not in str(list(provider.build_headers().getAllRawHeaders()))


def test_mypy_has_nothing_against_what_is_printed(tmp_path: Path) -> None:
    """Beside the product as it is, whose types are checked already."""
    texts = {Path(path).name: printed(page, block) for page, block, path in PAGES}
    texts |= {"keyed.py": with_a_header_of_its_own(), "test_example.py": printed("adding-a-provider.md", 2)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in texts]
    checked("mypy", "--follow-imports=silent", f"--cache-dir={ROOT / '.mypy_cache'}", *files)


def test_the_packages_still_point_down(copy: Path) -> None:
    code = (
        "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command(['--no-cache']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def greets(request: RecordedRequest) -> Step:
    if any("greet" in str(tool) for tool in request.tools):
        return Reply(calls=(Call("greet", {"name": "Anna"}),))
    return Reply(calls=(Call("hum", {"tune": "an old song"}),))


@asynccontextmanager
async def server() -> AsyncIterator[tuple[FakeChat, str]]:
    fake = FakeChat(reactor, greets, KEY, models=["owl", "sage"])
    async with serve(fake, reactor) as url:
        yield fake, f"{url}/v1"


async def command(copy: Path, folder: Path, *arguments: str, given: str = "") -> Result:
    environment = {"PYTHONPATH": str(copy), "EXAMPLE_API_KEY": KEY}
    result = await run(list(arguments), given.encode(), environment, folder=str(folder))
    assert "Traceback" not in result.err
    assert KEY not in result.out + result.err
    return result


@pytest.mark.parametrize("arguments", [["--help"], ["trial", "--help"], ["game", "--help"]])
async def test_the_help_names_a_new_provider(copy: Path, tmp_path: Path, arguments: list[str]) -> None:
    result = await command(copy, tmp_path, *arguments)
    assert re.search(r"^  example +Example's models, on the internet, with a key$", result.out, re.MULTILINE)


async def test_a_trial_thinks_with_a_new_provider_and_acts_with_a_new_tool(copy: Path, tmp_path: Path) -> None:
    with_tools(tmp_path, printed("adding-a-tool.md"))
    async with server() as (fake, url):
        model = ("--provider", "example", "--url", url, "--model", "sage", "--key", "env:EXAMPLE_API_KEY")
        result = await command(copy, tmp_path, "trial", *model, given="Hello Sage\n")
    assert "Sage hums an old song." in result.out, result
    assert fake.chats[0].authorization == f"Bearer {KEY}"


STRIKE = """
from mud_assistant.tools.tool import Category, NoArguments, Reach, Tool

async def strike(arguments, context):
    open("struck", "w").close()
    return "You struck the bell."

STRIKE = Tool("strike", "Strike the bell.", NoArguments, Category.DANGEROUS, strike, required_permission=3)
"""


async def told(copy: Path, folder: Path, answer: Call, line: str, *more: str) -> tuple[Result, str, list[Any]]:
    """Say a line in a trial in which the model answers with a call; return what it was told of it, and its tools."""

    def calls(request: RecordedRequest) -> Step:
        return Reply("...") if request.messages[-1]["role"] == "tool" else Reply(calls=(answer,))

    fake = FakeChat(reactor, calls, KEY, models=["sage"])
    async with serve(fake, reactor) as url:
        model = ("--provider", "example", "--url", f"{url}/v1", "--model", "sage", "--key", "env:EXAMPLE_API_KEY")
        result = await command(copy, folder, "trial", *model, *more, given=f"{line}\n")
    answers = [message["content"] for message in fake.chats[-1].messages if message["role"] == "tool"]
    return result, str(answers[-1:]), [tool["function"]["name"] for tool in fake.chats[0].tools]


async def test_what_a_new_tool_requires_is_asked_of_the_player(copy: Path, tmp_path: Path) -> None:
    with_tools(tmp_path, STRIKE, settings="[assistant]\npermission = 5\nworld_text_permission = 3\n")
    _, answer, offered = await told(copy, tmp_path, Call("strike", {}), "Sage, strike the bell")
    assert "strike" in offered
    assert "have asked leave for it" in answer
    assert not (tmp_path / "struck").exists()
    _, answer, _ = await told(copy, tmp_path, Call("strike", {}), "Sage, strike the bell", "--rank", "builder")
    assert "You struck the bell." in answer
    assert (tmp_path / "struck").exists()


async def test_a_new_tool_that_is_not_granted_is_not_offered_and_not_run(copy: Path, tmp_path: Path) -> None:
    with_tools(tmp_path, printed("adding-a-tool.md"), settings="[assistant]\ntools = ['say', 'look']\n")
    result, answer, offered = await told(copy, tmp_path, Call("hum", {"tune": "an old song"}), "Sage, hum")
    assert sorted(offered) == ["look", "say"]
    assert "hums" not in result.out, answer


async def test_a_new_tool_is_not_noticed_by_others_when_it_is_asked_in_private(copy: Path, tmp_path: Path) -> None:
    with_tools(tmp_path, printed("adding-a-tool.md"))
    result, answer, _ = await told(copy, tmp_path, Call("hum", {"tune": "an old song"}), "/whisper hum my secret")
    assert "hums" not in result.out
    assert "in private" in answer


async def test_what_cannot_be_used_is_named_at_the_start_and_the_rest_goes_on(copy: Path, tmp_path: Path) -> None:
    settings = "[assistant]\ntools = ['say', 'hum', 'gone']\n"
    with_tools(tmp_path, printed("adding-a-tool.md"), "import gone_for_good", "TOOLS = ['hop']", settings=settings)
    result, _, offered = await told(copy, tmp_path, Call("hum", {"tune": "an old song"}), "Sage, hum")
    assert "Sage hums an old song." in result.out, result
    assert sorted(offered) == ["hum", "say"]
    broken, no_tool = (line for line in result.err.splitlines() if "left out" in line)
    assert broken.startswith("mud-assistant: world.tools_1 cannot be loaded, and its tools are left out: ")
    assert broken.endswith(": ModuleNotFoundError: No module named 'gone_for_good'.")
    assert no_tool == "mud-assistant: 'hop' of world.tools_2 is left out: it is a str, not a Tool."


async def test_the_doctor_says_which_new_tools_were_loaded_and_which_not(copy: Path, tmp_path: Path) -> None:
    with_tools(tmp_path, printed("adding-a-tool.md"), "import gone_for_good")
    result = await command(copy, tmp_path, "doctor")
    assert "ok       own tools: loaded: hum\n" in result.out
    assert "wrong    own tools: world.tools_1 cannot be loaded, and its tools are left out: Module" in result.out
    assert result.status == 1


async def test_a_run_with_a_new_tool_is_run_again_from_its_journal(copy: Path, tmp_path: Path) -> None:
    with_tools(tmp_path, printed("adding-a-tool.md"))
    journal = ("--journal", "sage.journal")
    await told(copy, tmp_path, Call("hum", {"tune": "an old song"}), "Sage, hum", *journal)
    result = await command(copy, tmp_path, "replay", "sage.journal", "--offline", "--config", "assistant.toml")
    assert result.status == 0, result
    (tmp_path / "world/tools_0.py").write_text("import gone_for_good")
    result = await command(copy, tmp_path, "replay", "sage.journal", "--offline", "--config", "assistant.toml")
    assert "No module named 'gone_for_good'" in result.err
    assert result.status == 1, result


def asks_for_the_weather(request: RecordedRequest) -> Step:
    if request.messages[-1]["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"They tell me: {request.messages[-1]['content']}"}),))
    return Reply(calls=(Call("forecast", {"place": "the moor"}),))


@pytest.mark.parametrize(
    ("allowed", "heard"), [(True, "They tell me: rain till noon"), (False, "The forecast did not come: ")]
)
async def test_a_new_tool_asks_a_server_where_the_owner_allows_it(
    copy: Path, tmp_path: Path, allowed: bool, heard: str
) -> None:
    site, fake = FakeSite(), FakeChat(reactor, asks_for_the_weather, KEY, models=["sage"])
    site.page("/today", '{"text": "rain till noon"}', "application/json")
    async with serve(fake, reactor) as url, serve(site, reactor) as weather:
        private = '"127.0.0.0/8"' if allowed else ""
        settings = f"[web]\nports = [{weather.rpartition(':')[2]}]\nallow_private = [{private}]\n"
        tool = printed("adding-a-tool.md", 2).replace("https://weather.example", weather)
        with_tools(tmp_path, tool, settings=settings)
        model = ("--provider", "example", "--url", f"{url}/v1", "--model", "sage", "--key", "env:EXAMPLE_API_KEY")
        result = await command(copy, tmp_path, "trial", *model, given="Sage, what is the weather?\n")
    assert heard in result.out, result
    assert [asked.target for asked in site.requests] == ["/today?place=the+moor"][:allowed]


async def test_a_new_provider_needs_a_key_and_a_model_like_every_one_on_the_internet(
    copy: Path, tmp_path: Path
) -> None:
    result = await command(copy, tmp_path, "trial", "--provider", "example")
    assert "the provider 'example' needs a key, such as --key env:EXAMPLE_API_KEY" in result.err
    result = await command(copy, tmp_path, "trial", "--provider", "example", "--key", "env:EXAMPLE_API_KEY")
    assert "the provider 'example' needs the name of a model" in result.err
    (tmp_path / "assistant.toml").write_text("[model]\nprovider = 'example'\n[budget.total]\nmoney = 1.0\n")
    result = await command(copy, tmp_path, "trial")
    assert "a budget in money needs the prices of example's model: set model.prices" in result.err
    (tmp_path / "assistant.toml").write_text("[model]\nprovider = 'example'\nkeep_alive = '1h'\n")
    result = await command(copy, tmp_path, "trial")
    assert "the provider 'example' does not take it; those that do: auto, ollama" in result.err


async def test_the_doctor_looks_at_a_new_provider(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text("[model]\nprovider = 'example'\n")
    result = await command(copy, tmp_path, "doctor")
    assert "the provider 'example' needs a key: set model.key, for example to \"env:EXAMPLE_API_KEY\"" in result.out
    async with server() as (_, url):
        settings = f"[model]\nprovider = 'example'\nurl = '{url}'\nmodel = 'sage'\nkey = 'env:EXAMPLE_API_KEY'\n"
        (tmp_path / "assistant.toml").write_text(settings)
        result = await command(copy, tmp_path, "doctor")
    assert result.status == 0, result
    assert "ok       model tools: sage calls tools" in result.out
    (tmp_path / "assistant.toml").write_text("[model]\nprovider = 'exmaple'\n")
    result = await command(copy, tmp_path, "doctor")
    listed = re.search(r"choose one of: ([\w, ]+)", result.out)
    assert listed, result.out
    assert "example" in listed[1].split(", ")


async def test_setup_sets_up_a_new_provider(copy: Path, tmp_path: Path) -> None:
    async with server() as (_, url):
        answers = ("example", url, "env", "", "2", "no", "none", "yes")
        result = await command(copy, tmp_path, "setup", given="".join(f"{answer}\n" for answer in answers))
    assert result.status == 0, result
    assert re.search(r"^  example +Example's models, on the internet, with a key$", result.out, re.MULTILINE)
    model = tomllib.loads((tmp_path / "assistant.toml").read_text())["model"]
    assert model == {"provider": "example", "url": url, "key": "env:EXAMPLE_API_KEY", "model": "sage"}


def test_a_new_provider_is_set_like_any_other_option(copy: Path, tmp_path: Path) -> None:
    """This is what `assistant/set Sage provider = example` does."""
    script = """
from mud_assistant.assistant.config.options import merged, with_option
print(merged(with_option({}, "provider", "example")).model.provider)
"""
    done = in_the_copy(copy, tmp_path, script)
    assert done.stdout.split() == ["example"], done.stderr


def test_the_game_takes_a_new_provider(copy: Path, tmp_path: Path) -> None:
    """This is what `assistant/provider Sage = exa sage env:EXAMPLE_API_KEY` reads."""
    pytest.importorskip("evennia", reason="Evennia is not installed here")
    script = """
import warnings
warnings.simplefilter("ignore")
import django, evennia
django.setup()
evennia._init()
from mud_assistant.assistant.worlds.evennia.commands.thinking import parse_change
change = parse_change("exa sage env:EXAMPLE_API_KEY")
print(change.provider, change.model, change.key)
"""
    done = in_the_copy(copy, tmp_path, script)
    assert done.stdout.split()[-3:] == ["example", "sage", "env:EXAMPLE_API_KEY"], done.stderr


def in_the_copy(copy: Path, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the copy of the product before everything else on its path."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(copy), str(ROOT))),
        "DJANGO_SETTINGS_MODULE": "tests.evennia.game_settings",
    }
    return subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
