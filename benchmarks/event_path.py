"""The way of one event: the files and functions of the product that a line passes until the character speaks.

    python -m benchmarks.event_path             two numbers
    python -m benchmarks.event_path --files     the files too, in the order in which they are first entered

A player says a line to an assistant in the embedded world; its model is a fake server over loopback that calls `say`.
It is counted from the moment at which the world hears the line until the body of the assistant is told to speak. The
assistant has spoken before, so what is done once in a life does not count; nor do the fake servers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from benchmarks.village import House, Tenant, Village
from mud_assistant.llm.testing import Call, FakeChat, Reply, serve

ROOT = Path(__file__).parents[1]
PACKAGES = ("assistant", "tools", "llm", "resilience")
#: Folders and files that are no part of what runs in a game.
TEST_DOUBLES = frozenset({"testing", "testing.py", "fakes"})
#: The fake servers, and what they stand on. What they call to make an answer is no part either.
FAKES = tuple(f"{ROOT / 'mud_assistant' / package / 'testing'}/" for package in ("llm", "resilience"))
LINE = "Sage, what is that on the desk?"
ANSWER = Reply(calls=(Call("say", {"text": "A brass astrolabe."}),))


@dataclass
class EventPath:
    """What was entered on the way. `files` are in the order of their first entry, as paths from the root."""

    files: dict[str, None] = field(default_factory=dict)
    functions: set[tuple[str, int, str]] = field(default_factory=set)
    spoke: bool = False
    #: The product's name of each file of code that was met; empty for foreign code and test doubles.
    _names: dict[str, str] = field(default_factory=dict)

    def enter(self, frame: FrameType) -> None:
        """Count a function, unless it is foreign, a module's own code, or a part of a function such as a lambda."""
        code = frame.f_code
        name = self._names.get(code.co_filename)
        if name is None:
            name = self._names[code.co_filename] = _name_of(code.co_filename)
        if name and not code.co_name.startswith("<") and not is_for_a_fake(frame):
            self.files[name] = None
            self.functions.add((name, code.co_firstlineno, code.co_name))


def _name_of(file: str) -> str:
    path, ours = Path(file), ROOT / "mud_assistant"
    if not path.is_relative_to(ours):
        return ""
    parts = path.relative_to(ours).parts
    return "/".join(parts) if parts[0] in PACKAGES and not TEST_DOUBLES & set(parts) else ""


def is_for_a_fake(frame: FrameType) -> bool:
    """Tell whether a fake server is at work, or what that calls to make its answer."""
    caller: FrameType | None = frame
    while caller is not None and not caller.f_code.co_filename.startswith(FAKES):
        caller = caller.f_back
    return caller is not None


@contextmanager
def entered(house: House) -> Iterator[EventPath]:
    """Count what is entered in the block until the assistant of this house speaks."""
    path, before, speaks = EventPath(), sys.getprofile(), type(house.home).say.__code__

    def saw(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or path.spoke:
            return
        if frame.f_code is speaks and frame.f_locals["self"] is house.home:
            path.spoke = True
        path.enter(frame)

    sys.setprofile(saw)
    try:
        yield path
    finally:
        sys.setprofile(before)


async def measure(reactor: Any) -> EventPath:
    """Return the way of one line. Raises RuntimeError when the assistant does not speak."""
    async with serve(FakeChat(reactor, [ANSWER, ANSWER]), reactor) as url:
        village = Village(reactor, 1)
        try:
            house = await village.settle(0, Tenant(url))
            await house.ask(LINE)
            with entered(house) as path:
                await house.ask(LINE)
        finally:
            await village.close()
    if not path.spoke:
        raise RuntimeError(f"the assistant did not speak; it said before: {house.heard}")
    return path


async def _main(reactor: Any, *, files: bool) -> None:
    path = await measure(reactor)
    if files:
        print("\n".join(path.files))
    print(f"{len(path.files)} files, {len(path.functions)} functions")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.event_path", description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files in the order of their first entry")
    options = parser.parse_args()
    react(lambda reactor: Deferred.fromCoroutine(_main(reactor, files=options.files)))
