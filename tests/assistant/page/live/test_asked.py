"""The last requests are kept as the bytes they were sent as, within bounds, and shown without keys."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.page.live import AskedRequests
from mud_assistant.assistant.page.live.asked import HEAD_CHARS, TAIL_CHARS
from tests.effort import times

KEY = "sk-0123456789-0123456789"
URL = "https://models.test/v1/chat?key=never"


def keeper(**bounds: int) -> AskedRequests:
    return AskedRequests(lambda text: text.replace(KEY, "[key]"), **bounds)


def test_a_request_is_found_by_its_run_and_is_the_object_that_was_sent() -> None:
    asked, body = keeper(), b'{"model": "sage"}'
    asked.asked("a:1", "run-1", 1, URL, body)
    asked.asked("a:1", "run-1", 2, URL, body + b" ")
    asked.asked("a:2", "run-1", 1, URL, b"{}")
    found = asked.find("a:1", "run-1")
    assert [(one.step, one.text, one.bytes) for one in found] == [(1, body.decode(), 17), (2, body.decode() + " ", 18)]
    assert (found[0].origin, found[0].path) == ("https://models.test", "/v1/chat")
    assert asked._kept[0].body is body


@pytest.mark.parametrize(("bounds", "kept"), [({"max_requests": 3}, 3), ({"max_bytes": 100}, 10)])
def test_the_oldest_go_when_there_is_no_room(bounds: dict[str, int], kept: int) -> None:
    asked = keeper(**bounds)
    for step in range(20):
        asked.asked("a:1", "run", step, URL, b"0123456789")
    assert [one.step for one in asked.find("a:1", "run")] == list(range(20 - kept, 20))


def test_what_is_larger_than_all_the_room_pushes_nothing_out() -> None:
    asked = keeper(max_bytes=100)
    asked.asked("a:1", "run", 1, URL, b"small")
    asked.asked("a:1", "run", 2, URL, b"x" * 101)
    assert [one.step for one in asked.find("a:1", "run")] == [1]


def test_forgetting_drops_the_requests_of_that_assistant_only() -> None:
    asked = keeper()
    for me in ("a:1", "a:2"):
        asked.asked(me, "run", 1, URL, b"words")
    asked.forget("a:1")
    assert (asked.find("a:1", "run"), len(asked.find("a:2", "run"))) == ((), 1)


@pytest.mark.parametrize("at", [0, HEAD_CHARS - 10, HEAD_CHARS + 1015, -TAIL_CHARS - 10, -len(KEY) - 5])
def test_no_part_of_a_key_is_shown_wherever_a_long_request_is_cut(at: int) -> None:
    text = list("." * 300_000)
    start = at if at >= 0 else len(text) + at
    text[start : start + len(KEY)] = KEY
    asked = keeper()
    asked.asked("a:1", "run", 1, URL, "".join(text).encode())
    [shown] = asked.find("a:1", "run")
    assert (shown.is_cut, shown.bytes) == (True, 300_000)
    assert "0123" not in shown.text
    assert len(shown.text) < HEAD_CHARS + TAIL_CHARS + 20


@settings(max_examples=times(24), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("asks", "asks", "asks", "forgets")), st.sampled_from("ab"), st.integers(0, 13)),
        max_size=25,
    )
)
def test_whoever_is_forgotten_the_newest_are_kept_within_bounds(steps: list[tuple[str, str, int]]) -> None:
    asked, kept = keeper(max_requests=4, max_bytes=12), list[tuple[str, str, int, int]]()
    for number, (what, me, size) in enumerate(steps):
        run = f"run-{size % 2}"
        if what == "forgets":
            asked.forget(me)
            kept = [one for one in kept if one[0] != me]
        else:
            asked.asked(me, run, number, URL, b"x" * size)
            kept += [(me, run, number, size)] if size <= 12 else []
            while len(kept) > 4 or sum(one[3] for one in kept) > 12:
                del kept[0]
        for whose, which in product("ab", ("run-0", "run-1")):
            found = [(whose, which, one.step, one.bytes) for one in asked.find(whose, which)]
            assert found == [one for one in kept if one[:2] == (whose, which)]
