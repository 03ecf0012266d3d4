"""Key files of every kind: the good one, and each that is refused, in one sentence that says what to do."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import MAX_BYTES, anchor, key_sources, read_key_file, resolve_key

KEY = "planted-key-0123456789"


def key_file(folder: Path, content: bytes = KEY.encode(), mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def refusal(folder: Path, name: str = "key") -> str:
    with pytest.raises(KeyReferenceError) as caught:
        read_key_file(folder, name)
    told = str(caught.value)
    assert "\n" not in told
    assert KEY not in told
    assert KEY not in repr(caught.value.__context__)
    return told


@pytest.mark.parametrize("mode", [0o600, 0o400])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b" \n\n"])
def test_the_one_line_is_the_key(tmp_path: Path, mode: int, end: bytes) -> None:
    key_file(tmp_path, KEY.encode() + end, mode)
    assert read_key_file(tmp_path, "key") == KEY


def test_a_path_may_be_whole_or_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = key_file(tmp_path)
    assert read_key_file(Path("/elsewhere"), str(path)) == KEY
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_key_file(Path("/elsewhere"), "~/key") == KEY


def test_a_home_that_nobody_has_is_told(tmp_path: Path) -> None:
    assert "whole path" in refusal(tmp_path, "~no-such-user/key")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o610, 0o601, 0o666])
def test_a_file_open_to_others_is_refused_with_what_closes_it(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path, mode=mode)
    assert refusal(tmp_path).endswith(f"chmod 600 {path}")


def test_the_command_that_closes_it_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "my keys; rm -rf"
    folder.mkdir()
    assert refusal(folder).startswith("there is no file")
    path = key_file(folder, mode=0o644)
    assert refusal(folder).endswith(f"chmod 600 '{path}'")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    os.chown(key_file(tmp_path), 12345, -1)
    assert "belongs to user 12345" in (told := refusal(tmp_path))
    assert f"chown 0 {tmp_path}/key" in told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_file_of_root_may_be_open_to_a_group_but_to_nobody_else() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = key_file(folder, mode=0o440)
        try:
            os.seteuid(12345)
            assert read_key_file(folder, "key") == KEY
            for mode in (0o444, 0o460, 0o450, 0o441):
                os.seteuid(0)
                path.chmod(mode)
                os.seteuid(12345)
                assert "belongs to user 0" in refusal(folder)
        finally:
            os.seteuid(0)


async def test_what_a_service_manager_hands_over_is_found_in_its_folder(tmp_path: Path, reactor: Any) -> None:
    key_file(tmp_path)
    reference = "file:$CREDENTIALS_DIRECTORY/key"
    assert anchor(reference, Path("/elsewhere")) == reference
    there = key_sources(reactor, {"CREDENTIALS_DIRECTORY": str(tmp_path)}, Path("/elsewhere"), Secrets())
    assert await resolve_key(reference, there) == KEY
    nowhere = key_sources(reactor, {}, Path("/elsewhere"), Secrets())
    with pytest.raises(KeyReferenceError, match="LoadCredential="):
        await resolve_key(reference, nowhere)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    key_file(tmp_path, mode=0o200)
    assert "cannot be read by this user" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (f"{KEY}\n{KEY}\n".encode(), "more than one line"),
        (f"{KEY}\r{KEY}".encode(), "more than one line"),
        (f"\ufeff{KEY}".encode(), "byte order mark"),
        (KEY.encode("utf-16"), "no plain text"),
        (b"k" * (MAX_BYTES + 1), "too large for a key: over 8 KiB"),
    ],
)
def test_what_is_no_single_line_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    key_file(tmp_path, content)
    assert words in refusal(tmp_path)


def test_a_file_of_just_the_size_is_read(tmp_path: Path) -> None:
    key_file(tmp_path, b"k" * MAX_BYTES)
    assert len(read_key_file(tmp_path, "key")) == MAX_BYTES


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    assert "there is no file" in refusal(tmp_path)
    key_file(tmp_path)
    assert "no folder" in refusal(tmp_path, "key/deeper")
    assert "cannot be read" in refusal(tmp_path, "x" * 300)


def test_only_a_file_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that nobody writes to must not keep the reader for ever."""
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "is no file but a folder" in refusal(tmp_path, "folder")
    assert "is no file but a pipe" in refusal(tmp_path, "pipe")
    assert "is no file but a device" in refusal(tmp_path, "/dev/null")
    with socket.socket(socket.AF_UNIX) as unix:
        monkeypatch.chdir(tmp_path)  # a socket's path must be short
        unix.bind("socket")
        assert "is no file but a socket" in refusal(tmp_path, "socket")


def test_a_symbolic_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    path = key_file(tmp_path)
    (tmp_path / "link").symlink_to(path)
    assert read_key_file(tmp_path, "link") == KEY
    path.chmod(0o644)
    assert "chmod 600" in refusal(tmp_path, "link")
    (tmp_path / "round").symlink_to("round")
    assert "leads back to itself" in refusal(tmp_path, "round")
    (tmp_path / "nowhere").symlink_to("gone")
    assert "there is no file" in refusal(tmp_path, "nowhere")


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    key_file(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_key_file(tmp_path, "key")
    (tmp_path / "key").chmod(0o644)
    refusal(tmp_path)
    refusal(tmp_path, ".")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
