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

import pytest

from llm import UnifiedLLMClient, user
from llm.testing import Call, FakeChat, HttpError, RecordedRequest, Reply, Step, serve
from resilience import HttpExchange, Limits
from tests.live.command import Result, reactor, run
from tools.web.testing.site import FakeSite, serve_site

ROOT = Path(__file__).parents[1]
PACKAGES = ("assistant", "tools", "llm", "resilience")
KEY = "planted-0123456789-key"
#: Each page with the number of its block of Python, and where the block is saved.
PAGES = [
    ("adding-a-provider.md", 0, "llm/providers/example.py"),
    ("adding-a-tool.md", 0, "tools/verbs/hum.py"),
    ("adding-a-tool.md", 2, "tools/verbs/forecast.py"),
]


def printed(page: str, block: int = 0) -> str:
    """A block of Python of the page, by default the first."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    return blocks[block]


def with_a_header_of_its_own() -> str:
    """The provider of the page with the method that the page prints for a key in another header."""
    page = "adding-a-provider.md"
    imports = "from twisted.web.http_headers import Headers\n\nfrom llm"
    return printed(page).replace("from llm", imports, 1) + "\n" + textwrap.indent(printed(page, 1), "    ")


def with_line(path: Path, line: str, before: str) -> None:
    """Add a line to a file, before the first place where `before` stands."""
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, f"{line}\n{before}", 1))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product with the provider and the tool of the pages in it, added as the pages say."""
    folder = tmp_path_factory.mktemp("product")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for page, block, path in PAGES:
        (folder / path).write_text(printed(page, block))
    providers = folder / "llm/providers/__init__.py"
    with_line(providers, '    "example",', ")\n\n\ndef _providers_in")
    tools = folder / "tools/verbs/__init__.py"
    with_line(tools, "from tools.verbs.forecast import FORECAST", "from tools.verbs.handling")
    with_line(tools, "from tools.verbs.hum import HUM", "from tools.verbs.looking")
    tools.write_text(
        tools.read_text().replace("(SAY, LOOK", "(SAY, HUM, LOOK").replace("COMMAND,)", "COMMAND, FORECAST)")
    )
    return folder


def checked(*command: str, folder: Path = ROOT) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [path for _, _, path in PAGES])
def test_ruff_has_nothing_against_what_is_printed(copy: Path, path: str) -> None:
    init = str(Path(path).parent / "__init__.py")
    checked("ruff", "check", "--no-cache", path, init, folder=copy)
    checked("ruff", "format", "--no-cache", "--check", path, init, folder=copy)


def test_the_test_that_is_printed_for_a_tool_passes(copy: Path) -> None:
    (copy / "test_hum.py").write_text(printed("adding-a-tool.md", 1))
    checked("ruff", "check", "--no-cache", "--ignore=D,S101,INP001", "test_hum.py", folder=copy)
    checked("ruff", "format", "--no-cache", "--check", "test_hum.py", folder=copy)
    checked("pytest", "-q", "-p", "no:cacheprovider", "test_hum.py", folder=copy)


def test_the_test_that_is_printed_for_a_provider_passes(copy: Path) -> None:
    test = "tests/llm/providers/test_example.py"
    (copy / test).parent.mkdir(parents=True)
    for file in ("conftest.py", "guards.py", "postgres.py"):
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
    async with server() as (fake, url):
        model = ("--provider", "example", "--url", url, "--model", "sage", "--key", "env:EXAMPLE_API_KEY")
        result = await command(copy, tmp_path, "trial", *model, given="Hello Sage\n")
    assert "Sage hums an old song." in result.out, result
    assert fake.chats[0].authorization == f"Bearer {KEY}"


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
    async with serve(fake, reactor) as url, serve_site(site, reactor) as weather:
        tool = copy / "tools/verbs/forecast.py"
        tool.write_text(printed("adding-a-tool.md", 2).replace("https://weather.example", weather))
        private = '"127.0.0.0/8"' if allowed else ""
        settings = f"[web]\nports = [{weather.rpartition(':')[2]}]\nallow_private = [{private}]\n"
        (tmp_path / "assistant.toml").write_text(settings)
        model = ("--provider", "example", "--url", f"{url}/v1", "--model", "sage", "--key", "env:EXAMPLE_API_KEY")
        result = await command(copy, tmp_path, "trial", *model, given="Sage, what is the weather?\n")
    assert heard in result.out, result
    assert [asked.path for asked in site.requests] == ["/today?place=the+moor"][:allowed]


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
from assistant.config.options import merged, with_option
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
from assistant.worlds.evennia.commands.thinking import parse_change
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
