"""Turns of a whole gateway against a model of them: who is let in, who answers, who pays, and what the client gets.

Clients of several keys ask in any order, in every dialect, streamed and whole. The servers fail in all their ways, some
clients leave half way, and some wait for a place. Time is moved by the test alone.
"""

from __future__ import annotations

import secrets
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import orjson
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from twisted.internet.task import LoopingCall

from mud_assistant.assistant.gateway.keys import key_store
from mud_assistant.llm.testing import RecordedRequest
from mud_assistant.resilience import CircuitState
from tests.assistant.gateway import cast_of_turns as cast
from tests.assistant.gateway.asking import PATHS, body_of, connect, post, said_in_stream, said_in_whole, whole
from tests.assistant.gateway.cast_of_turns import FAILING, HELD, LIMITS, Face, Key, question, serve, words_of
from tests.assistant.gateway.http.reached import WireClient, request, turns, until
from tests.assistant.gateway.planned_turns import PLACES, End, PlannedTurns, Turn
from tests.assistant.gateway.skipping import SkippingReactor
from tests.assistant.gateway.standing import reactor, standing
from tests.assistant.page.http.visiting import Got
from tests.effort import times
from tests.histories import beside_the_reactor, run_histories, wait

RUNS, STEPS_EACH = times(16), 30
#: Seconds that a server may say nothing before it has failed.
_PATIENCE = 25.0
#: What must come to pass at least once, or the model would be silent about it.
MUST_BE_MET = {
    *("200", "200 broken", "401", "403", "404", "429", "queued", "left in the queue"),
    *(f"left: {face}" for face in HELD),
}
NAMES, DIALECTS = st.sampled_from([*LIMITS]), st.sampled_from([*PATHS])


class TurnsOfAGateway(RuleBasedStateMachine):
    """A gateway with two servers, and what must come of its turns."""

    seen: ClassVar[Counter[str]] = Counter()

    @initialize()
    def begin(self) -> None:
        self.plan = PlannedTurns([Key(name, limits) for name, limits in LIMITS.items()])
        self.clients: dict[Turn, WireClient] = {}
        self.turns = 0
        self.stack = AsyncExitStack()
        wait(self._opens(Path(self.stack.enter_context(TemporaryDirectory()))))
        for face in (Face.FAILS, Face.FAILS, Face.ANSWERS, Face.ANSWERS):  # it is known then what the models cost
            self.asks("ample", "messages", streams=False, faces=(face, Face.ANSWERS))

    async def _opens(self, folder: Path) -> None:
        self.clock = SkippingReactor()
        standing_here = standing(
            folder, partial(serve, 0), fallback=[("anthropic", partial(serve, 1))], key=cast.OWNERS_KEY,
            more={"max_in_flight": 2 * PLACES, "prices": cast.PRICES}, settings={"share": 0.5}, runs_on=self.clock,
        )  # fmt: skip
        self.gateway = await self.stack.enter_async_context(standing_here)
        config = self.gateway.service.config
        config.secrets.add(cast.OTHER_KEY)
        self.wall, self.store = config.wall, key_store(config.settings.gateway, folder)
        self.secrets = {
            name: self.store.add(name, limits, self.wall(), secrets.token_bytes) for name, limits in LIMITS.items()
        }
        await self.gateway.gateway._keys.refresh()

    # What clients do.

    @rule(
        name=NAMES,
        dialect=DIALECTS,
        streams=st.booleans(),
        faces=st.tuples(st.sampled_from([*Face, *FAILING]), st.sampled_from([*Face, Face.ANSWERS, Face.ANSWERS])),
        model=st.sampled_from(["wise", "wise", "wise", "wise", "gpt-4o-mini", "wise:latest", "nobody"]),
    )
    def asks(self, name: str, dialect: str, *, streams: bool, faces: tuple[Face, Face], model: str = "wise") -> None:
        self.turns += 1
        turn = self.plan.possible(Turn(self.plan.keys[name], dialect, streams, faces, model, self.turns))
        self.plan.begins(turn)
        self.seen["queued"] += turn.is_queued
        secret = self.secrets[turn.key.name]
        asked = question(turn.dialect, turn.words, secret, turn.model, streams=turn.streams)
        self.clients[turn] = wait(connect(self.gateway, asked))
        self._check()
        if Face.BUSY in turn.faces:
            self.time_passes(cast.BUSY + 1)

    @precondition(lambda self: len(self.plan.waiting()) < 2 * PLACES)
    @rule(name=NAMES, dialect=DIALECTS, streams=st.booleans(), face=st.sampled_from(Face), held=st.sampled_from(HELD))
    def asks_while_others_wait(self, name: str, dialect: str, *, streams: bool, face: Face, held: Face) -> None:
        self.asks(name, dialect, streams=streams, faces=(held, Face.ANSWERS))
        self.asks(name, dialect, streams=streams, faces=(Face.ANSWERS, face))

    @precondition(lambda self: not self.plan.waiting())
    @rule(name=st.sampled_from(["calls", "tokens", "money", "month", "both"]), dialect=DIALECTS, streams=st.booleans())
    def asks_until_nothing_is_left(self, name: str, dialect: str, *, streams: bool) -> None:
        answers = (Face.ANSWERS, Face.ANSWERS)
        for _ in range(6):
            self.asks(name, dialect, streams=streams, faces=answers)
        self.asks(name, dialect, streams=streams, faces=answers, model="nobody")
        for what in ("models", "count"):
            self.asks_no_model(what, name, "", dialect)

    @rule(
        what=st.sampled_from(["stranger", "stranger", "models", "count"]),
        name=NAMES,
        shown=st.sampled_from(["", "mak_wrong", "like one"]),
        dialect=DIALECTS,
    )
    def asks_no_model(self, what: str, name: str, shown: str, dialect: str) -> None:
        """Ask what no server is asked: as a stranger, which models there are, how many tokens a request has."""
        key = self.plan.keys[name]
        named = {"connection": "close", "x_api_key": self.secrets[name]}
        if what == "stranger":
            end: End | None = self.plan.stranger()
            named["x_api_key"] = shown.replace("like one", self.secrets["free"][:-2] + "--")
            said = post(PATHS[dialect], body_of(dialect), **named)
        elif what == "models":
            end = self.plan.admit(key)
            said = request("GET", "/v1/models", {"connection": "close", "x-api-key": self.secrets[name]})
        else:
            end = self.plan.admit(key) or self.plan.may_use(key, "wise")
            said = post("/v1/messages/count_tokens", body_of("messages"), **named)
        client = wait(connect(self.gateway, said))
        got = whole(wait(client.closed()))
        self._is_as_told(got, end or End(200), is_chat=False)
        if what == "models" and end is None:
            listed = [one["id"] for one in orjson.loads(got.body)["data"]]
            assert listed == ([] if self.plan.may_use(key, "wise") else ["wise"])
        self._check()

    @rule(shown=st.sampled_from(["", "mak_wrong"]), dialect=DIALECTS)
    def somebody_tries_keys(self, shown: str, dialect: str) -> None:
        for _ in range(12):
            self.asks_no_model("stranger", "free", shown, dialect)

    @precondition(lambda self: self.plan.waiting())
    @rule(which=st.integers(0, 9), how_many=st.sampled_from([1, 1, PLACES]))
    def leave(self, which: int, how_many: int) -> None:
        waiting = self.plan.waiting()
        for turn in [*waiting[which % len(waiting) :], *waiting][:how_many]:
            if turn.end is None and turn in self.clients:
                self._leaves(turn)
        self._check()

    def _leaves(self, turn: Turn) -> None:
        self.seen["left in the queue" if turn.is_queued else f"left: {turn.face}"] += 1
        self.plan.leaves(turn)
        self.clients.pop(turn).transport.abortConnection()
        wait(self._settles())

    @rule(seconds=st.sampled_from([0.25, 1.0, 12.0]))
    def time_passes(self, seconds: float) -> None:
        while late := [one for one in self.plan.under_way if self.plan.now + seconds - one.since > _PATIENCE]:
            self._leaves(late[0])
        self.plan.passes(seconds)
        self.clock._clock.advance(seconds)
        self._check()

    @rule(name=st.sampled_from(["paced", "alone"]), dialect=DIALECTS, streams=st.booleans())
    def the_owner_takes_a_key_back(self, name: str, dialect: str, *, streams: bool) -> None:
        self.store.revoke(name, self.wall())
        wait(self.gateway.gateway._keys.refresh())
        self.plan.keys[name].is_revoked = True
        self.asks(name, dialect, streams=streams, faces=(Face.ANSWERS, Face.ANSWERS))

    # What must be so.

    def _check(self) -> None:
        wait(self._settles())
        for turn in [one for one in self.clients if one.end is not None]:
            self._reads(turn, bytes(self.clients.pop(turn).received))
        self._counts_are_right()

    async def _settles(self) -> None:
        await until(reactor, lambda: sum(map(len, self._chats())) >= self.plan.asked.total())
        await until(reactor, lambda: all(client.is_closed for turn, client in self.clients.items() if turn.end))
        await until(reactor, lambda: len(self.gateway.gateway._listener) <= len(self.plan.waiting()))
        for turn in self.plan.under_way:
            if turn.face is Face.STALLS and turn.streams:
                await self.clients[turn].got(cast.TEXTS[turn.server].split()[0].encode())
        await turns(reactor, 2)

    def _chats(self) -> list[list[RecordedRequest]]:
        return [self.gateway.fake.chats, self.gateway.others[0].chats]

    def _counts_are_right(self) -> None:
        """Nothing is asked or charged twice, and nothing is kept for what is over."""
        plan, gateway = self.plan, self.gateway.gateway
        chats = [(server, one) for server, chats in enumerate(self._chats()) for one in chats]
        assert Counter((server, int(words_of(one)[0])) for server, one in chats) == +plan.asked
        for _, one in chats[-2:]:
            assert not any(secret in f"{one.headers}{one.raw!r}" for secret in self.secrets.values())
            assert not cast.names_told(one, self.plan.keys)
        assert len(gateway._listener) == len(self.plan.waiting())
        (offered,) = gateway.models._offered.values()
        assert (offered.places.tokens, len(offered.places.waiting)) == (PLACES - len(plan.under_way), len(plan.queued))
        ids = {key.name: id_ for id_, key in gateway._keys._by_id.items()}
        uses, ledger = gateway._keys._uses, self.gateway.service.parts.ledger
        for name, key in plan.keys.items():
            reserved = ledger.reserved(f"key:{name}")
            assert (uses[ids[name]].in_flight if ids[name] in uses else 0) == key.in_flight, name
            assert reserved.calls == key.reserved, name
            assert bool(reserved.tokens) == bool(reserved.money) == bool(key.reserved), name
            key.learns(ledger.spent(f"key:{name}"))
        spent = ledger.spent("all assistants")
        assert [spent.calls, spent.tokens, spent.money] == pytest.approx(plan.total())
        assert ledger.reserved("all assistants").calls == len(plan.under_way)
        for server, model in enumerate(("local/sage", "anthropic/sage")):
            assert ledger.spent(f"model:{model}").calls == plan.charged[server]

    def _is_as_told(self, got: Got, end: End, *, is_chat: bool) -> None:
        told = f"{got.headers}{got.text}"
        known = [cast.OWNERS_KEY, cast.ADDRESS, *self.secrets.values()]
        if got.status != 200:  # a stream is passed on as it is, but for the key of its server
            known.append(cast.OTHER_KEY)
        assert [secret for secret in known if secret in told] == [], told
        assert got.status == (404 if end.status == 403 and is_chat else end.status), told
        if got.status != 200:
            advice = (got.headers.get("x-should-retry"), got.headers.get("retry-after"))
            assert advice == (None if end.retries else "false", end.after), told

    def _reads(self, turn: Turn, raw: bytes) -> None:
        """Compare what the client got with what it should have got."""
        end, got = turn.end, whole(raw)
        assert end is not None
        self.seen[f"{end.status}{' broken' * end.is_broken}"] += 1
        self._is_as_told(got, end, is_chat=turn.dialect in {"chat", "responses"})
        assert raw.count(b"HTTP/1.1 ") == 1
        if end.server is None:
            assert got.headers["content-type"] == "application/json"
            return
        assert got.headers["x-mud-assistant-model"] == ("local/sage", "anthropic/sage")[end.server]
        assert got.headers.get("x-mud-assistant-fallback") == (None, "1")[end.server]
        assert {name: got.headers.get(name) for name in turn.left} == turn.left
        if not turn.streams:
            assert said_in_whole(turn.dialect, got) == (end.text, cast.USAGES[end.server])
            assert float(got.headers["x-mud-assistant-cost"]) == pytest.approx(cast.cost(end.server))
            return
        text, begins, ends = said_in_stream(turn.dialect, got)
        assert begins == 1
        assert raw.endswith(b"\r\n0\r\n\r\n")
        assert raw.count(b"\r\n0\r\n\r\n") == 1
        if end.is_broken:
            assert (ends, text == end.text, end.text.startswith(text)) == (0, False, True)
            assert b"error" in got.body
        else:
            assert (ends, text) == (1, end.text)

    def teardown(self) -> None:
        if "gateway" not in self.__dict__:
            return
        loop = LoopingCall(self.clock.go_on)
        try:
            while waiting := self.plan.waiting():
                self._leaves(waiting[-1])
            self._check()
            states = self.gateway.service.parts.pipeline.servers()
            assert {(one.permits_out, one.in_flight, one.waiting) for one in states} == {(0, 0, 0)}
            assert {one.state for one in states} == {CircuitState.CLOSED}
            assert self.gateway.gateway._listener.held_bytes == 0
        finally:
            for client in self.clients.values():
                client.transport.abortConnection()
            loop.start(0.003)
            wait(self.stack.aclose())
            loop.stop()


def every_end(dialect: str, *, streams: bool) -> None:
    """Let the servers end a turn in all their ways."""
    history = TurnsOfAGateway()
    history.begin()
    ask = partial(history.asks, "ample", dialect, streams=streams)
    for first in (Face.REFUSES, *FAILING):
        for second in (Face.ANSWERS, Face.FAILS, Face.DIES):
            ask(faces=(first, second))
            ask(faces=(Face.FAILS, Face.ANSWERS))  # neither server is left alone
            ask(faces=(Face.ANSWERS, Face.ANSWERS))
    history.teardown()


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("dialect", PATHS)
async def test_whatever_the_servers_do_comes_to_one_end(dialect: str, *, streams: bool) -> None:
    await beside_the_reactor(lambda: every_end(dialect, streams=streams))


@pytest.mark.slow  # sixteen gateways of thirty turns each, over loopback: ten seconds on an idle core
async def test_turns_in_any_order() -> None:
    TurnsOfAGateway.seen.clear()
    await beside_the_reactor(lambda: run_histories(TurnsOfAGateway, RUNS, STEPS_EACH))
    assert [what for what in sorted(MUST_BE_MET) if not TurnsOfAGateway.seen[what]] == []
