"""What something holds in memory, as the interpreter counts it: the same on every run and machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FrameType, FunctionType, ModuleType

#: Of these there is one, whoever holds them.
_SHARED = (ModuleType, FrameType, FunctionType, type)


def weight(root: object, *shared: object) -> int:
    """Bytes of `root` and of all that is reached from it without going through `shared`."""
    return sum(map(sys.getsizeof, reached(root, *shared)))


def reached(root: object, *shared: object) -> Iterator[object]:
    """`root` and all that is reached from it without going through `shared`, each once."""
    seen, left = set(map(id, shared)), [root]
    while left:
        found = left.pop()
        if id(found) in seen or isinstance(found, _SHARED):
            continue
        seen.add(id(found))
        yield found
        left.extend(gc.get_referents(found))
