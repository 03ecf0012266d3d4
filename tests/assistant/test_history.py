from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from assistant.history import KEPT_ENTRIES, MASK, History
from llm import Message, ToolCall, ToolResult, assistant, tool_results


def count(messages: Sequence[Message]) -> int:
    """A token per character, so that budgets are easy to read."""
    return sum(len(m.text) + sum(len(r.text) for r in m.tool_results) + 10 * len(m.tool_calls) for m in messages)


def step(number: int, output: str) -> tuple[Message, Message]:
    call = ToolCall(f"c{number}", "look", {})
    return assistant(call), tool_results([ToolResult(call.id, "look", output)])


def test_the_stream_is_one_list_in_the_order_of_things() -> None:
    history = History(count)
    history.perceive(["Ann says: hi"], ["1"], 8)
    history.acted(step(1, "a room"))
    history.perceive(["Ann leaves."], ["2"], 3)
    roles = [message.role for message in history.messages()]
    assert roles == ["user", "assistant", "tool", "user"]


def test_events_of_a_failed_run_are_known_the_next_time() -> None:
    history = History(count)
    history.perceive(["Ann says: hi"], ["1"], 8)
    assert history.knows("1")
    assert not history.knows("2")


def test_a_scene_is_shown_until_it_changes_or_is_trimmed_away() -> None:
    history = History(count)
    assert not history.shows("[room]")
    history.perceive(["hello"], ["1"], 1, "[room]")
    assert history.messages()[0].text == "[room]\nhello"
    assert history.shows("[room]")
    assert not history.shows("[other room]")
    for number in range(30):
        history.perceive(["x" * 100], [f"e{number}"], 5)
    history.budget = 1500
    history.trim()
    assert not history.shows("[room]")


def test_nothing_is_cut_while_there_is_room() -> None:
    history = History(count)
    history.perceive(["x" * 100], ["1"], 1)
    history.budget = 100
    assert history.trim() is False
    assert len(history) == 1


def test_old_tool_outputs_are_masked_before_anything_goes() -> None:
    history = History(count)
    history.acted(step(0, "y" * 1000))
    for number in range(KEPT_ENTRIES):
        history.perceive([f"line {number}"], [str(number)], 1)
    history.budget = 800
    assert history.trim() is True
    assert history.messages()[1].tool_results[0].text == MASK
    assert len(history) == KEPT_ENTRIES + 1


def test_the_least_important_goes_first_and_the_oldest_of_equals() -> None:
    history = History(count)
    for number, importance in enumerate([5, 1, 9, 1]):
        history.perceive([f"{number}" * 100], [str(number)], importance)
    for number in range(KEPT_ENTRIES):
        history.perceive([f"k{number}"], [f"k{number}"], 1)
    history.budget = 400
    history.trim()
    kept = [message.text[0] for message in history.messages()][:2]
    assert kept == ["0", "2"]


def test_trimming_leaves_room_so_that_the_front_stays_the_same_for_a_while() -> None:
    history = History(count)
    for number in range(100):
        history.perceive(["x" * 100], [str(number)], 5)
    history.budget = 5000
    history.trim()
    front = history.messages()[0]
    for number in range(10):
        history.perceive(["x" * 100], [f"n{number}"], 5)
        history.budget = 5000
        assert history.trim() is False
        assert history.messages()[0] is front


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 10), st.integers(0, 600)), max_size=60), st.integers(100, 4000))
def test_trimming_never_parts_a_call_from_its_result_nor_touches_the_end(
    entries: list[tuple[bool, int, int]], budget: int
) -> None:
    history = History(count)
    for number, (acted, importance, size) in enumerate(entries):
        if acted:
            history.acted(step(number, "y" * size), importance)
        else:
            history.perceive(["x" * size], [str(number)], importance)
    before = history.messages()
    history.budget = budget
    history.trim()
    after = history.messages()
    asked = [call.id for message in after for call in message.tool_calls]
    answered = [result.call_id for message in after for result in message.tool_results]
    assert asked == answered
    assert after[-KEPT_ENTRIES:] == before[-KEPT_ENTRIES:]
    assert history.tokens == count(after)
