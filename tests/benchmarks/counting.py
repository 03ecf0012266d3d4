"""A reactor that counts its timers, sends on sockets counted, and an assistant that lives on it over loopback."""

from __future__ import annotations

import dataclasses
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from msgspec import structs
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.interfaces import IDelayedCall
from zope.interface import alsoProvides, providedBy

from benchmarks.event_path import is_for_a_fake
from benchmarks.village import ENDLESS, House, Tenant, Village, past
from mud_assistant.llm.messages import JSONObject, Message
from mud_assistant.llm.providers import LocalProvider
from mud_assistant.llm.testing import FakeChat, Reply, serve

real: Any = _reactor
_ROOT = Path(__file__).parents[2] / "mud_assistant"


class CountingReactor:
    """The real reactor, with the number of timers it was asked for and how many of them were at once."""

    def __init__(self) -> None:
        self.timers = 0
        alsoProvides(self, *providedBy(real))

    def __getattr__(self, name: str) -> Any:
        return getattr(real, name)

    def callLater(  # noqa: N802  (Twisted's name)
        self,
        delay: float,
        callable: Callable[..., Any],  # noqa: A002  (the interface's name)
        *args: object,
        **kwargs: object,
    ) -> IDelayedCall:
        self.timers += 1
        delayed: IDelayedCall = real.callLater(delay, callable, *args, **kwargs)
        return delayed


class CountingProvider(LocalProvider):
    """A provider that knows which messages it encoded, and the tokens of which it estimated."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "stub")
        self.encoded: list[Message] = []
        self.estimated: list[Message] = []

    def count_tokens(self, messages: Sequence[Message] | str) -> int:
        assert not isinstance(messages, str)
        self.estimated += messages
        return super().count_tokens(messages)

    def encode_message(self, message: Message) -> list[JSONObject]:
        self.encoded.append(message)
        return super().encode_message(message)


@dataclass(frozen=True)
class Counted:
    """An assistant, and what counts for it."""

    house: House
    reactor: CountingReactor
    provider: CountingProvider
    fake: FakeChat


@asynccontextmanager
async def village_of_one(script: list[Reply], messages: int = 20) -> AsyncIterator[Counted]:
    """An assistant with so many messages of history, and what counts for it."""
    counting, fake = CountingReactor(), FakeChat(real, script)
    async with serve(fake, real) as url:
        village = Village(counting, 1)
        provider = CountingProvider(url)
        house = await village.settle(0, Tenant(url, ENDLESS, stream=past(messages), provider=provider))
        await house.assistant.settled()
        try:
            yield Counted(house, counting, provider, fake)
        finally:
            await village.close()


@dataclass
class Calls:
    """How often one function of ours was called or gone on with."""

    code: CodeType
    count: int = 0

    def saw(self, frame: FrameType, event: str, argument: object) -> None:
        """What the interpreter tells of every call."""
        self.count += event == "call" and frame.f_code is self.code


@contextmanager
def calls_of(function: FunctionType) -> Iterator[Calls]:
    """Every call of that function in the block."""
    calls, before = Calls(function.__code__), sys.getprofile()
    sys.setprofile(calls.saw)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@dataclass
class Sends:
    """How often something was sent to one port."""

    port: int
    count: int = 0

    def saw(self, frame: FrameType, event: str, function: Any) -> None:
        """What the interpreter tells of every call of a function written in C."""
        if event != "c_call" or getattr(function, "__name__", "") != "send":
            return
        sender = getattr(function, "__self__", None)
        if isinstance(sender, socket.socket) and sender.getpeername()[1] == self.port:
            self.count += 1


@contextmanager
def sends_to(port: int) -> Iterator[Sends]:
    """Every `send` on a socket to that port in the block; the server in the same process is not counted."""
    sends, before = Sends(port), sys.getprofile()
    sys.setprofile(sends.saw)
    try:
        yield sends
    finally:
        sys.setprofile(before)


@dataclass
class OwnCalls:
    """How often a function of these folders was called or taken up again, and how often one copied a value."""

    folders: tuple[str, ...]
    count: int = 0
    replaced: int = 0

    def saw(self, frame: FrameType, event: str, function: Any) -> None:
        """What the interpreter tells of every call."""
        if event == "c_call":
            self.replaced += function is structs.replace and self._is_own(frame)
        elif event != "call":
            return
        elif self._is_own(frame):
            self.count += 1
        elif frame.f_code is dataclasses.replace.__code__ and frame.f_back is not None:
            self.replaced += self._is_own(frame.f_back)

    def _is_own(self, frame: FrameType) -> bool:
        """Tell whether the product itself is at work, and not a fake, or what that calls to make its answer."""
        return frame.f_code.co_filename.startswith(self.folders) and not is_for_a_fake(frame)


@contextmanager
def own_calls(*packages: str) -> Iterator[OwnCalls]:
    """The calls made in the block, of functions of these packages."""
    calls, before = OwnCalls(tuple(f"{_ROOT / package}/" for package in packages)), sys.getprofile()
    sys.setprofile(calls.saw)
    try:
        yield calls
    finally:
        sys.setprofile(before)
