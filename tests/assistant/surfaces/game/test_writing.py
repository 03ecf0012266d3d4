"""What `mud-assistant game` writes into a game's settings."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mud_assistant.assistant.errors import GameError
from mud_assistant.assistant.surfaces.game.folder import GameFolder, Ports
from mud_assistant.assistant.surfaces.game.making import write_options, write_settings, write_setup

STOCK = 'DATABASES = {"default": {"ENGINE": "x"}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> GameFolder:
    """A folder with settings as short as they can be."""
    made = GameFolder(tmp_path / "game")
    made.settings.parent.mkdir(parents=True)
    made.settings.write_text(STOCK)
    return made


def without_install(folder: GameFolder) -> dict[str, object]:
    """What the settings set, but for the line that installs, which needs a whole game."""
    text = folder.settings.read_text()
    lines = text.rstrip().split("\n")
    assert lines[-1] == "from mud_assistant.assistant.worlds.evennia.install import install; install(globals())"
    names: dict[str, object] = {}
    exec("\n".join(lines[:-1]), names)  # noqa: S102  (it is what was written)
    return names


def test_all_that_listens_is_bound_to_this_machine(folder: GameFolder) -> None:
    write_settings(folder, Ports(4100))
    names = without_install(folder)
    assert names["TELNET_INTERFACES"] == names["WEBSERVER_INTERFACES"] == ["127.0.0.1"]
    assert names["WEBSOCKET_CLIENT_INTERFACE"] == names["AMP_INTERFACE"] == names["AMP_HOST"] == "127.0.0.1"
    assert names["TELNET_PORTS"] == [4100]
    assert names["WEBSERVER_PORTS"] == [(4101, 4105)]
    assert (names["WEBSOCKET_CLIENT_PORT"], names["AMP_PORT"]) == (4102, 4106)
    assert "journal_mode=WAL" in str(names["DATABASES"])


def test_other_ports_take_the_place_of_the_former(folder: GameFolder) -> None:
    write_settings(folder, Ports(4100))
    once = folder.settings.read_text()
    write_settings(folder, Ports(4200))
    assert folder.settings.read_text() == once.replace("410", "420")
    assert once.startswith(STOCK)


def test_a_name_is_written_as_python_has_it(folder: GameFolder) -> None:
    write_setup(folder, "O'Hara")
    compile(folder.setup.read_text(), "at_initial_setup", "exec")
    assert 'build_demo("O\'Hara", inhabited=True)' in folder.setup.read_text()


def test_options_are_laid_over_what_is_there(folder: GameFolder) -> None:
    write_options(folder, {"provider": "ollama", "model": "qwen3:4b"}, "Sage")
    folder.options.write_text(folder.options.read_text() + '\n[assistant]\npersona = "Old."  # mine\n')
    write_options(folder, {"model": "qwen3:8b"}, "Sage")
    assert '"Old."  # mine' in folder.options.read_text()
    written = tomllib.loads(folder.options.read_text())
    assert written == {"model": {"provider": "ollama", "model": "qwen3:8b"}, "assistant": {"persona": "Old."}}


def test_a_key_and_a_model_do_not_go_to_another_server(folder: GameFolder) -> None:
    write_options(folder, {"provider": "openai", "model": "gpt-5", "key": "env:OPENAI_API_KEY"}, "Sage")
    write_options(folder, {"url": "http://127.0.0.1:8080/v1"}, "Sage")
    assert tomllib.loads(folder.options.read_text()) == {"model": {"url": "http://127.0.0.1:8080/v1"}}


def test_another_provider_does_not_get_the_options_of_the_old_one(folder: GameFolder) -> None:
    write_options(folder, {"provider": "ollama"}, "Sage")
    folder.options.write_text(folder.options.read_text() + 'keep_alive = "1h"\ntemperature = 0.5\n')
    write_options(folder, {"provider": "openai", "model": "gpt-5", "key": "env:OPENAI_API_KEY"}, "Sage")
    model = tomllib.loads(folder.options.read_text())["model"]
    assert model == {"provider": "openai", "model": "gpt-5", "key": "env:OPENAI_API_KEY", "temperature": 0.5}


@pytest.mark.parametrize(
    ("model", "name", "told"),
    [
        pytest.param({"provider": "opneai"}, "Sage", "no provider 'opneai'.*ollama", id="provider"),
        pytest.param({"url": "example"}, "Sage", "address of a server", id="url"),
        pytest.param({"key": "sk-1234567890"}, "Sage", "by reference", id="key"),
        pytest.param({}, "|rSage", "name", id="name"),
    ],
)
def test_a_wrong_option_is_told_and_not_written(
    folder: GameFolder, model: dict[str, str], name: str, told: str
) -> None:
    with pytest.raises(GameError, match=told) as raised:
        write_options(folder, model, name)
    assert "sk-1234567890" not in str(raised.value)
    assert tomllib.loads(folder.options.read_text()) == {}


def test_a_new_game_has_days_of_two_hours_and_one_that_is_there_keeps_its_own_clock(folder: GameFolder) -> None:
    write_settings(folder, Ports(4100))
    assert "TIME_FACTOR = 12" in folder.settings.read_text()
    write_settings(folder, Ports(4200))
    assert folder.settings.read_text().count("TIME_FACTOR = 12") == 1
    earlier = folder.settings.read_text().replace("TIME_FACTOR = 12\n", "")
    folder.settings.write_text(earlier)
    write_settings(folder, Ports(4300))
    assert "TIME_FACTOR" not in folder.settings.read_text()
