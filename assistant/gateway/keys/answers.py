"""Remembers for which key each answer was made that a provider keeps, so that no other key goes on from it.

It is in memory: after a restart a client sends its conversation itself once.
"""

from __future__ import annotations

from collections import OrderedDict

import orjson

from mud_assistant.llm.messages import JSONObject

#: The most ids that are remembered; the oldest are forgotten.
MAX_IDS = 50_000
#: The most bytes of an event that is read.
_MAX_EVENT = 4 * 1024 * 1024
#: The events that name an answer or an item.
_NAMING = (b'"response.created"', b'"response.output_item.added"', b'"response.output_item.done"')


class AnswerOwners:
    """The names of keys by the ids of answers and their items."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        """Return how many ids are known."""
        return len(self._names)

    def add(self, made: str, name: str) -> None:
        """Remember that an answer or an item was made for the key of this name. The first one keeps it."""
        self._names.setdefault(made, name)
        if len(self._names) > MAX_IDS:
            self._names.popitem(last=False)

    def is_of(self, made: str, name: str) -> bool:
        """Tell whether it was made for the key of this name."""
        return self._names.get(made) == name


class AnswerIds:
    """Reads the ids in one answer of the Responses API, for the key of this name."""

    def __init__(self, owners: AnswerOwners, name: str) -> None:
        self._owners = owners
        self._name = name
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Read a piece of a stream."""
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest if len(rest) <= _MAX_EVENT else b""
        for line in lines:
            if line.startswith(b"data:") and any(kind in line for kind in _NAMING):
                self._read(line.removeprefix(b"data:"))

    def whole(self, body: bytes) -> None:
        """Read an answer that came whole."""
        self._read(body)

    def _read(self, data: bytes) -> None:
        try:
            said = orjson.loads(data)
        except orjson.JSONDecodeError:
            return  # the provider's parser says so
        if not isinstance(said, dict):
            return
        answer = said.get("response", said)
        items = [said.get("item"), *(_list(answer.get("output")) if isinstance(answer, dict) else ())]
        for found in (answer, *items):
            if isinstance(found, dict) and isinstance(made := found.get("id"), str):
                self._owners.add(made, self._name)


def _list(value: object) -> list[JSONObject]:
    return value if isinstance(value, list) else []
