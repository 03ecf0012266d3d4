"""The queue and the worker's life, in virtual time; the real worker is in test_worker.py and test_bombs.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.tools.testing import now
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.extracting import Extracted, ExtractLimits, Extractor, Flag
from tests.tools.web.extracting.processes import FakeWorkers

LIMITS = ExtractLimits(most_waiting=3, pages_per_worker=5)


class Rig:
    def __init__(self) -> None:
        self.clock = Clock()
        self.workers = FakeWorkers()
        keys = {
            "OPENAI_API_KEY": "planted",
            "HOME": "/root",
            "PATH": "/bin",
            "PYTHONPATH": "/there",
            "SSH_AUTH_SOCK": "s",
        }
        self.extractor = Extractor(self.workers, self.clock, limits=LIMITS, environment=keys)

    def read(
        self, body: bytes = b"page", kind: str = "text/html; charset=x", url: str = "https://h.example/secret"
    ) -> Deferred[Extracted]:
        return self.extractor.extract(body, kind, "utf-8", url)

    def ready(self) -> None:
        self.workers.latest.tells("ready", network="kernel")


@pytest.fixture
def rig() -> Rig:
    return Rig()


def error_of(done: Deferred[Extracted]) -> WebError:
    caught: list[Failure] = []
    done.addErrback(caught.append)
    assert caught
    assert isinstance(caught[0].value, WebError)
    return caught[0].value


def test_nothing_runs_before_the_first_page(rig: Rig) -> None:
    assert rig.workers.started == []
    done = rig.read()
    assert len(rig.workers.started) == 1
    assert rig.workers.latest.pages == []
    rig.ready()
    ((head, body),) = rig.workers.latest.pages
    assert head == {"content_type": "text/html; charset=x", "charset": "utf-8", "url": "https://h.example/secret"}
    assert body == b"page"
    rig.workers.latest.reads("text")
    assert now(done) == Extracted("T", "text", frozenset({Flag.CUT}))


def test_the_worker_gets_nothing_of_the_environment_but_where_python_is(rig: Rig) -> None:
    rig.read().addErrback(lambda _: None)
    environment = rig.workers.latest.environment
    assert set(environment) == {"PYTHONPATH", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"}
    assert environment["PYTHONPATH"].endswith(":/there")
    assert "planted" not in str(environment)
    rig.extractor.stop()


def test_one_page_at_a_time_in_the_order_they_came_by_the_same_worker(rig: Rig) -> None:
    done = [rig.read(b"page %d" % number) for number in range(3)]
    rig.ready()
    for number, each in enumerate(done):
        assert len(rig.workers.latest.pages) == number + 1
        rig.workers.latest.reads()
        assert now(each).markdown == f"page {number}"
    assert rig.extractor.counts.started == 1


def test_a_page_that_takes_too_long_ends_with_its_worker_and_the_next_ones_are_read(rig: Rig) -> None:
    bomb, next_page = rig.read(b"x" * 12_345), rig.read(b"next")
    rig.ready()
    rig.workers.latest.tells("begun")
    rig.clock.advance(4.9)
    assert rig.workers.latest.signals == []
    rig.clock.advance(0.1)
    error = error_of(bomb)
    assert (error.kind, error.message) == (
        ErrorKind.TIMEOUT,
        "the page at h.example (text/html, 12 kB) took longer than 5 s to read",
    )
    assert rig.workers.started[0].signals == ["KILL"]
    assert len(rig.workers.started) == 2
    rig.ready()
    rig.workers.latest.reads()
    assert now(next_page).markdown == "next"


def test_the_time_of_a_page_is_its_own_and_not_that_of_the_start_or_the_queue(rig: Rig) -> None:
    first, second = rig.read(), rig.read(b"second")
    rig.clock.advance(19)
    rig.ready()
    rig.clock.advance(4)
    rig.workers.latest.reads()
    rig.clock.advance(4)
    rig.workers.latest.reads()
    assert (now(first).markdown, now(second).markdown) == ("page", "second")


def test_saying_ready_again_does_not_win_a_page_more_time(rig: Rig) -> None:
    bomb = rig.read()
    rig.ready()
    rig.clock.advance(4)
    rig.ready()
    rig.clock.advance(1)
    assert error_of(bomb).kind in {ErrorKind.TIMEOUT, ErrorKind.PARSE}


def test_a_page_the_worker_dies_of_is_told_so_and_the_rest_is_read(rig: Rig) -> None:
    bomb, next_page = rig.read(), rig.read(b"next")
    rig.ready()
    rig.workers.latest.tells("begun")
    rig.workers.latest.dies()
    error = error_of(bomb)
    assert error.kind is ErrorKind.PARSE
    assert "broke down over it" in error.message
    rig.ready()
    rig.workers.latest.reads()
    assert now(next_page).markdown == "next"


def test_a_page_that_a_dying_worker_never_saw_is_read_by_the_next_but_not_for_ever(rig: Rig) -> None:
    done = rig.read()
    rig.ready()
    rig.workers.latest.dies(9)
    rig.ready()
    assert rig.workers.latest.pages[0][1] == b"page"
    rig.workers.latest.dies(9)
    assert error_of(done).kind is ErrorKind.PARSE
    assert len(rig.workers.started) == 2


def spoil(rig: Rig) -> None:
    rig.workers.latest.protocol.outReceived(b"\xff" * 100)


def fall_silent(rig: Rig) -> None:
    rig.clock.advance(LIMITS.start_seconds)


def complain(rig: Rig) -> None:
    rig.workers.latest.grumbles("Traceback\nModuleNotFoundError: No module named 'llm'\n")
    rig.workers.latest.dies(0)


@pytest.mark.parametrize(("act", "why"), [(spoil, "silence"), (fall_silent, "silence"), (complain, "named 'llm'")])
def test_a_worker_that_does_not_start_is_not_started_over_and_over(
    rig: Rig, act: Callable[[Rig], None], why: str
) -> None:
    done = [rig.read(), rig.read()]
    act(rig)
    for each in done:
        error = error_of(each)
        assert error.kind is ErrorKind.SERVER
        assert why in error.message
    assert len(rig.workers.started) == 1
    assert rig.clock.getDelayedCalls() == []


def test_a_system_that_can_start_nothing_says_so(rig: Rig) -> None:
    rig.workers.fault = OSError(12, "Cannot allocate memory")
    assert "Cannot allocate memory" in error_of(rig.read()).message
    rig.workers.fault = None
    rig.read().addErrback(lambda _: None)
    assert len(rig.workers.started) == 1
    rig.extractor.stop()


def test_the_queue_is_bounded(rig: Rig) -> None:
    done = [rig.read(b"%d" % number) for number in range(3)]
    error = error_of(rig.read())
    assert (error.kind, error.message) == (
        ErrorKind.RATE_LIMITED,
        "too many pages wait to be read; try again in a minute",
    )
    rig.ready()
    done.append(rig.read(b"3"))
    for number, each in enumerate(done):
        rig.workers.latest.reads()
        assert now(each).markdown == str(number)


def test_who_waits_too_long_is_told_and_the_others_keep_their_places(rig: Rig) -> None:
    rig.extractor.limits = replace(LIMITS, seconds=50)
    first, second = rig.read(b"first"), rig.read(b"second")
    rig.ready()
    rig.clock.advance(20)
    third = rig.read(b"third")
    rig.clock.advance(9.9)
    assert not second.called
    rig.clock.advance(0.1)
    error = error_of(second)
    assert error.kind is ErrorKind.TIMEOUT
    assert error.message == "the page at h.example (text/html, 6 bytes) waited 30 s for its turn to be read"
    rig.workers.latest.reads()
    rig.workers.latest.reads()
    assert (now(first).markdown, now(third).markdown) == ("first", "third")


def test_a_page_over_the_cap_never_reaches_the_worker(rig: Rig) -> None:
    error = error_of(rig.read(b"x" * (LIMITS.input_bytes + 1)))
    assert (error.kind, rig.workers.started) == (ErrorKind.PARSE, [])
    assert error.message == "the page at h.example (text/html, 2,000 kB) is larger than 2,000 kB"


def test_an_idle_worker_is_let_go_and_another_starts_with_the_next_page(rig: Rig) -> None:
    done = rig.read()
    rig.ready()
    rig.workers.latest.reads()
    now(done)
    worker = rig.workers.latest
    closed = []
    for seconds in (119, 1):
        rig.clock.advance(seconds)
        closed.append(worker.stdin_closed)
    assert closed == [False, True]
    assert rig.clock.getDelayedCalls() == []
    rig.read().addErrback(lambda _: None)
    assert len(rig.workers.started) == 2
    rig.extractor.stop()


def test_a_worker_is_relieved_after_so_many_pages(rig: Rig) -> None:
    for number in range(7):
        done = rig.read()
        if number in {0, 5}:
            rig.ready()
        rig.workers.latest.reads()
        assert now(done).markdown == "page"
    assert [len(worker.pages) for worker in rig.workers.started] == [5, 2]


def test_cancelling_gives_up_a_place_and_leaves_the_others(rig: Rig) -> None:
    first, second, third = rig.read(b"1"), rig.read(b"2"), rig.read(b"3")
    rig.ready()
    for each in (first, second):
        each.cancel()
        caught: list[Failure] = []
        each.addErrback(caught.append)
        assert caught[0].check(CancelledError)
    rig.workers.latest.reads()
    rig.workers.latest.reads()
    assert now(third).markdown == "3"
    assert [body for _, body in rig.workers.latest.pages] == [b"1", b"3"]


def test_stop_ends_the_worker_and_everything_that_waits(rig: Rig) -> None:
    done = [rig.read(), rig.read()]
    rig.ready()
    rig.workers.latest.obeys = frozenset()
    stopped = rig.extractor.stop()
    for each in done:
        caught: list[Failure] = []
        each.addErrback(caught.append)
        assert caught[0].check(CancelledError)
    assert rig.workers.latest.signals == ["KILL"]
    assert not stopped.called
    rig.workers.latest.dies(9)
    now(stopped)
    assert rig.clock.getDelayedCalls() == []
    assert error_of(rig.read()).kind is ErrorKind.SERVER
    now(rig.extractor.stop())
    assert len(rig.workers.started) == 1


def test_what_the_worker_refuses_is_told_with_what_the_page_was(rig: Rig) -> None:
    done = rig.read(b"x" * 1234, "text/html", "https://user:word@h.example:8/path?key=secret")
    rig.ready()
    rig.workers.latest.tells("failed", kind="parse", message="it has over\n100,000 tags" + "x" * 5000)
    error = error_of(done)
    assert error.message.startswith(
        "the page at h.example (text/html, 1,234 bytes) cannot be read: it has over 100,000"
    )
    assert len(error.message) < 400
    assert "secret" not in error.message


@pytest.mark.parametrize("head", [{"say": "done", "flags": [[], {}], "title": 3}, {"say": []}, {"title": None}, {}])
def test_what_a_page_that_took_the_worker_over_says_breaks_nothing(rig: Rig, head: dict[str, object]) -> None:
    from mud_assistant.tools.web.extracting.worker import pack  # noqa: PLC0415

    done = rig.read()
    rig.ready()
    rig.workers.latest.protocol.outReceived(pack(head, b"\xff\xfe"))  # type: ignore[arg-type]
    assert done.called
    done.addErrback(lambda failure: failure.trap(WebError) and None)
    rig.extractor.stop()
