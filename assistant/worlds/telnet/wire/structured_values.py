"""The data of GMCP, MSDP and MSSP as values. Everything in it was written by strangers: damaged data is no error."""

from __future__ import annotations

import orjson

from mud_assistant.assistant.worlds.telnet.wire.wire_events import Gmcp, Msdp, Mssp, Value

_VAR, _VAL, _TABLE, _TABLE_END, _ARRAY, _ARRAY_END = range(1, 7)
#: How deep tables and arrays of MSDP may stand in each other; deeper ones are read as texts.
_MOST_DEEP = 16


def read_gmcp(data: bytes) -> Gmcp | None:
    """Return a message of GMCP, None for one without a name."""
    package, _, told = data.decode("utf-8", "replace").strip().partition(" ")
    if not package:
        return None
    told = told.strip()
    try:
        return Gmcp(package, orjson.loads(told) if told else None)
    except orjson.JSONDecodeError:
        return Gmcp(package, told)


def read_msdp(data: bytes) -> list[Msdp]:
    """Return the variables of MSDP, in their order."""
    return [Msdp(name, value) for name, value in _MsdpReader(data).pairs(0)]


def read_mssp(data: bytes) -> Mssp:
    """Return what the game says of itself. Quotes round a value are taken off."""
    values: dict[str, tuple[str, ...]] = {}
    for variable in data.decode("utf-8", "replace").split(chr(_VAR))[1:]:
        name, *told = variable.split(chr(_VAL))
        values[name] = values.get(name, ()) + tuple(each.removeprefix('"').removesuffix('"') for each in told)
    return Mssp(values)


class _MsdpReader:
    """Goes once through the bytes of MSDP."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def pairs(self, depth: int) -> list[tuple[str, Value]]:
        """Return the variables up to the end of the table."""
        found: list[tuple[str, Value]] = []
        while self._at < len(self._data) and self._peek() != _TABLE_END:
            mark = self._next()
            if mark == _VAR:
                found.append((self._text(), ""))
            elif mark == _VAL and found:
                name, before = found[-1]
                # Several values without an array round them are a list too.
                value = self._value(depth)
                found[-1] = (
                    name,
                    value if before == "" else [*(before if isinstance(before, list) else [before]), value],
                )
        return found

    def _value(self, depth: int) -> Value:
        if self._at < len(self._data) and depth < _MOST_DEEP:
            if self._peek() == _TABLE:
                self._at += 1
                table = dict(self.pairs(depth + 1))
                self._at += 1
                return table
            if self._peek() == _ARRAY:
                self._at += 1
                return self._array(depth + 1)
        return self._text()

    def _array(self, depth: int) -> Value:
        values: list[Value] = []
        while self._at < len(self._data):
            mark = self._next()
            if mark == _ARRAY_END:
                break
            if mark == _VAL:
                values.append(self._value(depth))
        return values

    def _text(self) -> str:
        start = self._at
        while self._at < len(self._data) and not _VAR <= self._data[self._at] <= _ARRAY_END:
            self._at += 1
        return self._data[start : self._at].decode("utf-8", "replace")

    def _peek(self) -> int:
        return self._data[self._at]

    def _next(self) -> int:
        self._at += 1
        return self._data[self._at - 1]
