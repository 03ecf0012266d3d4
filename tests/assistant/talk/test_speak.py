"""The prompt of a small model: which earlier turns stand in it, and that its beginning stays the same for a while."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.language.attend import ToldNotes, Turn, View
from mud_assistant.assistant.loop.talk.question import LEAST_TURNS, MAX_TURNS, last_turns, without_name
from mud_assistant.assistant.loop.talk.speak import SPARED_REMARKS
from mud_assistant.assistant.loop.talk.topics import is_remark
from mud_assistant.llm.embedded.fetching.models import DEFAULT_MODEL

MARLO = View("Marlo", "You are the ferryman.")
TURNS = [Turn("Petra", f"This is matter number {number}.", f"So it is, matter {number}.") for number in range(60)]


def shown(earlier: list[Turn]) -> list[str]:
    """The lines of the earlier turns that the model is shown."""
    return [message.text for message in last_turns("And now?", MARLO, ToldNotes(), earlier)[:-1:2]]


@given(st.lists(st.integers(0, 999), max_size=30))
def test_some_of_the_latest_turns_are_shown_and_none_is_left_out_between(lines: list[int]) -> None:
    earlier = [Turn("Petra", f"Matter {line} of {number}.", "Yes.") for number, line in enumerate(lines)]
    count = len(shown(earlier))
    assert min(len(earlier), LEAST_TURNS) <= count <= MAX_TURNS
    assert shown(earlier) == [turn.heard for turn in earlier][len(earlier) - count :]


def test_the_first_turn_stays_the_first_for_some_turns_so_that_a_server_keeps_them_read() -> None:
    firsts = [shown(TURNS[:count])[0] for count in range(MAX_TURNS + 1, len(TURNS))]
    changes = sum(one != other for one, other in pairwise(firsts))
    assert changes * 2 < len(firsts)


def test_the_model_that_is_spared_remarks_is_the_smallest_that_comes_along() -> None:
    assert f"{SPARED_REMARKS}.gguf" == DEFAULT_MODEL.file_name


def test_a_wish_is_no_remark_whoever_is_called_in_it() -> None:
    for line in ("Sage, tell me a story", "tell me a story, Sage", "Tell me a story"):
        assert not is_remark(without_name(line, "Sage"))
    assert is_remark(without_name("Sage, I have lost my hat.", "Sage"))
