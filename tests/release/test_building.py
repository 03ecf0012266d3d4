"""Two builders make one release: the same bytes from two folders, under two umasks, whoever packed it."""

from __future__ import annotations

import io
import json
import os
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts.release import archives, building, sbom
from tests.wheel import EPOCH, ROOT, beside, copied, recorded

pytestmark = pytest.mark.slow  # builds sdist and wheel twice


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> list[list[Path]]:
    """The sdist and the wheel, built in two folders under two umasks."""
    made = []
    for umask, name in ((0o077, "one"), (0o002, "another/and/deeper")):
        before = os.umask(umask)
        try:
            folder = tmp_path_factory.mktemp("builder") / name
            made.append(building.build(copied(folder / "tree"), folder / "dist", EPOCH))
        finally:
            os.umask(before)
    return made


def test_two_folders_and_two_umasks_give_the_same_bytes(twice: list[list[Path]]) -> None:
    one, another = (archives.sha256sums(files) for files in twice)
    assert one == another
    assert one.count("\n") == 2


def test_the_wheel_holds_every_file_of_ours_and_nothing_else(twice: list[list[Path]]) -> None:
    wheel = twice[0][1]
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("mud_assistant/")}
    assert held == _tree()
    assert beside(wheel) == set()


def _tree() -> set[str]:
    """The files of ours in the tree, as the wheel names them."""
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "mud_assistant").glob("*.*") if path.is_file()}
    for package in ("assistant", "llm", "resilience", "tools"):
        files = (path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        found |= {f"mud_assistant/{path.relative_to(ROOT).as_posix()}" for path in files}
    return found


def test_no_other_package_of_this_environment_has_a_file_of_the_wheels_name(twice: list[list[Path]]) -> None:
    ours = {name.casefold() for name in zipfile.ZipFile(twice[0][1]).namelist()}
    others = recorded(Path(sysconfig.get_path("purelib")))
    assert len(others) > 1_000
    assert {name: others[name] for name in ours & others.keys()} == {}


def test_what_is_built_carries_nobody_and_one_date(twice: list[list[Path]]) -> None:
    sdist, wheel = twice[0]
    with tarfile.open(sdist) as packed:
        assert {(each.uid, each.gid, each.uname, each.gname, each.mtime) for each in packed} == {(0, 0, "", "", EPOCH)}
        assert {each.mode for each in packed} <= {0o644, 0o755}
    assert {each.date_time for each in zipfile.ZipFile(wheel).infolist()} == {(2020, 9, 13, 12, 26, 40)}


def test_the_names_and_times_of_who_packed_an_sdist_are_gone(tmp_path: Path) -> None:
    for number, user in enumerate(("anna", "root")):
        with tarfile.open(tmp_path / f"{user}.tar.gz", "w:gz") as packed:
            for name in ("p/b", "p/a") if number else ("p/a", "p/b"):
                member = tarfile.TarInfo(name)
                member.uid, member.uname, member.mtime, member.size = 1000 * number, user, 1_700_000_000 + number, 1
                member.mode = (0o664, 0o600)[number]
                packed.addfile(member, io.BytesIO(b"x"))
        archives.rewrite_sdist(tmp_path / f"{user}.tar.gz", EPOCH)
    assert (tmp_path / "anna.tar.gz").read_bytes() == (tmp_path / "root.tar.gz").read_bytes()


def test_an_sdist_with_a_link_in_it_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "linked.tar.gz", "w:gz") as packed:
        link = tarfile.TarInfo("p/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    with pytest.raises(ValueError, match="p/link"):
        archives.rewrite_sdist(tmp_path / "linked.tar.gz", EPOCH)


def test_the_wheel_carries_a_bill_of_all_that_the_locks_pin(twice: list[list[Path]]) -> None:
    packed = zipfile.ZipFile(twice[0][1])
    [name] = (name for name in packed.namelist() if name.endswith(f".dist-info/{sbom.PLACE}"))
    bill = json.loads(packed.read(name))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    pinned = {each.purl for lock in sbom.LOCKS for each in sbom.packages((ROOT / lock).read_text())}
    references = [each["bom-ref"] for each in bill["components"]]
    assert set(references) == pinned
    assert len(references) == len(pinned)
    product = bill["metadata"]["component"]["bom-ref"]
    arrows = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert arrows.keys() == pinned | {product}
    reached, waiting = set[str](), [product]
    while waiting:
        reached.add(reference := waiting.pop())
        waiting += [each for each in arrows[reference] if each not in reached]
    assert reached == arrows.keys()


def test_the_record_of_the_wheel_names_the_bill(twice: list[list[Path]]) -> None:
    packed = zipfile.ZipFile(twice[0][1])
    [record] = (name for name in packed.namelist() if name.endswith("RECORD"))
    lines = packed.read(record).decode().splitlines()
    assert [line.split(",")[0] for line in lines] == packed.namelist()
    assert any(sbom.PLACE in line for line in lines)
