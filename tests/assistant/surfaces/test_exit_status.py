"""The exit statuses tell a supervisor whether to begin a program again."""

from __future__ import annotations

import errno
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from twisted.internet.error import CannotListenError

from mud_assistant.assistant.__main__ import main
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import AssistantError, KeyReferenceError
from mud_assistant.assistant.exit_status import ExitStatus, exit_status
from mud_assistant.assistant.journal.errors import HeldElsewhere, JournalRefused, JournalUnreadable, JournalUnwritable
from mud_assistant.assistant.surfaces.serve.standing import PageNotOpened
from mud_assistant.assistant.surfaces.standalone import Standalone, run_standalone
from mud_assistant.assistant.surfaces.worker.run import NameTaken
from tests.assistant.living import reactor
from tests.assistant.surfaces.test_standalone import options_in

ROOT = Path(__file__).parents[3]


def listening(number: int) -> PageNotOpened:
    error = PageNotOpened("the page cannot be opened")
    error.__cause__ = CannotListenError("127.0.0.1", 80, OSError(number, "why"))
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (listening(errno.EADDRINUSE), 75),
        (listening(errno.EACCES), 77),
        (OSError(errno.ENOSPC, "full"), 75),
        (PermissionError(errno.EACCES, "no"), 77),
        (JournalUnwritable("away"), 75),
        (JournalUnreadable("away"), 75),
        (HeldElsewhere("assistant:1", "other", 0.0), 75),
        (NameTaken("taken"), 75),
        (JournalRefused("newer"), 78),
        (KeyReferenceError("no key"), 78),
        (SettingsError("wrong"), 78),
        (AssistantError("no"), 78),
        (ZeroDivisionError(), 1),
    ],
)
def test_an_error_tells_whether_trying_again_helps(error: Exception, status: int) -> None:
    assert exit_status(error) == status


@pytest.mark.parametrize("is_supervised", [True, False])
async def test_only_a_program_that_is_supervised_tells_it(tmp_path: Path, *, is_supervised: bool) -> None:
    async def work(_: Standalone) -> int:
        raise listening(errno.EADDRINUSE)

    wanted = replace(options_in(tmp_path), is_supervised=is_supervised)
    assert await run_standalone(reactor, wanted, {}, work) == (75 if is_supervised else 2)


@pytest.mark.parametrize("command", ["serve", "worker", "gateway", "doctor"])
def test_wrong_settings_and_a_wrong_command_line_are_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("assistant.toml").write_text("[model]\nprovider = 7\n")
    assert main([command]) == ExitStatus.SETTINGS
    with pytest.raises(SystemExit) as left:
        main([command, "--nothing-like-it"])
    assert left.value.code == ExitStatus.USAGE


def test_a_gateway_whose_port_is_taken_may_be_begun_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "assistant.toml").write_text('[model]\nprovider = "ollama"\nmodel = "sage"\n')
        command = [sys.executable, "-m", "mud_assistant", "gateway", "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, "Another program has it" in done.stderr) == (ExitStatus.TRY_AGAIN, True)


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs/worker.md").read_text()
    rows = {int(number) for number in re.findall(r"^\| `(\d+)` \|", page, re.MULTILINE)}
    assert rows == set(ExitStatus)
    assert f"RestartPreventExitStatus={ExitStatus.USAGE} {ExitStatus.FORBIDDEN} {ExitStatus.SETTINGS}" in page
