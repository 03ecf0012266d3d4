"""Histories of the turns of a gateway: whatever became of those before, the next is counted and paid for alike."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted

from mud_assistant.assistant.gateway.keys import KeyLimits
from mud_assistant.llm.testing import Hang, HttpError, RecordedRequest, Reply
from mud_assistant.llm.testing.script import Step
from mud_assistant.resilience import Allowance
from tests.assistant.gateway.asking import PATHS, ask, body_of, connect, get, post
from tests.assistant.gateway.http.reached import WireClient, until
from tests.assistant.gateway.standing import Standing, reactor, standing
from tests.assistant.gateway.test_limits import known

TURNS, AT_ONCE = 60, 2
USAGE = (60, 40)
FACES: Mapping[str, Step] = {
    "answered": Reply("Here.", usage=USAGE),
    "hangs": Hang("headers"),
    "fails": HttpError(500),
    "refuses": HttpError(400, "no such thing"),
}


def _provider(request: RecordedRequest) -> Step:
    """Answer as the last word of the request says."""
    messages: Any = request.body["messages"]
    return FACES[messages[-1]["content"]]


def _said(word: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": word}]


class History:
    """The turns of one key, and what must be true after each."""

    def __init__(self, gateway: Standing, secret: str, chance: Random) -> None:
        self.gateway = gateway
        self.key = {"authorization": f"Bearer {secret}"}
        self.chance = chance
        self.waiting: list[WireClient] = []
        self.answered = 0
        self.has_failed = False

    async def turn(self) -> str:
        """Do one thing and check what became of it. Return what it was."""
        dialect, streams = self.chance.choice(["chat", "messages"]), self.chance.random() < 0.5
        what = self.chance.choice(["answered", "answered", "hangs", "hangs", "leaves", "leaves", "refuses", "fails",
                                   "wrong", "unknown", "lists", "stranger"])  # fmt: skip
        if what == "fails" and self.has_failed:  # the server would be left alone
            what = "answered"
        match what:
            case "leaves" if self.waiting:
                self.waiting.pop(self.chance.randrange(len(self.waiting))).transport.abortConnection()
            case "leaves":
                pass
            case "hangs" if len(self.waiting) < AT_ONCE:
                before = len(self.gateway.fake.chats)
                body = body_of(dialect, streams=streams, messages=_said("hangs"))
                self.waiting.append(await connect(self.gateway, post(PATHS[dialect], body, **self.key)))
                await until(reactor, lambda: len(self.gateway.fake.chats) > before)
            case "stranger":
                assert (await self._ask(dialect, streams, "answered", authorization="Bearer mak_wrong")) in {401, 429}
            case "lists":
                expected = 429 if len(self.waiting) == AT_ONCE else 200
                assert (await get(self.gateway, "/v1/models", **self.key)).status == expected
            case _:
                await self._asks(what, dialect, streams)
        return what

    async def _asks(self, what: str, dialect: str, streams: bool) -> None:
        status = await self._ask(dialect, streams, what)
        if len(self.waiting) == AT_ONCE:
            assert status == 429
            return
        usual = {"answered": 200, "fails": 502, "refuses": 400, "wrong": 400, "unknown": 404}
        assert status == usual[what]
        self.has_failed = what == "fails" or (self.has_failed and what != "answered")
        self.answered += what == "answered"

    async def _ask(self, dialect: str, streams: bool, what: str, **headers: str) -> int:
        more: dict[str, Any] = {"messages": _said(what if what in FACES else "answered")}
        if dialect == "chat" and streams:  # else what it used is not told, and estimated
            more["stream_options"] = {"include_usage": True}
        odd: dict[str, dict[str, Any]] = {"wrong": {"brand_new": True}, "unknown": {"model": "nobody"}}
        more |= odd.get(what, {})
        got = await ask(
            self.gateway, PATHS[dialect], {**body_of(dialect, streams=streams), **more}, **{**self.key, **headers}
        )
        return got.status

    async def check(self) -> None:
        """What is under way, reserved and spent is what the turns left."""
        await until(reactor, lambda: len(self.gateway.gateway._listener) == len(self.waiting))
        uses = self.gateway.gateway._keys._uses.values()
        assert sum(use.in_flight for use in uses) == len(self.waiting)
        (offered,) = self.gateway.gateway.models._offered.values()
        assert offered.places.limit - offered.places.tokens == len(self.waiting)
        ledger = self.gateway.service.parts.ledger
        assert ledger.reserved("key:laptop").calls == len(self.waiting)
        assert ledger.spent("key:laptop").tokens == sum(USAGE) * self.answered


@pytest.mark.parametrize("seed", range(3))
@pytest_twisted.ensureDeferred
async def test_whatever_became_of_the_turns_before_the_next_is_counted_alike(tmp_path: Path, seed: int) -> None:
    limits = KeyLimits(day=Allowance(tokens=1_000_000), in_flight=AT_ONCE, per_second=10_000)
    async with standing(tmp_path, _provider, more={"max_in_flight": 16}) as gateway:
        history = History(gateway, await known(gateway, "laptop", limits), Random(seed))  # noqa: S311  (repeatable)
        done = []
        for _ in range(TURNS):
            done.append(await history.turn())
            await history.check()
        assert len({*done}) >= 8
        for client in history.waiting:
            client.transport.abortConnection()
        history.waiting.clear()
        await history.check()


#: What a client may say, in the dialect of messages, and what of it reaches a server of Chat Completions.
SAYS: Mapping[str, tuple[Any, str]] = {
    "temperature": (0.9, "temperature"),
    "top_k": (7, "top_k"),
    "top_p": (0.5, "top_p"),
    "stop_sequences": (["END"], "stop"),
}


@pytest_twisted.ensureDeferred
async def test_what_a_client_leaves_unset_is_as_the_owner_set_it(tmp_path: Path) -> None:
    """Each option by itself and with each other: none of them carries one that was not set."""
    own = {"temperature": 0.25, "extra_params": {"top_k": 3, "x_own": 1}}
    async with standing(tmp_path, lambda _: Reply("Here."), more=own) as gateway:
        for said in itertools.chain.from_iterable(itertools.combinations(SAYS, size) for size in range(len(SAYS) + 1)):
            body = body_of("messages", streams=False, **{name: SAYS[name][0] for name in said})
            assert (await ask(gateway, PATHS["messages"], body)).status == 200
            sent = gateway.fake.chats[-1].body
            expected: dict[str, Any] = {"temperature": 0.25, "top_k": 3, "x_own": 1}
            expected |= {SAYS[name][1]: SAYS[name][0] for name in said}
            names = {"temperature", "top_k", "top_p", "stop", "seed", "x_own"}
            assert {name: value for name, value in sent.items() if name in names} == expected, said
            assert None not in sent.values()
