"""Files are there whole or not at all; keys are closed to others."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mud_assistant.assistant.keys.reference import read_key_file
from mud_assistant.assistant.surfaces.setup.writing import CannotWrite, put_key, put_settings


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_closed_to_others_and_can_be_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "tavily"
    put_key(path, "planted-one")
    put_key(path, "planted-two")
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert read_key_file(tmp_path, "keys/tavily") == "planted-two"
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".gitignore", "tavily"]
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_key_is_not_written_where_others_can_change_it(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys").chmod(0o777)
    with pytest.raises(CannotWrite, match="others can change"):
        put_key(tmp_path / "keys" / "tavily", "planted")
    assert list((tmp_path / "keys").iterdir()) == []


def test_a_link_in_the_place_of_a_key_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    (tmp_path / "target").write_text("old")
    (tmp_path / "keys" / "tavily").symlink_to(tmp_path / "target")
    put_key(tmp_path / "keys" / "tavily", "planted")
    assert (tmp_path / "target").read_text() == "old"


def test_settings_keep_their_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "assistant.toml").symlink_to(real)
    put_settings(tmp_path / "assistant.toml", "new ä")
    assert (real.read_text(encoding="utf-8"), mode(real)) == ("new ä", 0o640)
    assert (tmp_path / "assistant.toml").is_symlink()


def test_a_disk_that_fails_half_way_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "assistant.toml"
    path.write_text("old")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CannotWrite, match="No space left on device"):
        put_settings(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot be written"):
        put_settings(tmp_path / "file" / "assistant.toml", "new")
    with pytest.raises(CannotWrite, match="cannot be written"):
        put_key(tmp_path / "file" / "key", "planted")
