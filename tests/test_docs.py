"""What the documents show is true of the code."""

from __future__ import annotations

import functools
import re
import tomllib
import types
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.config.gateway import GatewayConfig, GatewayModelConfig
from mud_assistant.assistant.config.schema import AssistantConfig, Config, JournalConfig, ModelConfig
from mud_assistant.assistant.config.sections import MemoryConfig, PageConfig, ToolsConfig, WorkerConfig
from mud_assistant.assistant.config.telemetry import TelemetryConfig
from mud_assistant.assistant.config.world_config import WorldConfig
from mud_assistant.llm import CallOptions
from mud_assistant.tools import Dispatcher, PolicyConfig, Registry, Scene, Status
from mud_assistant.tools.testing import ANNA, RecordingWorld, now, tool_call, tool_context

ROOT = Path(__file__).parents[1]


def block(page: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert found, f"{page} shows no {language}"
    return found.group(1)


def test_the_settings_page_shows_every_setting_with_a_value_it_takes() -> None:
    text = block("settings.md", "toml")
    shown = tomllib.loads(text)
    Config.model_validate(shown)
    assert set(shown["model"]) == set(ModelConfig.model_fields)
    assert set(shown["assistant"]) == set(AssistantConfig.model_fields)
    assert set(shown["journal"]) == set(JournalConfig.model_fields)
    assert set(shown["memory"]) == set(MemoryConfig.model_fields)
    assert set(shown["page"]) == set(PageConfig.model_fields)
    assert set(shown["tools"]) == set(ToolsConfig.model_fields)
    assert set(shown["worker"]) == set(WorkerConfig.model_fields)
    assert set(shown["world"]) == set(WorldConfig.model_fields)
    assert set(shown["telemetry"]) == set(TelemetryConfig.model_fields)
    assert set(shown["gateway"]) == set(GatewayConfig.model_fields)
    own = set(GatewayModelConfig.model_fields) - set(ModelConfig.model_fields)
    assert own <= set(shown["gateway"]["models"]["small"]) <= set(GatewayModelConfig.model_fields)


def test_the_settings_on_the_page_about_failures_are_taken() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/resilience.md").read_text(), re.DOTALL)
    models, budget = (Config.model_validate(tomllib.loads(text)) for text in blocks)
    assert [model.provider for model in models.fallback] == ["openai"]
    assert budget.budget.player.calls == 100


def test_the_tool_on_the_page_works_as_it_stands() -> None:
    module = types.ModuleType("hum")
    exec(block("adding-a-tool.md", "python"), module.__dict__)  # noqa: S102  (the page's own example)
    world = RecordingWorld(Scene("Room", "Bare."))
    dispatcher = Dispatcher(Registry([module.HUM]), PolicyConfig(frozenset({"hum"})), Clock())
    context = tool_context(world, requester=ANNA)
    (done,) = now(Deferred.fromCoroutine(dispatcher.answer_all([tool_call("hum", tune="an old song")], context)))
    assert done.status is Status.DONE
    assert [(act.verb, act.text) for act in world.acts] == [("emote", "hums an old song.")]


def test_the_provider_on_the_page_works_as_it_stands() -> None:
    module = types.ModuleType("example")
    exec(block("adding-a-provider.md", "python"), module.__dict__)  # noqa: S102  (the page's own example)
    provider = module.ExampleProvider(model="m", key="k")
    assert provider.get_api_url() == "https://api.example.org/v1/chat/completions"
    assert b'"model":"m"' in provider.build_request([], [], None, CallOptions())


PAGES = sorted(
    str(path.relative_to(ROOT))
    for folder in (ROOT, ROOT / "docs", ROOT / "changelog.d")
    for path in folder.glob("*.md")
) + sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/decisions").glob("*.md"))
OURS = ("assistant", "tools", "llm", "resilience", "tests", "benchmarks", "scripts", "docs/worlds")
#: Files of a game or of Evennia, and those that a page tells its reader to write.
NOT_OURS = {
    *("settings.py", "server/conf/settings.py", "server/conf/at_initial_setup.py", "commands/default_cmdsets.py"),
    *("world/ai_tools.py", "tools/web/search/example.py", "llm/providers/example.py"),
}


@functools.cache
def tails() -> frozenset[str]:
    """Return every way to name a file of ours by the end of its path: `assistant/loop/react.py`, `react.py`."""
    files = [path.relative_to(ROOT).parts for folder in OURS for path in (ROOT / folder).rglob("*.py")]
    files += [path.relative_to(ROOT).parts for path in (ROOT / "mud_assistant").glob("*.py")]
    return frozenset("/".join(parts[start:]) for parts in files for start in range(len(parts)))


@pytest.mark.parametrize("page", PAGES)
def test_no_link_and_no_file_name_leads_nowhere(page: str) -> None:
    text = (ROOT / page).read_text()
    base = (ROOT / page).parent
    links: list[str] = re.findall(r"\]\(([^)#:]+)\)", text)
    files: list[str] = re.findall(r"(?<![\w./<-])(\w[\w/]*\.py)\b", text)
    folders: list[str] = re.findall(rf"`((?:{'|'.join(OURS)})/[\w/]*/)`", text)
    pages: list[str] = re.findall(r"(?<![\w./])(docs/[\w/-]+\.(?:md|toml))\b", text)
    missing = [link for link in links if not (base / link).exists()]
    missing += [name for name in pages if not (ROOT / name).exists()]
    missing += [name for name in files if name not in tails() | NOT_OURS]
    missing += [name for name in folders if not (ROOT / name).is_dir()]
    assert missing == []


def test_every_page_is_linked_from_another() -> None:
    texts = {page: (ROOT / page).read_text() for page in PAGES if not page.startswith("changelog.d/")}
    linked = {
        str(((ROOT / page).parent / link).resolve().relative_to(ROOT))
        for page, text in texts.items()
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
        if ((ROOT / page).parent / link).resolve() != ROOT / page
    }
    assert {page for page in texts if "decisions/" not in page} - linked - {"README.md", "CHANGELOG.md"} == set()


def test_at_most_eight_direct_dependencies_each_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [re.split(r"[\[>=<]", entry)[0] for entry in project["dependencies"]]
    assert len(names) <= 8
    page = (ROOT / "docs" / "dependencies.md").read_text()
    assert [name for name in names if f"| {name}" not in page] == []
    extras = project["optional-dependencies"].keys() - {"dev"}
    assert [extra for extra in extras if f"xtra `{extra}`" not in page] == []


def test_lock_files_hold_hashes_and_no_addresses() -> None:
    for path in ROOT.glob("*.lock"):
        text = path.read_text()
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")
