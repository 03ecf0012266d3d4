"""What `mud-assistant game` keeps in a game's folder, and which folders it leaves alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mud_assistant.assistant.errors import GameError
from mud_assistant.assistant.surfaces.game.command import _tell
from mud_assistant.assistant.surfaces.game.folder import GameFolder, Kept, Ports
from mud_assistant.assistant.surfaces.game.making import GameOptions, Maker, remove
from mud_assistant.assistant.surfaces.game.processes import Process, family, processes


@pytest.fixture
def folder(tmp_path: Path) -> GameFolder:
    """A game's folder without a game in it, and nothing of Evennia's."""
    made = GameFolder(tmp_path / "game")
    made.settings.parent.mkdir(parents=True)
    made.keep(Kept(4000, "Sage"))
    return made


def test_no_game_is_where_nothing_or_an_empty_folder_is(tmp_path: Path) -> None:
    assert GameFolder(tmp_path / "nothing").kept() is None
    assert GameFolder(tmp_path).kept() is None


def test_what_is_kept_is_read_again(folder: GameFolder) -> None:
    assert folder.kept() == Kept(4000, "Sage")
    assert folder.ports() == Ports(4000)


def test_the_owner_of_a_game_is_kept_and_one_made_before_that_keeps_its_own(folder: GameFolder) -> None:
    assert folder.owner() == "Owner"
    folder.state.write_text('{"first_port": 4000, "assistant": "Sage", "versions": "evennia 6.1.0, django 5.2"}')
    assert folder.owner() == "Keeper"
    Maker(os.environ, print).adapt(folder, Kept(4000, "Sage", owner="Keeper"), GameOptions({}, port=4000))
    assert folder.owner() == "Keeper"


def test_telnet_is_told_before_the_web_client_and_the_owner_by_name(
    folder: GameFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    _tell(folder)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    named = [line[0] for line in lines if line]
    assert named.index("telnet") < named.index("web")
    (web,) = [" ".join(line) for line in lines if line[:1] == ["web"]]
    assert web.endswith("(it takes its scripts from the internet)")
    (login,) = [line for line in lines if line[:2] == ["log", "in"]]
    assert login[2:4] == ["connect", "Owner"]


def test_a_folder_of_somebody_else_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(GameError, match="name another with --folder"):
        GameFolder(tmp_path).kept()
    with pytest.raises(GameError, match="name another with --folder"):
        remove(GameFolder(tmp_path))
    assert (tmp_path / "thesis.txt").exists()


def test_a_state_that_cannot_be_read_says_what_to_do_and_is_deleted_afresh(folder: GameFolder) -> None:
    folder.state.write_text("{}")
    with pytest.raises(GameError, match="--fresh"):
        folder.kept()
    remove(folder)
    assert not folder.path.exists()


def test_the_password_is_made_once_and_closed_to_others(folder: GameFolder) -> None:
    made = folder.password()
    assert len(made) == 14
    assert made.isalnum()
    assert folder.password() == made
    assert stat.S_IMODE(folder.password_file.stat().st_mode) == 0o600


def test_without_evennia_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    told: list[str] = []
    with pytest.raises(GameError, match=r"pip install 'mud-assistant\[evennia\]'"):
        Maker(os.environ, told.append).make(GameFolder(tmp_path / "game"), GameOptions({}))
    assert list(tmp_path.iterdir()) == []


def test_another_name_is_refused_in_a_game_that_is_there(folder: GameFolder) -> None:
    with pytest.raises(GameError, match="Sage lives in this game, not Mira"):
        Maker(os.environ, print).adapt(folder, Kept(4000, "Sage"), GameOptions({}, "Mira"))


def test_processes_are_the_games_own_and_their_children(folder: GameFolder) -> None:
    portal, server = folder.pid_files
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    line = [sys.executable, "-c", script, f"--pidfile={server.resolve()}"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert processes(folder) == []
        server.write_text(str(child.pid))
        portal.write_text(str(os.getpid()))  # an old number that was given to somebody else
        (found,) = processes(folder)
        assert found.pid == child.pid
        while len(both := family(folder)) < 2:
            assert child.poll() is None
        assert all(process.is_alive() for process in both)
        child.communicate(b"\n")
        assert not any(process.is_alive() for process in both)
    assert family(folder) == []


def test_a_number_that_was_given_to_another_process_is_not_the_same_process() -> None:
    assert not Process(os.getpid(), "0").is_alive()
