"""Puts the pieces of tool calls together. Each goes to the call it belongs to, not simply to the latest one.

Servers differ in how they number, name and repeat the pieces of a call; the comments here say which differences are
handled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from mud_assistant.llm.loose_json.repair import holds_nothing, parse_arguments
from mud_assistant.llm.messages import JSONObject, ToolCall
from mud_assistant.llm.response import CallDelta

#: Characters of arguments that one call may have.
MAX_ARGUMENT_CHARS = 1024 * 1024


@dataclass(slots=True)
class OpenCall:
    """A tool call whose pieces are still arriving."""

    index: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    whole: JSONObject | None = None
    size: int = 0
    is_legacy: bool = False

    @property
    def is_phantom(self) -> bool:
        """Whether this is not a real call: some servers send an empty one with every answer."""
        if self.name.strip():
            return False
        return not self.whole and holds_nothing("".join(self.pieces))

    @property
    def has_arguments(self) -> bool:
        """Whether any arguments have arrived."""
        return self.whole is not None or any(self.pieces)


class CallPieces:
    """The calls of one answer, collected piece by piece.

    `known` are the names of the tools offered. They are used only to join a name that came in two pieces.
    """

    def __init__(self, known: Collection[str], new_id: Callable[[], str]) -> None:
        self._known = known
        self._new_id = new_id
        self._calls: list[OpenCall] = []

    def add(
        self,
        index: int | None,
        call_id: str | None,
        name: str | None,
        arguments: str | JSONObject | None,
        *,
        is_legacy: bool = False,
    ) -> OpenCall | None:
        """Take a piece. Return the call that it begins, or None when it continues one."""
        last = self._calls[-1] if self._calls else None
        continues = last is not None and index is not None and last.index == index and last.is_legacy == is_legacy
        if last is not None and continues and not (call_id or name) and isinstance(arguments, str):
            _add_arguments(last, arguments)  # as nearly all pieces do
            return None
        return self._take(CallDelta(index, call_id, name, arguments, is_legacy))

    @property
    def open(self) -> tuple[OpenCall, ...]:
        """The calls so far, in the order in which they began. Each grows while its pieces arrive.

        A call with neither a name nor arguments yet may not be a real one, and is left out.
        """
        return tuple(call for call in self._calls if call.name or call.has_arguments)

    def real(self) -> list[OpenCall]:
        """Return the calls without phantoms, and without an old-style call that only repeats a new one."""
        real = [call for call in self._calls if not call.is_phantom]
        is_repeated = any(call.name and not call.is_legacy for call in real)
        return [call for call in real if not (call.is_legacy and is_repeated)]

    def finished(self, real: Iterable[OpenCall], *, complete: bool) -> list[ToolCall]:
        """Return these calls as they can be run, each with an id of its own. Not `complete`: the answer was cut off."""
        taken: set[str] = set()
        calls = []
        for call in real:
            call_id = call.id if call.id and call.id not in taken else self._new_id()
            taken.add(call_id)
            calls.append(_finish_call(call, call_id, complete=complete))
        return calls

    def _take(self, piece: CallDelta) -> OpenCall | None:
        if not (piece.name or piece.arguments or piece.id):
            return None
        call, is_new = self._slot(piece)
        if piece.name and piece.name != call.name and not call.has_arguments and call.name + piece.name in self._known:
            call.name += piece.name
        elif piece.name and not call.name.strip():
            call.name = piece.name
        if isinstance(piece.arguments, str):
            _add_arguments(call, piece.arguments)
        elif piece.arguments is not None and call.whole is None:  # the whole wins over its pieces
            call.whole = piece.arguments
        return call if is_new else None

    def _slot(self, piece: CallDelta) -> tuple[OpenCall, bool]:
        """Return the call this piece belongs to, and whether it is new, since there was none."""
        found = self._by_id(piece) if piece.index is None else self._by_index(piece)
        is_new = found is None or (isinstance(piece.arguments, Mapping) and found.whole is not None)
        if found is None or is_new:
            found = OpenCall(piece.index, piece.id or "", "", is_legacy=piece.is_legacy)
            self._calls.append(found)
        if piece.id and not found.id:
            found.id = piece.id
        return found, is_new

    def _by_index(self, piece: CallDelta) -> OpenCall | None:
        """Find the call with this index. Return None for a new call that reuses the index under another id."""
        for call in reversed(self._calls):
            if call.index == piece.index and call.is_legacy == piece.is_legacy:
                is_new = piece.id and call.id and piece.id != call.id and piece.name
                return None if is_new else call
        return None

    def _by_id(self, piece: CallDelta) -> OpenCall | None:
        """Find the call of a piece without an index.

        It is the call with the same id. A piece without an id continues the last call, unless it begins a new one.
        """
        if piece.id:
            return next((call for call in self._calls if call.id == piece.id), None)
        new = [call for call in self._calls if not call.is_legacy]
        if not new or (piece.name and not self._continues_name(new[-1], piece.name)):
            return None
        if piece.name:
            return new[-1]
        return next((call for call in reversed(new) if call.name), new[-1])  # an empty call may follow it

    def _continues_name(self, last: OpenCall, name: str) -> bool:
        return not last.has_arguments and (not last.name or last.name + name in self._known)


def _add_arguments(call: OpenCall, piece: str) -> None:
    call.size += len(piece)
    if call.size <= MAX_ARGUMENT_CHARS:
        call.pieces.append(piece)


def _finish_call(call: OpenCall, call_id: str, *, complete: bool) -> ToolCall:
    if call.size > MAX_ARGUMENT_CHARS:
        return ToolCall(call_id, call.name, {}, f"arguments of more than {MAX_ARGUMENT_CHARS} characters")
    raw = call.whole if call.whole is not None else "".join(call.pieces)
    arguments, problem = parse_arguments(raw, complete=complete)
    if not call.name.strip():
        return ToolCall(call_id, "", arguments, problem or "the call does not name a tool")
    return ToolCall(call_id, call.name, arguments, problem)
