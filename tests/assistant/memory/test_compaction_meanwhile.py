"""Life goes on while a summary is made: appends, trims, forgetting and saving in every order around a compaction."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.assistant.journal import NO_CHANGE, StreamChange, StreamEntry
from mud_assistant.assistant.memory.stream.compaction import Compacted, Compaction, NoSummary, Skipped, compact
from mud_assistant.assistant.memory.stream.entries import Entry, mask_outputs
from mud_assistant.assistant.memory.stream.history import KEPT_ENTRIES, History
from mud_assistant.llm import LLMError, Message, ToolCall, ToolResult, assistant, tool_results
from mud_assistant.llm.providers import LocalProvider
from mud_assistant.tools.trust import TOP, Label, Source
from tests.effort import times

BUDGET = 2000
PROVIDER = LocalProvider("http://a/v1", "m")
PEOPLE = st.sampled_from(["ann", "bob", "cid", "dan", "eve", "fay"])
MARK = re.compile(r"<(\w+) (\d+)>")


def count(messages: Sequence[Message]) -> int:
    """A token per character and ten for each call.

    Encodes, as every provider does that counts: what was not encoded is not packed.
    """
    PROVIDER.count_tokens(messages)
    return sum(len(m.text) + sum(len(r.text) for r in m.tool_results) + 10 * len(m.tool_calls) for m in messages)


def marks(messages: Sequence[Message]) -> list[tuple[str, int]]:
    """Whose words are in the messages, and the numbers of them."""
    texts = [message.text + "".join(str(call.arguments) for call in message.tool_calls) for message in messages]
    return [(who, int(number)) for who, number in MARK.findall(" ".join(texts))]


class Life(RuleBasedStateMachine):
    """A history, a disk, and a model that repeats the last words of those it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History(count, BUDGET)
        self.number = 0
        self.forgotten: set[tuple[str, int]] = set()
        self.compaction: Deferred[Compaction] | None = None
        self.asked: list[Sequence[Message]] = []
        self.answer: Deferred[str] = Deferred()
        self.disk: dict[int, StreamEntry] = {}
        self.last_seq = 0
        self.saving: StreamChange | None = None

    def mark(self, who: str) -> str:
        self.number += 1
        return f"<{who} {self.number}>"

    @initialize(who=st.lists(PEOPLE, min_size=18, max_size=25))
    def live_already(self, who: list[str]) -> None:
        for one in who:
            self.perceive(one, 100, 8, 1)

    @rule(who=st.lists(PEOPLE, max_size=10))
    def hear_many(self, who: list[str]) -> None:
        self.live_already(who)

    @rule(who=PEOPLE, size=st.integers(60, 400), importance=st.integers(1, 10), authority=st.integers(0, 5))
    def perceive(self, who: str, size: int, importance: int, authority: int) -> None:
        line, label = self.mark(who).ljust(size, "."), Label(Source.PLAYER, authority, who)
        self.history.perceive([line], [f"event {self.number}"], importance, labels=[label])

    @rule(who=PEOPLE, size=st.integers(0, 500), authority=st.integers(0, 5))
    def act(self, who: str, size: int, authority: int) -> None:
        call = ToolCall(f"c{self.number}", "look", {"at": self.mark(who)})
        results = tool_results([ToolResult(call.id, "look", "y" * size)])
        self.history.acted([assistant(call), results], authority=authority, sources=[who])

    @rule(budget=st.integers(BUDGET // 2, BUDGET))
    def trim(self, budget: int) -> None:
        end = self.history.entries()[-KEPT_ENTRIES:]
        self.history.budget = budget
        self.history.trim()
        self.history.budget = BUDGET
        assert self.history.entries()[-KEPT_ENTRIES:] == end

    @rule(who=PEOPLE)
    def forget(self, who: str) -> None:
        self.forgotten |= {(who, number) for number in range(self.number + 1)}
        self.history.forget(who)
        assert not any(who in entry.sources for entry in self.history.entries())

    @precondition(lambda self: self.compaction is None and self.history.tokens > BUDGET * 0.7)
    @rule()
    def begin(self) -> None:
        def ask(prompt: Sequence[Message]) -> Deferred[str]:
            self.asked, self.answer = [prompt], Deferred()
            return self.answer

        self.asked = []
        self.at_begin = self.history.entries()
        self.forgotten_at_begin = set(self.forgotten)
        compaction = Deferred.fromCoroutine(compact(ask, self.history, "Sage"))
        self.compaction = compaction if self.asked else None

    @precondition(lambda self: self.compaction is not None)
    @rule()
    def end_well(self) -> None:
        shown = marks(self.asked[0])
        before = self.history.entries()
        self.answer.callback(" ".join(f"<{who} {number}>" for who, number in shown[-10:]))
        result = self.result()
        after = self.history.entries()
        if set(shown) & (self.forgotten - self.forgotten_at_begin):
            assert isinstance(result, Skipped)
        if not isinstance(result, Compacted):
            assert any(who in self.people(self.at_begin) for who, _ in self.forgotten - self.forgotten_at_begin)
            assert after == before
            return
        taken = self.at_begin[: result.entries]
        gone = {mark for entry in taken for mark in marks(entry.messages)}
        kept = [entry for entry in before if not gone & set(marks(entry.messages))]
        assert [entry.messages for entry in after[1:]] == [entry.messages for entry in kept]
        assert after[0].authority == min(entry.authority for entry in taken)
        assert set(after[0].sources) == self.people(taken)
        assert after[0].messages[0].text.startswith("[What happened before, in short: ")

    @precondition(lambda self: self.compaction is not None)
    @rule(how=st.sampled_from(["empty", "failure", "cancelled"]))
    def end_badly(self, how: str) -> None:
        before = self.history.entries()
        if how == "cancelled":
            assert self.compaction is not None
            self.compaction.cancel()
            self.compaction.addErrback(lambda failure: failure.trap(CancelledError) and None)
            self.compaction = None
        else:
            self.answer.callback(" ") if how == "empty" else self.answer.errback(LLMError("no"))
            assert isinstance(self.result(), NoSummary)
        assert self.history.entries() == before

    @precondition(lambda self: self.saving is None)
    @rule()
    def begin_to_save(self) -> None:
        self.saving = self.history.changes()

    @precondition(lambda self: self.saving is not None)
    @rule(well=st.booleans())
    def end_saving(self, well: bool) -> None:
        assert self.saving is not None
        if well:
            self.history.saved(self.write(self.saving))
        self.saving = None

    @precondition(lambda self: self.saving is None)
    @rule()
    def save_all(self) -> None:
        self.history.saved(self.write(self.history.changes()))
        assert self.history.changes() is NO_CHANGE
        kept = [(seq, mask_outputs(entry.messages), entry.authority, entry.sources) for seq, entry in self.disk.items()]
        entries = self.history.entries()
        assert kept == [(entry.seq, mask_outputs(entry.messages), entry.authority, entry.sources) for entry in entries]

    @precondition(lambda self: self.saving is None and self.compaction is None)
    @rule()
    def start_again(self) -> None:
        self.save_all()
        before, self.history = self.history, History(count, BUDGET)
        self.history.load(self.write_number(seq) for seq in self.disk)
        assert [marks(e.messages) for e in self.history.entries()] == [marks(e.messages) for e in before.entries()]
        assert self.history.changes() is NO_CHANGE

    @invariant()
    def the_sums_are_right(self) -> None:
        entries = self.history.entries()
        messages = [message for entry in entries for message in entry.messages]
        assert self.history.messages() == messages
        assert self.history.tokens == count(messages)
        assert self.history.min_level() == min((entry.authority for entry in entries), default=TOP)

    @invariant()
    def all_is_in_order_and_no_call_is_without_its_result(self) -> None:
        messages = self.history.messages()
        numbers = [number for _, number in marks(messages)]
        assert numbers == sorted(set(numbers))
        asked = [call.id for message in messages for call in message.tool_calls]
        assert asked == [result.call_id for message in messages for result in message.tool_results]

    @invariant()
    def nobody_who_was_forgotten_is_there(self) -> None:
        assert not self.forgotten & set(marks(self.history.messages()))

    def write(self, change: StreamChange) -> list[int]:
        for seq in change.forget:
            del self.disk[seq]
        first = self.last_seq + 1
        self.last_seq += len(change.new)
        self.disk.update(enumerate(change.new, first))
        return list(range(first, self.last_seq + 1))

    def write_number(self, seq: int) -> StreamEntry:
        entry = self.disk[seq]
        return StreamEntry(entry.messages, entry.importance, entry.event_ids, entry.authority, entry.sources, seq)

    def result(self) -> Compaction:
        assert self.compaction is not None
        results: list[Compaction] = []
        self.compaction.addCallback(results.append)
        self.compaction = None
        event(type(results[0]).__name__)
        return results[0]

    @staticmethod
    def people(entries: Sequence[Entry]) -> set[str]:
        return {who for entry in entries for who in entry.sources}


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=times(40), stateful_step_count=60, deadline=None)
