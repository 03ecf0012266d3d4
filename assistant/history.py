"""The perception stream: events, the assistant's acts and their results as one chronological list, under a budget.

An entry is never split, so a call and its result are never parted. Trimming cuts down to a low-water mark, not to the
brim: the front of the prompt then stays byte-identical for many calls and the provider's prompt cache stays warm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from llm.messages import Message, ToolResult, tool_results, user

#: Entries at the end that trimming never touches (design.md 4.2).
KEPT_ENTRIES = 10
#: Share of the budget that trimming leaves in use.
LOW_WATER = 0.7
#: What stands for a tool output that was masked.
MASK = "[old output left out]"
#: Tool outputs shorter than this, in characters, are not worth masking.
_WORTH_MASKING = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """Something perceived, or one whole step: the assistant's message and the results of its calls."""

    messages: tuple[Message, ...]
    tokens: int
    importance: int


class History:
    """The stream of one assistant, kept within `budget` tokens by `trim`.

    `count` estimates the tokens of messages; each is counted once.
    """

    def __init__(self, count: Callable[[Sequence[Message]], int], budget: int = 1_000_000) -> None:
        self._count = count
        self.budget = budget
        self._entries: list[Entry] = []
        self._event_ids: dict[str, None] = {}
        self._scene: tuple[str, Entry] | None = None
        self.tokens = 0

    def __len__(self) -> int:
        """How many entries are kept."""
        return len(self._entries)

    def knows(self, event_id: str) -> bool:
        """Whether the event is already part of the stream, as after a failed run."""
        return event_id in self._event_ids

    def shows(self, scene: str) -> bool:
        """Whether this scene is the last one the stream shows, and still in it."""
        return self._scene is not None and self._scene[0] == scene

    def perceive(self, lines: Sequence[str], event_ids: Sequence[str], importance: int, scene: str = "") -> None:
        """Append what was perceived, as one message; a new `scene` stands before it."""
        self._event_ids.update(dict.fromkeys(event_ids))
        entry = self._append((user("\n".join([scene, *lines] if scene else lines)),), importance)
        if scene:
            self._scene = (scene, entry)

    def acted(self, messages: Sequence[Message], importance: int = 7) -> None:
        """Append one step: what the assistant did and what came of it."""
        self._append(tuple(messages), importance)

    def messages(self) -> list[Message]:
        """The stream as messages, oldest first."""
        return [message for entry in self._entries for message in entry.messages]

    def trim(self) -> bool:
        """Cut the stream to its budget; True when something was cut.

        Old tool outputs are masked first, then the least important entries go, the oldest of them first.
        """
        if self.tokens <= self.budget:
            return False
        target = int(self.budget * LOW_WATER)
        old = max(0, len(self._entries) - KEPT_ENTRIES)
        for index in range(old):
            if self.tokens <= target:
                return True
            self._replace(index, self._masked(self._entries[index]))
        self._drop(old, target)
        return True

    def _append(self, messages: tuple[Message, ...], importance: int) -> Entry:
        entry = Entry(messages, self._count(messages), importance)
        self._entries.append(entry)
        self.tokens += entry.tokens
        return entry

    def _replace(self, index: int, entry: Entry) -> None:
        self.tokens += entry.tokens - self._entries[index].tokens
        self._entries[index] = entry

    def _drop(self, old: int, target: int) -> None:
        """Leave out the least important of the first `old` entries until the target is met."""
        order = sorted(range(old), key=lambda index: (self._entries[index].importance, index))
        gone: set[int] = set()
        for index in order:
            if self.tokens <= target:
                break
            gone.add(index)
            self.tokens -= self._entries[index].tokens
        if self._scene is not None and any(self._entries[index] is self._scene[1] for index in gone):
            self._scene = None
        self._entries = [entry for index, entry in enumerate(self._entries) if index not in gone]
        while len(self._event_ids) > 10 * KEPT_ENTRIES + len(self._entries):
            self._event_ids.pop(next(iter(self._event_ids)))

    def _masked(self, entry: Entry) -> Entry:
        messages = tuple(_mask(message) for message in entry.messages)
        if all(new is old for new, old in zip(messages, entry.messages, strict=True)):
            return entry
        return replace(entry, messages=messages, tokens=self._count(messages))


def _mask(message: Message) -> Message:
    results = message.tool_results
    if not any(len(result.text) > _WORTH_MASKING for result in results):
        return message
    return tool_results([_masked_result(result) for result in results])


def _masked_result(result: ToolResult) -> ToolResult:
    return replace(result, text=MASK) if len(result.text) > _WORTH_MASKING else result
