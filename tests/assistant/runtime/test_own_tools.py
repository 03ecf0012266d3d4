"""The owner's own tools: where they come from, and one sentence for each that cannot be used."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from pydantic import ConfigDict, Field

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.runtime.build import granted_tools
from mud_assistant.assistant.runtime.own_tools import _OF_THE_WEB, OwnTools, load_tools
from mud_assistant.tools import Arguments, Category, Reach, Registry, Tool, ToolContext
from mud_assistant.tools.verbs import SAY, WORLD_TOOLS
from mud_assistant.tools.web.tools import PAGE_TIMEOUT_SECONDS, open_page_tool, web_search_tool

HUM = """
from mud_assistant.tools.tool import Arguments, Category, Tool

class HumArguments(Arguments):
    tune: str

async def hum(arguments, context):
    return "You hummed it."

HUM = Tool(name="hum", description="Hum.", arguments=HumArguments, category=Category.TERMINAL, execute=hum)
"""


class Whom(Arguments):
    """Whom a tool speaks to."""

    target: str = Field(max_length=80)


async def nothing(arguments: Whom, context: ToolContext) -> str:
    """Do nothing."""
    return ""


NOD = Tool(name="nod", description="Nod.", arguments=Whom, category=Category.TERMINAL, execute=nothing)


@pytest.fixture(autouse=True)
def _a_path_of_its_own() -> Iterator[None]:
    """Forget the modules of a test, and where they were looked for."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("own_", "world")):
            del sys.modules[name]
    invalidate_caches()


def written(folder: Path, **modules: str) -> Path:
    """Write these modules, and return the folder."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    invalidate_caches()
    return folder


def names(own: OwnTools) -> list[str]:
    """The names of the tools that were loaded."""
    return [tool.name for tool in own.tools]


def test_a_module_offers_the_tools_at_its_top_and_none_that_it_only_uses(tmp_path: Path) -> None:
    written(tmp_path, own_hum=f"from mud_assistant.tools.verbs import SAY\n{HUM}")
    own = load_tools(["own_hum"], tmp_path)
    assert (names(own), own.problems) == (["hum"], ())


def test_a_list_in_a_module_says_which_it_offers_and_a_name_takes_one(tmp_path: Path) -> None:
    more = f"{HUM}\nfrom dataclasses import replace\nHOP = replace(HUM, name='hop')\nTOOLS = [HOP]\n"
    written(tmp_path, own_hum=more)
    assert names(load_tools(["own_hum"], tmp_path)) == ["hop"]
    assert names(load_tools(["own_hum:HUM"], tmp_path)) == ["hum"]
    assert names(load_tools(["own_hum", "own_hum:HUM", "own_hum:TOOLS"], tmp_path)) == ["hop", "hum"]


def test_a_folder_is_looked_into_last_so_that_it_hides_nothing_of_ours(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    written(tmp_path, own_hum=HUM)
    assert names(load_tools(["own_hum"], tmp_path)) == ["hum"]
    assert sys.path[-1] == str(tmp_path)


@pytest.mark.parametrize(
    ("value", "loaded"), [("own_pack:HUM", ["hum"]), ("own_pack", ["hum"]), ("own_pack:BOTH", ["hum", "hop"])]
)
def test_an_installed_package_offers_tools_by_entry_points(tmp_path: Path, value: str, loaded: list[str]) -> None:
    info = tmp_path / "own_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[mud_assistant.tools]\nhum = {value}\n")
    both = f"{HUM}\nfrom dataclasses import replace\nBOTH = (HUM, replace(HUM, name='hop'))\n"
    written(tmp_path, own_pack=both if "BOTH" in value else HUM)
    sys.path.insert(0, str(tmp_path))
    invalidate_caches()
    own = load_tools([])
    assert (names(own), own.problems) == (loaded, ())


def test_an_entry_point_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    info = tmp_path / "own_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mud_assistant.tools]\nhum = own_absent:HUM\n")
    sys.path.insert(0, str(tmp_path))
    invalidate_caches()
    (problem,) = load_tools([]).problems
    assert problem == (
        "the entry point hum (own_absent:HUM) cannot be loaded, and its tools are left out: "
        "ModuleNotFoundError: No module named 'own_absent'"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("def broken(:\n    pass", "SyntaxError: "),
        ("raise RuntimeError('no luck\\ntoday')", "RuntimeError: no luck today"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_and_the_rest_is_loaded(tmp_path: Path, text: str, why: str) -> None:
    written(tmp_path, own_bad=text, own_hum=HUM)
    own = load_tools(["own_bad", "own_hum"], tmp_path)
    (problem,) = own.problems
    assert names(own) == ["hum"]
    assert problem.startswith(f"own_bad cannot be loaded, and its tools are left out: {why}")
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "own_bad has no tool: it needs a Tool at its top, or a list TOOLS of them"),
        ("TOOLS = []", "own_bad has no tool: "),
        ("TOOLS = ['hum']", "'hum' of own_bad is left out: it is a str, not a Tool"),
        (
            "from mud_assistant.tools.verbs import SAY\nTOOLS = [SAY]",
            "'say' of own_bad is left out: there is a tool of that name",
        ),
        ("TOOLS = 7", "7 of own_bad is left out: it is an int, not a Tool"),
    ],
)
def test_what_is_no_tool_of_its_own_is_named(tmp_path: Path, text: str, why: str) -> None:
    (problem,) = load_tools(["own_bad"], written(tmp_path, own_bad=text)).problems
    assert problem.startswith(why)


def test_a_name_that_is_taken_is_left_out_whoever_took_it(tmp_path: Path) -> None:
    written(tmp_path, own_hum=HUM, own_other=HUM.replace("Hum.", "Hum louder."))
    own = load_tools(["own_hum", "own_other"], tmp_path)
    assert names(own) == ["hum"]
    assert own.problems == ("'hum' of own_other is left out: there is a tool of that name already",)
    for name in ("page", "execute_command", "web_search", "open_page"):
        assert not load_tools([replace(NOD, name=name)]).tools


def test_the_names_of_the_webs_tools_are_those_that_are_kept_free() -> None:
    nobody: Any = None
    made = web_search_tool(nobody, nobody, PAGE_TIMEOUT_SECONDS), open_page_tool(nobody, nobody, 1, nobody, 1.0)
    assert {tool.name for tool in made} <= set(_OF_THE_WEB)


class Unreadable(Arguments):
    """Arguments that no schema describes."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    thing: Registry


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "Hum Loud"}, "tool name 'Hum Loud': lower-case letters"),
        ({"name": 7}, "its name must be a string"),
        ({"description": ""}, "its description must be a text"),
        ({"arguments": dict}, "its arguments must be a subclass of Arguments"),
        ({"arguments": Whom(target="Anna")}, "its arguments must be a subclass of Arguments"),
        ({"arguments": Unreadable}, "its arguments cannot be described: PydanticInvalidForJsonSchema: "),
        ({"category": "terminal"}, "its category must be one of Category"),
        ({"source": "world"}, "its source must be one of Source"),
        ({"reach": "nobody"}, "its reach must be one of Reach"),
        ({"reach": Reach.CHANNEL}, "its reach channel needs an argument 'channel' that says who hears it"),
        ({"targets": ("whom",)}, "its targets name 'whom', which is none of its arguments"),
        ({"targets": "target"}, "its targets must be a tuple of names"),
        ({"timeout_seconds": 0}, "its timeout_seconds must be above 0"),
        ({"required_permission": 9}, "its required_permission must be from 0 to 5"),
        ({"execute": "nod"}, "its execute must be a function"),
        ({"resolve": "nod"}, "its resolve must be a function"),
    ],
)
def test_a_tool_that_would_fail_in_a_run_is_named_before(changes: dict[str, Any], why: str) -> None:
    own = load_tools([replace(NOD, **changes), NOD])
    assert names(own) == ["nod"]
    (problem,) = own.problems
    assert why in problem


def test_tools_may_be_given_themselves() -> None:
    assert load_tools([NOD, replace(NOD, name="bow", reach=Reach.NEARBY, targets=("target",))]).problems == ()
    assert "not a Tool" in load_tools([7]).problems[0]  # type: ignore[list-item]  # what an owner may write


def test_a_granted_tool_that_was_not_loaded_keeps_nobody_from_living() -> None:
    settings = AssistantConfig(tools=("say", "hum"))
    assert granted_tools(settings, Registry(WORLD_TOOLS, lacks=True)) == {SAY.name}
    with pytest.raises(SettingsError, match="there is no tool 'hum'"):
        granted_tools(settings, Registry(WORLD_TOOLS))
    assert granted_tools(settings, Registry([*WORLD_TOOLS, replace(NOD, name="hum")])) == {"say", "hum"}
