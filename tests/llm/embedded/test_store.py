from __future__ import annotations

import os
import shutil

import pytest

from mud_assistant.llm.embedded.errors import SourceFailed
from tests.llm.embedded.stage import CONTENT, Stage


def test_trusts_nothing_that_is_not_there(stage: Stage) -> None:
    assert not stage.store().is_trusted()


def test_trusts_the_pinned_file_and_hashes_it_only_once(stage: Stage) -> None:
    store = stage.store()
    store.path.write_bytes(CONTENT)

    assert store.is_trusted()
    assert stage.kinds() == {"verify"}
    stage.written.truncate(0)
    stage.written.seek(0)
    assert stage.store().is_trusted()
    assert stage.lines() == []


def test_hashes_again_when_the_file_was_touched(stage: Stage) -> None:
    store = stage.store()
    store.path.write_bytes(CONTENT)
    assert store.is_trusted()

    store.path.write_bytes(CONTENT[::-1])
    os.utime(store.path, ns=(1, 1))

    assert not store.is_trusted()


def test_a_damaged_stamp_is_no_stamp(stage: Stage) -> None:
    store = stage.store()
    store.path.write_bytes(CONTENT)
    store.path.with_name("tiny.gguf.verified").write_bytes(b"{")

    assert store.is_trusted()
    assert stage.kinds() == {"verify"}


def test_a_stamp_for_another_pin_is_no_stamp(stage: Stage) -> None:
    store = stage.store()
    store.path.write_bytes(CONTENT)
    assert store.is_trusted()

    other = stage.pinned_to(CONTENT[::-1])

    assert not other.is_trusted()


def test_a_file_of_another_size_is_not_even_read(stage: Stage) -> None:
    store = stage.store()
    store.path.write_bytes(CONTENT + b"x")

    assert not store.is_trusted()
    assert stage.lines() == []


def test_adopts_the_pinned_file_and_clears_up(stage: Stage) -> None:
    store = stage.store()
    store.work.mkdir()
    candidate = store.work / "candidate"
    candidate.write_bytes(CONTENT)

    store.adopt(candidate, "somewhere")

    assert store.path.read_bytes() == CONTENT
    assert not store.work.exists()
    assert stage.kinds() == {"verify"}
    stage.written.truncate(0)
    assert store.is_trusted()


@pytest.mark.parametrize("wrong", [CONTENT[::-1], CONTENT[:-1], b""])
def test_refuses_and_deletes_a_wrong_file_and_keeps_the_old_one(stage: Stage, wrong: bytes) -> None:
    store = stage.store()
    store.path.write_bytes(b"old")
    store.work.mkdir()
    candidate = store.work / "candidate"
    candidate.write_bytes(wrong)

    with pytest.raises(SourceFailed, match="SHA-256"):
        store.adopt(candidate, "somewhere")

    assert store.path.read_bytes() == b"old"
    assert not candidate.exists()


def test_refuses_to_fill_the_disk(stage: Stage) -> None:
    store = stage.store()

    store.require_room(0)
    with pytest.raises(SourceFailed, match="MB are needed"):
        store.require_room(shutil.disk_usage(stage.data_dir).total)
