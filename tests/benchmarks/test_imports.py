"""What a fresh process loads: as much as its settings need, and no more. Exact, so it fails before a benchmark does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = "mud_assistant.assistant"
CORE = (
    "import mud_assistant.assistant.runtime.build, mud_assistant.assistant.runtime.storage, mud_assistant.tools.verbs"
)
READY = "import benchmarks.ready; benchmarks.ready.one_assistant()"
TRIAL = "import mud_assistant.assistant.surfaces.trial.run"
GAME = "import mud_assistant.assistant.service.service"
NO_WEB = (
    "concurrent.futures.thread",
    "hyperlink",
    "mud_assistant.tools.web.registry",
    "mud_assistant.tools.web.fetch.url",
    "mud_assistant.assistant.web.web",
)
#: What no process needs before somebody asks for it, beyond what Twisted loads by itself (OpenSSL and asyncio today).
NEVER = (
    "OpenSSL",
    "aiohttp",
    "asyncio",
    "cryptography",
    "django",
    "evennia",
    "html_to_markdown",
    "keyring",
    "lxml",
    "multiprocessing",
    "prompt_toolkit",
    "service_identity",
    "trafilatura",
    "treq",
)


def printed(code: str, folder: Path = ROOT) -> list[str]:
    """The words that a fresh process prints."""
    told = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return told.stdout.split()


def loaded(code: str) -> set[str]:
    """The modules of a fresh process that ran `code`, beyond those that bare Twisted with its web client has."""
    bare = "import sys, twisted.internet.reactor, twisted.web.client; before = set(sys.modules)\n"
    return set(printed(f"{bare}{code}\nprint(*(set(sys.modules) - before))"))


@pytest.mark.parametrize("code", [CORE, READY, TRIAL, GAME], ids=["core", "ready", "trial", "game"])
def test_what_the_settings_do_not_ask_for_is_not_loaded(code: str) -> None:
    assert loaded(code) & {*NEVER, *NO_WEB} == set()


def test_a_game_with_the_web_has_loaded_it_before_anybody_plays() -> None:
    settings = f"from {OURS}.config.schema import WebConfig\nfrom {OURS}.web.shared import load_web\n"
    assert loaded(f"{settings}load_web(WebConfig(search_provider='duckduckgo'))") >= {
        "mud_assistant.assistant.web.web",
        *NO_WEB,
    }


def test_a_key_for_the_web_is_enough_to_load_it() -> None:
    settings = f"from {OURS}.config.schema import WebConfig\nfrom {OURS}.web.shared import load_web\n"
    assert "mud_assistant.tools.web.registry" in loaded(
        f"{settings}load_web(WebConfig(providers={{'brave': {{'key': 'env:K'}}}}))"
    )


OPENED = """
from pathlib import Path
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import react
import mud_assistant.assistant.service.service, mud_assistant.assistant.surfaces.trial.run
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.runtime.storage import JournalFile

async def live(reactor):
    file = JournalFile(Path("journal"), reactor, lambda: 1.0, JournalConfig(file="journal"))
    await file.open()
    storage = await file.storage_of("sage", 5)
    run = await storage.journal.open_run(await storage.journal.pending())
    await file.close()
    assert run == "run-1"

try:
    react(lambda reactor: Deferred.fromCoroutine(live(reactor)), ())
except SystemExit as over:
    assert not over.code
"""


def test_a_journal_in_a_file_loads_nothing_of_postgresql(tmp_path: Path) -> None:
    told = printed(f"{OPENED}\nimport sys; print(*sys.modules)", tmp_path)
    assert (tmp_path / "journal").exists()
    assert "mud_assistant.assistant.journal.sqlite.store" in told
    of_postgres = {
        "psycopg",
        "psycopg_binary",
        "mud_assistant.assistant.runtime.sharing.journal",
        "mud_assistant.assistant.runtime.sharing.leases",
    }
    assert [name for name in told if name in of_postgres or "postgres" in name.replace("postgres_url", "")] == []


def test_who_uses_llm_alone_needs_no_pydantic() -> None:
    assert [
        name
        for name in loaded("import mud_assistant.llm, mud_assistant.llm.providers, mud_assistant.llm.modes.structured")
        if name.startswith("pydantic")
    ] == []


def test_one_assistant_made_ready_loads_little_beyond_the_core() -> None:
    """What is put off until an assistant is made would only look like a gain."""
    more = {name for name in loaded(READY) - loaded(CORE) if re.match(r"mud_assistant\.(assistant|llm|tools)", name)}
    assert more == {
        "mud_assistant.assistant.runtime.in_memory",
        "mud_assistant.assistant.runtime.listener",
        "mud_assistant.assistant.worlds",
        "mud_assistant.assistant.worlds.embedded",
        "mud_assistant.assistant.worlds.embedded.world",
        "mud_assistant.assistant.worlds.embedded.commands",
        "mud_assistant.assistant.worlds.embedded.game",
        "mud_assistant.assistant.worlds.embedded.hamlet",
    }


def test_the_collector_works_again_once_the_command_has_loaded_its_modules(tmp_path: Path) -> None:
    code = f"import gc; from {OURS}.__main__ import main; status = main(['trial', '--config', 'nowhere.toml'])"
    assert printed(f"{code}; print(status, gc.isenabled(), gc.get_freeze_count() > 1000)", tmp_path) == [
        "2",
        "True",
        "True",
    ]


def test_what_only_some_owners_need_is_not_in_the_core() -> None:
    """Nor is a pydantic model built that not every assistant has: that costs ten times its definition."""
    base = "from mud_assistant.assistant.config.sections import Settings"
    built = "*(one.__name__ for one in Settings.__subclasses__() if one.__pydantic_complete__)"
    told = set(printed(f"import sys, {CORE.removeprefix('import ')}; {base}; print({built}, '|', *sys.modules)"))
    rare = {"mud_assistant.assistant.memory.sleep.night", "mud_assistant.llm.embedded.fetching.models", "platformdirs"}
    assert told & {*rare, "ModelConfig", "MemoryConfig", "WebConfig", "Config"} == {"ModelConfig"}
