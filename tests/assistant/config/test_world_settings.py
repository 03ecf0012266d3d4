"""`[world]` in the file: what it takes, and what it refuses with a sentence that says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.config.settings import SettingsError, read_settings
from mud_assistant.assistant.config.world_config import GameAddress, parse_address
from mud_assistant.assistant.worlds.telnet.game_access import access_of
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profiles

GAME = '[world]\ntelnet = "localhost:4000"\nprofile = "diku"\n'
DIGEST = "ab:" * 31 + "cd"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[world]\ntelnet = "localhost"\n',
            "line 2: world.telnet: write the host and the port",
        ),
        ('[world]\ntelnet = "http://localhost:80"\n', "write the host and the port of the game"),
        ('[world]\ntelnet = "localhost:70000"\n', "write the host and the port of the game"),
        ('[world]\ntelnet = "localhost:4000"\n', 'telnet needs profile, .* profile = "diku"'),
        (GAME + 'password = "hunter22"\n', "world.password: .*env:NAME, file:PATH or keyring:NAME"),
        (GAME + 'encoding = "klingon"\n', "world.encoding: .*latin-1"),
        (GAME + 'fingerprint = "abc"\n', "world.fingerprint: .*64 hexadecimal digits"),
        (GAME + f'fingerprint = "{DIGEST}"\n', "telnets://HOST:PORT"),
        (GAME + "people = { Anna = 9 }\n", "world.people"),
        (GAME + 'pasword = "env:X"\n', "there is no such setting.*password"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "assistant.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said) as refused:
        read_settings(path, {})
    assert "hunter22" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("mud.example:4000", ("mud.example", 4000, False)),
        ("telnet://mud.example:4000", ("mud.example", 4000, False)),
        ("telnets://mud.example:4443/", ("mud.example", 4443, True)),
        ("[::1]:4000", ("::1", 4000, False)),
    ],
)
def test_an_address_is_read(written: str, address: tuple[str, int, bool]) -> None:
    assert parse_address(written) == GameAddress(*address)


def test_each_character_of_a_worker_has_a_password_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "assistant.toml"
    path.write_text(GAME + 'account = "{name}s keeper"\npassword = "file:keys/{name}"\n')
    access = access_of(read_settings(path, {}).world, "Mira", tmp_path)
    assert access.password == "file:keys/mira"
    who = access.credentials("secret")
    assert (who.name, who.account, "secret" in repr(who)) == ("Mira", "Miras keeper", False)


def test_a_game_without_a_profile_is_told_each_that_ships(tmp_path: Path) -> None:
    path = tmp_path / "assistant.toml"
    path.write_text('[world]\ntelnet = "localhost:4000"\n')
    with pytest.raises(SettingsError) as refused:
        read_settings(path, {})
    assert [name for name in shipped_profiles() if f'"{name}"' not in str(refused.value)] == []
