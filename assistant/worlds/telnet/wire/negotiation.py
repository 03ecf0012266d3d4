"""Which options we accept, and what we answer (RFC 1143): each change of a state once, never a state that is so.

We never ask first, so of RFC 1143's states only YES and NO can be, and NO after a refusal: a server that asks for the
same again gets no second refusal, which it might answer in turn. A server that takes its request back may ask anew.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from enum import IntEnum

from mud_assistant.assistant.worlds.telnet.wire.telnet_codec import DO, DONT, IAC, WILL, WONT, subnegotiation

ECHO, SGA, TTYPE, EOR, NAWS, CHARSET, MSDP, MSSP, MCCP2, GMCP = 1, 3, 24, 25, 31, 42, 69, 70, 86, 201
#: What the server may do, and what we do when it asks. Everything else is refused.
_SERVER = frozenset({ECHO, SGA, EOR, CHARSET, MSDP, MSSP, MCCP2, GMCP})
_OURS = frozenset({SGA, TTYPE, NAWS, CHARSET, MSDP, GMCP})
#: The columns and rows of our window: so many rows turn most pagers off.
_COLUMNS, _ROWS = 200, 1000
NAME = "MUD-ASSISTANT"
#: ANSI, UTF-8, 256 colours and proxy. We are neither a VT100 nor a screen reader.
_ANSI, _UTF8, _COLOURS, _PROXY = 1, 4, 8, 128
#: The variables of MSDP that we ask to be told.
_REPORTED = ("CHARACTER_NAME", "HEALTH", "HEALTH_MAX", "ROOM_NAME", "ROOM_VNUM", "ROOM_EXITS")
_HELLO = f'Core.Hello {{"client":"{NAME}","version":"1","automatic":true}}'
_SUPPORTS = 'Core.Supports.Set ["Char 1","Room 1","Comm.Channel 1"]'
_SEND, _IS = 1, 0
_REQUEST, _ACCEPTED, _REJECTED = 1, 2, 3


class _State(IntEnum):
    NO = 0
    REFUSED = 1
    YES = 2


class OptionStates:
    """The options of one connection: what each side does, and the bytes that answer.

    `compress` is whether MCCP2 is accepted, `encoding` the only one we speak, UTF-8 when it is empty.
    """

    def __init__(self, *, compress: bool = True, encoding: str = "") -> None:
        self._server: dict[int, _State] = {}
        self._ours: dict[int, _State] = {}
        self._asked_type = 0
        self._encoding = _codec(encoding or "utf-8")
        self._refused = frozenset() if compress else frozenset({MCCP2})
        #: The encoding that was agreed on, empty before.
        self.agreed = ""

    def is_on(self, option: int) -> bool:
        """Tell whether the server does this."""
        return self._server.get(option) is _State.YES

    def request(self, command: int, option: int) -> bytes:
        """Return what answers a WILL, WONT, DO or DONT: nothing, where nothing changes."""
        from_server = command in {WILL, WONT}
        states = self._server if from_server else self._ours
        yes, no = (DO, DONT) if from_server else (WILL, WONT)
        allowed = (_SERVER if from_server else _OURS) - self._refused
        now = states.get(option, _State.NO)
        if command in {WONT, DONT}:
            states[option] = _State.NO
            if now is not _State.YES:
                return b""
            if option == TTYPE:
                self._asked_type = 0
            return bytes([IAC, no, option])
        if option not in allowed:
            states[option] = _State.REFUSED
            return b"" if now is _State.REFUSED else bytes([IAC, no, option])
        states[option] = _State.YES
        return b"" if now is _State.YES else bytes([IAC, yes, option]) + self._opening(option)

    def _opening(self, option: int) -> bytes:
        """Return what we say of ourselves when an option was just agreed on by one side, and was not by the other."""
        if option == NAWS:
            return subnegotiation(NAWS, _COLUMNS.to_bytes(2, "big") + _ROWS.to_bytes(2, "big"))
        if self._server.get(option) is self._ours.get(option):
            return b""
        if option == GMCP:
            return subnegotiation(GMCP, _HELLO.encode()) + subnegotiation(GMCP, _SUPPORTS.encode())
        if option == MSDP:
            return b"".join(subnegotiation(MSDP, b"\x01REPORT\x02" + name.encode()) for name in _REPORTED)
        return b""

    def data(self, option: int, data: bytes) -> bytes:
        """Return what answers the data of an option that asks for something."""
        answers: dict[int, Callable[[bytes], bytes]] = {TTYPE: self._terminal, CHARSET: self._charset}
        if option not in answers or _State.YES not in {self._ours.get(option), self._server.get(option)}:
            return b""
        return answers[option](data)

    def _terminal(self, data: bytes) -> bytes:
        if data[:1] != bytes([_SEND]):
            return b""
        bits = _ANSI | _COLOURS | _PROXY | (_UTF8 if self._encoding == "utf-8" else 0)
        names = (NAME, "ANSI-256COLOR", f"MTTS {bits}")
        name = names[min(self._asked_type, len(names) - 1)]
        self._asked_type += 1
        return subnegotiation(TTYPE, bytes([_IS]) + name.encode())

    def _charset(self, data: bytes) -> bytes:
        if data[:1] != bytes([_REQUEST]) or len(data) < len("_;x"):
            return b""
        for name in data[2:].split(data[1:2]):
            if _codec(name.decode("ascii", "replace").strip()) == self._encoding:
                self.agreed = self._encoding
                return subnegotiation(CHARSET, bytes([_ACCEPTED]) + name)
        return subnegotiation(CHARSET, bytes([_REJECTED]))


def _codec(name: str) -> str:
    """Return the one name that Python has for an encoding, empty for one that it does not know."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
