"""Finds what only the garbage collector can free, for tests."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import CoroutineType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any


def is_own(module: str) -> bool:
    """Whether a module is one of the program; connections and fakes have cycles of Twisted's."""
    own = module.startswith("mud_assistant.")
    return own and not module.startswith(("mud_assistant.llm.testing", "mud_assistant.resilience.testing"))


def owner(thing: Any) -> str:
    """The name of what is ours in this object, empty when it is not ours."""
    match thing:
        case TracebackType():
            return owner(thing.tb_frame)
        case FrameType():
            return thing.f_code.co_qualname if is_own(thing.f_globals.get("__name__", "")) else ""
        case CoroutineType():
            return "" if thing.cr_frame is None else owner(thing.cr_frame)
        case MethodType() | FunctionType():
            return thing.__qualname__ if is_own(thing.__module__ or "") else ""
        case _:
            return type(thing).__qualname__ if is_own(type(thing).__module__) else ""


@contextmanager
def garbage(found: Counter[str]) -> Iterator[None]:
    """Count what is ours and only the garbage collector could free, by name, after the block."""
    found.clear()
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(name for thing in gc.garbage if (name := owner(thing)))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
