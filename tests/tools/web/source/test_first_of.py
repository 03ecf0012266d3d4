"""Who is asked, who is not, and what the answer says of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from mud_assistant.tools.web.errors import FALLS_THROUGH, ErrorKind, WebError
from mud_assistant.tools.web.source.answers import ErrorInfo, Hits
from mud_assistant.tools.web.source.first_of import FirstOf, join_errors
from mud_assistant.tools.web.source.protocol import SearchQuery
from mud_assistant.tools.web.source.state import CoolDown
from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted, ScriptedReader, error, paced, read_part


class Chained:
    """A chain of scripted providers on a clock."""

    def __init__(
        self, *providers: Scripted, cool_down: CoolDown | None = None, empty_falls_through: bool = False
    ) -> None:
        self.clock = Clock()
        random = Random(1)  # noqa: S311  (jitter)
        self.members = [paced(provider, self.clock, random, cool_down) for provider in providers]
        is_enough = bool if empty_falls_through else None
        self.chain: FirstOf[SearchQuery, Hits] = FirstOf(self.members, self.clock, is_enough=is_enough)

    def ask(self) -> Heard:
        return Heard(self.chain.ask(QUERY))


def trouble_of(heard: Heard) -> list[tuple[str, ErrorKind]]:
    return [(trouble.provider, trouble.kind) for trouble in heard.value.failed]


@pytest.mark.parametrize("kind", sorted(FALLS_THROUGH))
def test_what_another_may_do_better_falls_through(kind: ErrorKind) -> None:
    a, b = Scripted("a", error(kind)), Scripted("b")
    heard = Chained(a, b).ask()
    assert list(heard.value) == [HIT]
    assert heard.value.served_by == "b"
    assert trouble_of(heard) == [("a", kind)]


@pytest.mark.parametrize("kind", [ErrorKind.POLICY, ErrorKind.BAD_REQUEST])
def test_what_is_wrong_everywhere_does_not(kind: ErrorKind) -> None:
    a, b = Scripted("a", error(kind)), Scripted("b")
    heard = Chained(a, b).ask()
    assert heard.kind is kind
    assert not b.asked


def test_nothing_found_is_an_answer() -> None:
    a, b = Scripted("a", ()), Scripted("b")
    heard = Chained(a, b).ask()
    assert (list(heard.value), heard.value.served_by, b.asked) == ([], "a", [])


def test_nothing_found_falls_through_when_the_owner_wants_it() -> None:
    a, b = Scripted("a", ()), Scripted("b")
    assert Chained(a, b, empty_falls_through=True).ask().value.served_by == "b"
    b.answers = [error(ErrorKind.SERVER)]
    heard = Chained(a, b, empty_falls_through=True).ask()
    assert (list(heard.value), heard.value.served_by) == ([], "a")


def test_a_refused_key_is_tried_again_after_a_while_that_grows_to_an_hour() -> None:
    a, b = Scripted("a", error(ErrorKind.AUTH, "bad key")), Scripted("b")
    chained = Chained(a, b)
    with capturedLogs() as logs:
        for number, pause in enumerate((300, 600, 1200, 2400, 3600, 3600), 1):
            for _ in range(3):
                assert chained.ask().value.served_by == "b"
            assert len(a.asked) == number
            chained.clock.advance(pause - 1)
            assert chained.ask().value.failed[0].retry_at == chained.clock.seconds() + 1
            assert len(a.asked) == number
            chained.clock.advance(1)
    assert len([event for event in logs if event.get("log_event") == "credential"]) == 6
    a.answers = [(HIT,), error(ErrorKind.AUTH, "bad key")]
    assert chained.ask().value.served_by == "a"
    assert chained.ask().value.served_by == "b"
    chained.clock.advance(300)  # after a good answer it begins anew
    a.answers = [(HIT,)]
    assert chained.ask().value.served_by == "a"


def test_one_question_finds_out_whether_a_key_is_still_refused() -> None:
    a, b = Scripted("a", error(ErrorKind.AUTH, "bad key")), Scripted("b")
    chained = Chained(a, b)
    chained.ask()
    chained.clock.advance(300)
    a.answers = [None]
    first, second = chained.ask(), chained.ask()
    assert second.value.served_by == "b"
    assert len(a.asked) == 2
    first.cancel()
    a.answers = [(HIT,)]
    assert chained.ask().value.served_by == "a"


def test_a_key_that_was_given_anew_is_used_at_once() -> None:
    a, b = Scripted("a", error(ErrorKind.AUTH, "bad key")), Scripted("b")
    is_new: list[bool] = []

    async def has_new_key(name: str) -> bool:
        return name == "a" and bool(is_new)

    clock = Clock()
    chain = FirstOf([paced(a, clock), paced(b, clock)], clock, has_new_key=has_new_key)
    for _ in range(2):
        assert Heard(chain.ask(QUERY)).value.served_by == "b"
    a.answers = [(HIT,)]
    is_new.append(True)
    assert Heard(chain.ask(QUERY)).value.served_by == "a"


def test_a_refused_key_is_logged_once_and_lifted_by_new_settings() -> None:
    a, b = Scripted("a", error(ErrorKind.AUTH, "bad key")), Scripted("b")
    chained = Chained(a, b)
    with capturedLogs() as logs:
        for _ in range(3):
            assert chained.ask().value.served_by == "b"
            chained.clock.advance(90)
    assert len(a.asked) == 1
    assert [event["provider"] for event in logs if event.get("log_event") == "credential"] == ["a"]
    a.answers = [(HIT,)]
    chained.chain.change_configuration("b")
    assert chained.ask().value.served_by == "b"
    chained.chain.change_configuration("a")
    assert chained.ask().value.served_by == "a"


def test_an_answer_to_the_old_key_says_nothing_of_the_new_one() -> None:
    a, b = Scripted("a", None, (HIT,)), Scripted("b")
    chained = Chained(a, b)
    old = chained.ask()
    chained.chain.change_configuration("a")
    a.waiting[0].errback(error(ErrorKind.AUTH))
    assert old.value.served_by == "b"
    assert chained.ask().value.served_by == "a"


def test_who_failed_is_left_alone_for_a_growing_while() -> None:
    a, b = Scripted("a", error(ErrorKind.SERVER)), Scripted("b")
    chained = Chained(a, b, cool_down=CoolDown(base_seconds=8, max_seconds=20))
    pauses = []
    for _ in range(4):
        asked, began = len(a.asked), chained.clock.seconds()
        chained.ask()
        assert len(a.asked) == asked + 1
        while len(a.asked) == asked + 1:
            chained.clock.advance(0.5)
            a.answers = [error(ErrorKind.SERVER)]
            if chained.members[0].state.is_ready:
                break
            assert trouble_of(chained.ask()) == [("a", ErrorKind.SERVER)]
        pauses.append(chained.clock.seconds() - began)
    assert 4 <= pauses[0] <= 8.5
    assert 8 <= pauses[1] <= 16.5
    assert 10 <= pauses[2] <= 20.5
    assert 10 <= pauses[3] <= 20.5


def test_success_forgives() -> None:
    a, b = Scripted("a", error(ErrorKind.SERVER), (HIT,), error(ErrorKind.SERVER)), Scripted("b")
    chained = Chained(a, b, cool_down=CoolDown(base_seconds=8, max_seconds=1000))
    for wait in (9, 9):
        chained.ask()
        chained.clock.advance(wait)
    chained.ask()
    assert chained.members[0].state.failures == 1


def test_a_wish_is_a_floor() -> None:
    a, b = Scripted("a", error(ErrorKind.RATE_LIMITED, retry_at=100.0)), Scripted("b")
    chained = Chained(a, b)
    chained.ask()
    chained.clock.advance(99)
    chained.ask()
    assert len(a.asked) == 1
    chained.clock.advance(1.5)
    chained.ask()
    assert len(a.asked) == 2


def test_alone_it_is_asked_again_but_not_before_the_time_it_named() -> None:
    a = Scripted("a", error(ErrorKind.BLOCKED_OR_EMPTY), error(ErrorKind.RATE_LIMITED, "slow", retry_at=50.0), (HIT,))
    chained = Chained(a)
    assert chained.ask().kind is ErrorKind.BLOCKED_OR_EMPTY
    assert chained.ask().kind is ErrorKind.RATE_LIMITED
    refused = chained.ask()
    assert (refused.kind, refused.error.retry_at, len(a.asked)) == (ErrorKind.RATE_LIMITED, 50.0, 2)
    chained.clock.advance(50)
    assert chained.ask().value.served_by == "a"


def test_when_all_rest_only_the_first_to_be_ready_is_asked() -> None:
    a, b = Scripted("a", error(ErrorKind.SERVER)), Scripted("b", error(ErrorKind.NETWORK))
    chained = Chained(a, b)
    assert chained.ask().error is not None
    states = [member.state for member in chained.members]
    first, other = (a, b) if states[0].after_others_until <= states[1].after_others_until else (b, a)
    heard = chained.ask()
    assert (len(first.asked), len(other.asked)) == (2, 1)
    assert "a:" in heard.error.message
    assert "b:" in heard.error.message


def test_all_failed_is_one_error_with_every_reason_and_the_earliest_time() -> None:
    providers = [
        Scripted("a", error(ErrorKind.AUTH, "bad key")),
        Scripted("b", error(ErrorKind.QUOTA, "all gone", retry_at=900.0)),
        Scripted("c", error(ErrorKind.RATE_LIMITED, "slow down", retry_at=60.0)),
    ]
    heard = Chained(*providers).ask()
    assert (heard.kind, heard.error.retry_at) == (ErrorKind.RATE_LIMITED, 60.0)
    for words in ("a: bad key", "b: all gone", "c: slow down"):
        assert words in heard.error.message


def test_who_does_not_answer_is_left_for_the_next() -> None:
    a, b = Scripted("a", None, total_seconds=7.0), Scripted("b")
    chained = Chained(a, b)
    heard = chained.ask()
    chained.clock.advance(6.9)
    assert not heard.done
    chained.clock.advance(0.2)
    assert heard.value.served_by == "b"
    assert trouble_of(heard) == [("a", ErrorKind.TIMEOUT)]
    assert a.cancelled == 1
    assert not chained.clock.getDelayedCalls()


def test_cancelling_asks_nobody_else_and_blames_nobody() -> None:
    a, b = Scripted("a", None, (HIT,)), Scripted("b")
    chained = Chained(a, b)
    heard = chained.ask()
    heard.cancel()
    assert isinstance(heard.error, CancelledError)
    assert (a.cancelled, b.asked) == (1, [])
    assert not chained.clock.getDelayedCalls()
    assert chained.ask().value.served_by == "a"


def test_failures_of_one_moment_count_once() -> None:
    a, b = Scripted("a", None), Scripted("b")
    chained = Chained(a, b)
    heard = [chained.ask() for _ in range(5)]
    for waiting in list(a.waiting):
        waiting.errback(error(ErrorKind.SERVER))
    assert all(one.value.served_by == "b" for one in heard)
    assert chained.members[0].state.failures == 1


def test_a_late_success_does_not_lift_a_wish_it_knew_nothing_of() -> None:
    a, b = Scripted("a", None, error(ErrorKind.RATE_LIMITED, retry_at=100.0), (HIT,)), Scripted("b")
    chained = Chained(a, b)
    slow = chained.ask()
    chained.ask()
    a.waiting[0].callback((HIT,))
    assert slow.value.served_by == "a"
    assert chained.ask().value.served_by == "b"
    assert len(a.asked) == 2


def test_a_page_that_cannot_be_read_says_nothing_of_our_own_reader() -> None:
    clock = Clock()
    direct, jina = ScriptedReader("direct", error(ErrorKind.AUTH, "401")), ScriptedReader("jina")
    chain = FirstOf([paced(direct, clock), paced(jina, clock)], clock)
    for _ in range(3):
        page = Heard(read_part(chain, "https://example.org/", max_length=3)).value
        assert (page.served_by, page.content, page.truncated) == ("jina", "tex", True)
        assert [trouble.kind for trouble in page.failed] == [ErrorKind.AUTH]
    assert len(direct.asked) == 3


@given(st.lists(st.tuples(st.sampled_from(sorted(FALLS_THROUGH)), st.none() | st.floats(0, 100)), min_size=1))
def test_a_joined_error_loses_nothing(failed: list[tuple[ErrorKind, float | None]]) -> None:
    troubles = [ErrorInfo(kind, f"words{n}", f"p{n}", at) for n, (kind, at) in enumerate(failed)]
    one = join_errors(troubles, 0.0)
    assert all(trouble.message in one.message for trouble in troubles)
    assert one.kind in {trouble.kind for trouble in troubles}
    if len(troubles) > 1:
        assert one.retry_at == min((at for _, at in failed if at is not None and at > 0), default=None)


def test_a_chain_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FirstOf([], Clock())


def test_the_name_says_who_is_in_it() -> None:
    assert Chained(Scripted("a"), Scripted("b")).chain.name == "a,b"
    assert WebError(ErrorKind.AUTH, "x").provider == ""
