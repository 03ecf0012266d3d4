"""A wheel built from the tree, in an environment where nothing else of the project is."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from twisted.internet.utils import getProcessOutputAndValue

from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from tests.live.command import reactor
from tests.wheel import installed

pytestmark = pytest.mark.slow  # builds a wheel and makes a virtual environment


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel in it."""
    return installed(tmp_path_factory.mktemp("wheel"))


async def ran(python: Path, *arguments: str, folder: Path, given: bytes = b"") -> tuple[str, int]:
    """What the installed interpreter printed in `folder`, and its exit status."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    (folder / "given").write_bytes(given)
    line = f"cd {shlex.quote(str(folder))} && {shlex.join([str(python), *arguments])} < given"
    out, err, status = await getProcessOutputAndValue("/bin/sh", ("-c", line), environment, reactor=reactor)
    return (out + err).decode(), status


async def test_every_package_is_in_the_wheel_and_nothing_of_the_tree_is_used(python: Path, tmp_path: Path) -> None:
    names = ("assistant.loop.talk.speak", "assistant.worlds.evennia", "llm.testing", "resilience", "tools.web.testing")
    code = "; ".join(f"import mud_assistant.{name}" for name in names)
    out, status = await ran(python, "-c", f"{code}; print(mud_assistant.__file__)", folder=tmp_path)
    assert status == 0, out
    assert "site-packages" in out


async def test_a_trial_of_the_wheel_answers(python: Path, tmp_path: Path) -> None:
    fake = FakeOllama(reactor, [Reply(calls=(Call("say", {"text": "Good day to you."}),))])
    async with serve(fake, reactor) as url:
        options = ("--provider", "ollama", "--model", "sage", "--url", url)
        out, status = await ran(
            python, "-m", "mud_assistant", "trial", *options, folder=tmp_path, given=b"Hello Sage\n"
        )
    assert status == 0, out
    assert 'Sage says, "Good day to you."' in out


async def test_the_doctor_of_the_wheel_finds_what_is_wrong(python: Path, tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text(
        "[model]\nprovider = 'ollama'\nmodel = 'sage'\nurl = 'http://127.0.0.1:9'\n"
    )
    out, status = await ran(python, "-m", "mud_assistant", "doctor", folder=tmp_path)
    assert status == 1, out
    assert "127.0.0.1:9" in out
