"""A wheel built from the tree, in an environment where nothing else of the project is."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from twisted.internet.utils import getProcessOutputAndValue

from llm.testing import Call, FakeOllama, Reply, serve
from tests.live.command import reactor

ROOT = Path(__file__).parents[2]
PACKAGES = ("assistant", "llm", "resilience", "tools")
pytestmark = pytest.mark.slow  # builds a wheel and makes a virtual environment


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel in it; what the project needs is borrowed from ours."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        ".",
    ]
    subprocess.run(build, cwd=source, check=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=300)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # A folder named in a .pth file is searched, but its own .pth files are not read: our editable install stays out.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "env" / "bin" / "python"


async def ran(python: Path, *arguments: str, folder: Path, given: bytes = b"") -> tuple[str, int]:
    """What the installed interpreter printed in `folder`, and its exit status."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    (folder / "given").write_bytes(given)
    line = f"cd {shlex.quote(str(folder))} && {shlex.join([str(python), *arguments])} < given"
    out, err, status = await getProcessOutputAndValue("/bin/sh", ("-c", line), environment, reactor=reactor)
    return (out + err).decode(), status


async def test_every_package_is_in_the_wheel_and_nothing_of_the_tree_is_used(python: Path, tmp_path: Path) -> None:
    code = "import assistant.loop.talk.ask, assistant.service, assistant.worlds.evennia, llm.testing, tools.web.testing"
    out, status = await ran(python, "-c", f"{code}; print(assistant.__file__)", folder=tmp_path)
    assert status == 0, out
    assert "site-packages" in out


async def test_a_trial_of_the_wheel_answers(python: Path, tmp_path: Path) -> None:
    fake = FakeOllama(reactor, [Reply(calls=(Call("say", {"text": "Good day to you."}),))])
    async with serve(fake, reactor) as url:
        options = ("--provider", "ollama", "--model", "sage", "--url", url)
        out, status = await ran(python, "-m", "assistant", "trial", *options, folder=tmp_path, given=b"Hello Sage\n")
    assert status == 0, out
    assert 'Sage says, "Good day to you."' in out


async def test_the_doctor_of_the_wheel_finds_what_is_wrong(python: Path, tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text(
        "[model]\nprovider = 'ollama'\nmodel = 'sage'\nurl = 'http://127.0.0.1:9'\n"
    )
    out, status = await ran(python, "-m", "assistant", "doctor", folder=tmp_path)
    assert status == 1, out
    assert "127.0.0.1:9" in out
