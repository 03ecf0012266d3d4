"""The real worker process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.extracting import ExtractLimits, Extractor
from mud_assistant.tools.web.extracting.process import worker_command, worker_environment
from mud_assistant.tools.web.extracting.worker import answer, limits_of
from tests.tools.web.extracting.bombs import HTML, operators, small_pdf

ROOT = Path(__file__).parents[4]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="what the Linux kernel enforces")

for package in ("trafilatura", "html_to_markdown", "pypdf"):
    pytest.importorskip(package)


def run(code: str, **environment: str) -> str:
    """What a program of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**worker_environment(os.environ), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def pid_of(extractor: Extractor) -> int:
    assert extractor._shift is not None
    transport = extractor._shift.worker.transport
    assert transport is not None
    pid = transport.pid
    assert isinstance(pid, int)
    return pid


def is_alive(pid: int) -> bool:
    """Whether it still runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_pages_of_each_kind_are_read_by_one_worker(reactor: Any) -> None:
    extractor = Extractor(reactor, reactor)
    try:
        texts = [
            (await extractor.extract(body, kind, "", "https://h.example/")).markdown
            for body, kind in (
                (b"<p>A page</p>", HTML),
                (small_pdf("A paper"), "application/pdf"),
                (b'{"a": 1}', "application/json"),
                (b"plain", "text/plain"),
            )
        ]
        assert texts == ["A page", "## Page 1\n\nA paper", '{\n "a": 1\n}', "plain"]
        assert extractor.counts.started == 1
    finally:
        await extractor.stop()


@LINUX
async def test_the_worker_holds_no_key_no_file_and_no_network(reactor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key")
    monkeypatch.setenv("MY_OWN_NAME_FOR_A_SECRET", "planted-key")
    extractor = Extractor(reactor, reactor)
    try:
        await extractor.extract(b"<p>A page</p>", HTML, "", "https://h.example/")
        home = Path(f"/proc/{pid_of(extractor)}")
        environment = (home / "environ").read_text()
        names = {entry.partition("=")[0] for entry in environment.split("\0") if entry}
        assert "planted-key" not in environment
        assert names <= {
            "PYTHONPATH",
            "PYTHONHOME",
            "LD_LIBRARY_PATH",
            "VIRTUAL_ENV",
            "PYTHONUTF8",
            "PYTHONDONTWRITEBYTECODE",
        }
        assert {str(link.readlink()).partition(":")[0] for link in (home / "fd").iterdir()} == {"pipe", "/dev/null"}
        status = dict(line.split(":\t", 1) for line in (home / "status").read_text().splitlines() if ":\t" in line)
        assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
        assert (home / "oom_score_adj").read_text().strip() == "1000"
    finally:
        await extractor.stop()


@LINUX
def test_the_kernel_refuses_sockets_and_programs_to_the_confined_process() -> None:
    code = """
import ctypes, os, socket
from mud_assistant.tools.web.extracting.confinement import confine
print(confine(2**30))
libc = ctypes.CDLL(None, use_errno=True)
for name, call in (("socket", lambda: libc.socket(2, 1, 0)), ("pair", lambda: libc.socketpair(1, 1, 0, None))):
    print(name, call(), ctypes.get_errno())
for name, call in (("python", socket.socket), ("exec", lambda: os.execv("/bin/true", ["true"])),
                   ("write", lambda: os.write(os.open("written-by-worker", os.O_CREAT | os.O_WRONLY), b"x"))):
    try:
        call()
        print(name, "done")
    except OSError as error:
        print(name, error.errno)
"""
    lines = run("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + code).splitlines()
    Path(ROOT / "written-by-worker").unlink(missing_ok=True)
    if lines[0] != "kernel":
        pytest.skip("this kernel or machine has no filter for us")
    assert lines[1:] == ["socket -1 1", "pair -1 1", "python None", "exec 1", "write 27"]


async def test_a_bomb_is_killed_and_pages_behind_it_are_read(reactor: Any) -> None:
    extractor = Extractor(reactor, reactor, limits=ExtractLimits(seconds=1.0))
    try:
        bomb = extractor.extract(operators(), "application/pdf", "", "http://bomb.example/")
        behind = [extractor.extract(b"page %d" % number, "text/plain", "", "http://h/") for number in range(3)]
        with pytest.raises(WebError, match=r"bomb.example \(application/pdf, 92 kB\) took longer than 1 s") as caught:
            await bomb
        assert caught.value.kind is ErrorKind.TIMEOUT
        assert [(await each).markdown for each in behind] == ["page 0", "page 1", "page 2"]
        assert (extractor.counts.started, extractor.counts.killed) == (2, 1)
    finally:
        await extractor.stop()


async def test_a_page_that_wants_too_much_memory_is_refused(reactor: Any) -> None:
    """The document is harmless in size; what is made of it is not, under this limit."""
    extractor = Extractor(reactor, reactor, limits=ExtractLimits(memory_bytes=150_000_000, seconds=20))
    try:
        body = b"<main>" + b"<p>some words of a page <a href=x>and a link</a></p>" * 35_000
        with pytest.raises(WebError) as caught:
            await extractor.extract(body, HTML, "", "http://h.example/")
        assert caught.value.kind is ErrorKind.PARSE
        assert (await extractor.extract(b"next", "text/plain", "", "http://h/")).markdown == "next"
        assert extractor.counts.started == 2
    finally:
        await extractor.stop()


async def test_a_worker_killed_from_outside_is_replaced(reactor: Any) -> None:
    extractor = Extractor(reactor, reactor)
    try:
        await extractor.extract(b"one", "text/plain", "", "http://h/")
        os.kill(pid_of(extractor), 9)
        assert (await extractor.extract(b"two", "text/plain", "", "http://h/")).markdown == "two"
    finally:
        await extractor.stop()


async def test_an_idle_worker_ends_by_itself_and_stop_leaves_none(reactor: Any) -> None:
    extractor = Extractor(reactor, reactor, limits=ExtractLimits(idle_seconds=0.05))
    await extractor.extract(b"one", "text/plain", "", "http://h/")
    pid = pid_of(extractor)
    await _until(reactor, lambda: extractor._shift is None)
    assert not is_alive(pid)
    await extractor.extract(b"two", "text/plain", "", "http://h/")
    pid = pid_of(extractor)
    await extractor.stop()
    assert not is_alive(pid)


async def _until(reactor: Any, holds: Callable[[], bool], turns: int = 500) -> None:
    for _ in range(turns):
        if holds():
            return
        await deferLater(reactor, 0.02)
    pytest.fail("it never came to that")


PARENT = """
import os, signal, sys
from twisted.internet import reactor
from mud_assistant.tools.web.extracting import Extractor, ExtractLimits
bomb = sys.stdin.buffer.read()
extractor = Extractor(reactor, reactor, limits=ExtractLimits(seconds=60))  # its watchdog is not what ends it
def die(_):
    extractor.extract(bomb, "application/pdf", "", "http://h/")
    print(extractor._shift.worker.transport.pid, flush=True)
    reactor.callLater(0.3, os.kill, os.getpid(), signal.SIGKILL)
reactor.callWhenRunning(lambda: extractor.extract(b"x", "text/plain", "", "http://h/").addCallback(die))
reactor.run()
"""


@LINUX
async def test_the_worker_does_not_outlive_a_parent_that_is_killed_even_over_a_bomb(reactor: Any) -> None:
    done = subprocess.run(  # noqa: ASYNC221  (nothing else is to run meanwhile)
        [sys.executable, "-c", PARENT],
        input=operators(),
        env=worker_environment(os.environ),
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    pid = int(done.stdout)
    await _until(reactor, lambda: not is_alive(pid), turns=100)


def test_without_the_reactors_side_the_worker_ends_itself_over_a_bomb() -> None:
    """As on a system that does not tell it of its parent's death: a watchdog that needs no interpreter."""
    limits = ExtractLimits(seconds=0.5)
    code = f"""
from mud_assistant.tools.web.extracting.confinement import Watchdog
with Watchdog({limits.seconds}):
    import re
    re.match("(a*)*b", "a" * 60)  # in C, for years
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=worker_environment(os.environ), cwd=ROOT, timeout=30, check=False
    )
    assert done.returncode != 0


def test_a_missing_package_is_one_clear_sentence() -> None:
    code = """
import sys
sys.modules["trafilatura"] = sys.modules["pypdf"] = None
from mud_assistant.tools.web.extracting.extracted import ExtractLimits
from mud_assistant.tools.web.extracting.worker import answer
for kind, body in (("text/html", b"<p>words</p>"), ("application/pdf", b"%PDF-"), ("text/plain", b"plain")):
    print(answer({"content_type": kind, "url": "http://h/"}, body, ExtractLimits()))
"""
    lines = run(code).splitlines()
    assert "trafilatura is not installed (pip install 'mud-assistant[web]')" in lines[0]
    assert "pypdf is not installed (pip install 'mud-assistant[web]')" in lines[1]
    assert "b'plain'" in lines[2]


def test_the_command_line_carries_the_limits() -> None:
    limits = ExtractLimits(seconds=1.5, memory_bytes=5, input_bytes=6, output_chars=7, pdf_pages=8)
    assert limits_of(list(worker_command(limits)[4:])) == limits


def test_a_fault_of_a_parser_is_this_pages_fault() -> None:
    head, body = answer({"content_type": 3, "charset": None, "url": "//["}, b"<a href=x>words", ExtractLimits())
    assert head["say"] in {"failed", "done"}
    head, body = answer({"content_type": "text/html", "url": "//["}, b"<a href=x>words", ExtractLimits())
    assert (head["say"], body) == ("done", b"words")


def test_importing_the_readers_side_imports_no_parser() -> None:
    code = "import sys, mud_assistant.tools.web.extracting, mud_assistant.tools.web.read.direct\n"
    code += "print(json.dumps(sorted(sys.modules)))"
    modules = {name.partition(".")[0] for name in json.loads(run("import json\n" + code))}
    assert modules.isdisjoint({"lxml", "trafilatura", "html_to_markdown", "pypdf"})
    assert "twisted.internet.reactor" not in json.loads(run("import json\n" + code))


def test_an_extraction_is_a_deferred(reactor: Any) -> None:
    extractor = Extractor(reactor, reactor)
    refused = extractor.extract(b"x" * 2_000_001, "text/plain", "", "http://h/")
    assert isinstance(refused, Deferred)
    refused.addErrback(lambda failure: failure.trap(WebError) and None)
