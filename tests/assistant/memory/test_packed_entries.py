"""Entries that are put away are the same as those that are not, whatever happens to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.memory.stream.entries import Entry
from mud_assistant.assistant.memory.stream.entry_table import PackedEntries
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.llm import Message, ToolCall, ToolResult, assistant, tool_results, user
from mud_assistant.llm.messages import Text
from mud_assistant.llm.packing.packed import Packed
from mud_assistant.llm.providers import LocalProvider
from mud_assistant.tools.trust import Label, Source
from tests.benchmarks.weighing import weight

PROVIDER = LocalProvider("http://a/v1", "m")
PEOPLE = ("ann", "bob", "cid")
Deed = Callable[[History], object]


def count(messages: Sequence[Message]) -> int:
    """A token per character of text."""
    return sum(len(m.text) + sum(len(r.text) for r in m.tool_results) + 10 * len(m.tool_calls) for m in messages)


def encoded(messages: Sequence[Message]) -> int:
    """The same, for messages that can be packed."""
    PROVIDER.count_tokens(messages)
    return count(messages)


def heard(who: str, size: int, importance: int) -> Deed:
    label = Label(Source.PLAYER, PEOPLE.index(who), who)
    return lambda history: history.perceive(
        ["x" * size], [f"{who}{len(history)}"], importance, "[room]" if size % 2 else "", labels=[label]
    )


def acted(who: str, size: int, importance: int) -> Deed:
    def deed(history: History) -> None:
        call = ToolCall(f"c{size}", "look", {"size": size})
        result = ToolResult(call.id, "look", "y" * size, failed=size % 5 == 0)
        step = (assistant(Text("I"), call), tool_results([result]))
        history.acted(step, importance, authority=size % 4, sources=(who,))

    return deed


def saved(history: History) -> None:
    first = 1000 * len(history)
    history.saved(range(first, first + len(history.changes().new)))


def summarised(history: History) -> None:
    part = history.old_part(200)
    if part.keys:
        history.replace_by_summary(part, "in short", 8)


people, sizes, importances = st.sampled_from(PEOPLE), st.integers(0, 400), st.integers(1, 10)
deeds: st.SearchStrategy[Deed] = st.one_of(
    st.builds(heard, people, sizes, importances),
    st.builds(acted, people, sizes, importances),
    st.builds(lambda who: lambda history: history.forget(who), people),
    st.sampled_from([saved, summarised, History.trim, History.begin, History.rewind, History.changes]),
)


def shown(history: History) -> tuple[object, ...]:
    return (
        history.messages(),
        history.entries(),
        history.tokens,
        history.min_level(),
        history.changes(),
        len(history),
        [history.naming(who) for who in PEOPLE],
        history.shows("[room]"),
        [history.knows(f"{who}{number}") for who in PEOPLE for number in range(30)],
    )


@settings(deadline=None)
@given(st.lists(deeds, max_size=30))
def test_a_packed_stream_is_like_one_that_is_not(done: list[Deed]) -> None:
    packed, plain = History(encoded, 2500), History(count, 2500)
    for number in range(15):
        for history in (packed, plain):
            heard(PEOPLE[number % 3], 10 * number, 5)(history)
    saved(packed)
    saved(plain)
    assert any(isinstance(part, Packed) for part in packed.parts())
    for deed in done:
        assert deed(packed) == deed(plain)
        assert shown(packed) == shown(plain)


def entry(number: int) -> Entry:
    messages = (user(f"line {number}"),)
    PROVIDER.count_tokens(messages)
    return Entry(messages, 2**20 + number, 7, (f"e{number}",) * (number % 3), 2, ("ann",) * (number % 2), 2**40, 4)


def test_what_is_put_away_is_given_back_with_all_that_was_known_of_it() -> None:
    packed_entries = PackedEntries()
    for number in range(1, 10):
        packed_entries.add(number * 2, entry(number))
        if number in {3, 6}:
            packed_entries.pack_open()
    assert list(packed_entries.entries()) == [entry(number) for number in range(1, 10)]
    assert [part.text for part in packed_entries.parts()[-3:] if isinstance(part, Message)] == [
        "line 7",
        "line 8",
        "line 9",
    ]
    assert len(packed_entries) == 9
    assert list(packed_entries.unpack(13)) == [14, 16, 18]
    assert list(packed_entries.unpack(12)) == [number * 2 for number in range(1, 10)]
    del packed_entries.unpack()[4]
    packed_entries.pack_open()
    assert [each.messages[0].text for each in packed_entries.entries()] == [
        f"line {n}" for n in (1, 3, 4, 5, 6, 7, 8, 9)
    ]


def test_entries_are_kept_in_little_more_than_their_bytes() -> None:
    said = [
        user(f"Turn {number}: the rain has not stopped since noon, and the road is under water.")
        for number in range(500)
    ]
    history = History(PROVIDER.count_tokens)
    history.load(StreamEntry((message,), 5, (), 1, ("ann",), seq) for seq, message in enumerate(said, 1))
    wire = sum(len(message.wire["chat"]) for message in said)
    del said
    assert weight(history, PROVIDER) < wire + 40 * 500 + 5000
