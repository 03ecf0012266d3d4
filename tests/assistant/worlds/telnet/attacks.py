"""What a game sends that means harm, and the cause for which the connection is closed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause

MEGABYTE = 1024 * 1024


def _bomb() -> Iterator[bytes]:
    packed = zlib.compress(b"\n" * (20 * MEGABYTE), 9)
    yield b"\xff\xfb\x56\xff\xfa\x56\xff\xf0"
    yield from (packed[at : at + 65_536] for at in range(0, len(packed), 65_536))


ATTACKS: list[tuple[Callable[[], Iterable[bytes]], Cause]] = [
    (_bomb, Cause.BOMB),
    (lambda: [b"\xff\xfa\xc9", *repeat(b"x" * 65_536, 200)], Cause.SUBNEGOTIATION),
    (lambda: repeat(b"x" * 65_536, 160), Cause.LONG_LINE),
    (lambda: repeat(b"\xff\xfb\x01\xff\xfc\x01" * 5000, 200), Cause.OPTIONS),
    (lambda: repeat(b"\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0" * 5000, 200), Cause.OPTIONS),
    (lambda: [b"\x1b]", *repeat(b"x" * 65_536, 160)], Cause.LONG_LINE),
]
