"""Many assistants of one process, over loopback, with a journal on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import deferLater

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.checks.finding import FindingState as Found
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.errors import NoModelError
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.outcome import Answered, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.journal import StreamEntry
from mud_assistant.assistant.service import runner as runners
from mud_assistant.assistant.service.embedded import EmbeddedPool
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.progress import Endpoint
from mud_assistant.llm.messages import Message
from mud_assistant.llm.testing import Call, FakeOllama, Hang, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Kind, Principal
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.service.village import village
from tests.benchmarks.weighing import reached

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))

MORE = Reply(calls=(Call("say", {"text": "What is it?"}),))


def hello(request: RecordedRequest) -> Step:
    return HELLO


def ollama(brain: Callable[[RecordedRequest], Step] = hello) -> FakeOllama:
    return FakeOllama(reactor, brain)


def asks(url: str, **assistant: Any) -> dict[str, Any]:
    """Settings for a model at this address."""
    model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
    return {"model": model, "assistant": assistant}


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await deferLater(reactor, 0.01)


@dataclass
class Watching:
    """An observer that writes down what it sees."""

    seen: list[str] = field(default_factory=list)

    def thinking(self, run_id: str, step: int) -> None:
        self.seen.append("thinking")

    def step(self, trace: StepTrace) -> None:
        self.seen.append("step")

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        if isinstance(outcome, Answered):
            self.seen.append("answered")


@dataclass
class Keeping:
    """Something that holds words, and writes down whose it drops."""

    dropped: list[str] = field(default_factory=list)

    def forget(self, me: str) -> None:
        self.dropped.append(me)


async def test_what_is_said_before_there_is_a_model_is_answered_when_there_is_one(tmp_path: Path) -> None:
    fake = ollama()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        here.says(sage, "Sage, hello")  # not even the journal is open yet
        assert sage.state is RunnerState.OPENING
        await sage.settled()
        assert (sage.state, sage.trouble) == (RunnerState.AWAKE, "")
        assert here.witness.heard == ["Sage: Hello, Ann."]


async def test_what_was_remembered_is_held_once_and_packed(tmp_path: Path) -> None:
    async with serve(ollama(), reactor) as url:
        for remembered in (0, 2):
            async with village(tmp_path) as here:
                sage = here.start(asks(url))
                while sage.assistant is None:
                    await deferLater(reactor, 0.01)
                assert len(sage.assistant.context.memory.history) == remembered
                held = [*reached(sage, reactor)]
                assert sage.assistant.context.memory.history in held
                assert [one for one in held if isinstance(one, Message | StreamEntry)] == []
                here.says(sage, "Sage, hello")
                await sage.settled()


async def test_a_model_that_is_away_is_waited_for_and_nothing_that_is_said_meanwhile_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(runners, "LONGEST_PAUSE", 0.05)
    fake = ollama()
    async with village(tmp_path) as here:
        async with serve(fake, reactor) as url:
            pass
        sage = here.start(asks(url, fallback_line="looks away."))
        await until(lambda: sage.trouble)
        assert sage.state is RunnerState.WAITING
        assert "ollama serve" in sage.trouble
        here.says(sage, "Sage, hello")
        here.says(sage, "Sage, are you there?")
        await until(lambda: here.witness.heard)
        assert here.witness.heard == ["Sage looks away."]
        port = int(url.rsplit(":", 1)[1])
        async with serve(fake, reactor, port=port):
            await sage.settled()
            assert here.witness.heard == ["Sage looks away.", *["Sage: Hello, Ann."] * 2]  # one for each line
            prompt = str(fake.chats[-1].body["messages"])
            assert "Sage, hello" in prompt
            assert "are you there" in prompt


async def test_a_change_of_settings_takes_the_run_that_goes_up_again_and_says_nothing_twice(tmp_path: Path) -> None:
    steps: list[Step] = [Hang(), HELLO]
    fake = ollama(lambda request: steps.pop(0))
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        here.says(sage, "Sage, hello")
        await until(lambda: fake.chats)
        again = here.start(asks(url, max_steps=2))
        assert here.service.runners == {SAGE.id: again}
        await again.settled()
        assert sage.state is RunnerState.STOPPED
        assert here.witness.heard == ["Sage: Hello, Ann."]
        assert steps == []


async def test_changes_in_quick_succession_leave_one_life_and_lose_nothing(tmp_path: Path) -> None:
    fake = ollama()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        lives = [here.start(asks(url, max_steps=steps)) for steps in (1, 2, 3)]
        here.says(lives[-1], "Sage, hello")
        lives.append(here.start(asks(url, max_steps=4)))
        await lives[-1].settled()
        assert [life.state for life in lives] == [
            RunnerState.STOPPED,
            RunnerState.STOPPED,
            RunnerState.STOPPED,
            RunnerState.AWAKE,
        ]
        assert here.witness.heard == ["Sage: Hello, Ann."]


async def test_a_key_given_for_one_who_does_not_live_may_go_to_its_new_server(tmp_path: Path) -> None:
    environment = {"MY_KEY": "a-planted-key-123456"}
    fake = ollama()
    async with village(tmp_path, environment=environment) as here, serve(fake, reactor) as url:
        first = {**asks(url), "model": {**asks(url)["model"], "key": "env:MY_KEY"}}
        sage = here.start(first)
        await sage.settled()
        await here.service.stop(SAGE.id)
        async with serve(fake, reactor) as other:
            second = merged(first, {"model": {"url": other}})
            await here.service.give_key(second, "env:MY_KEY")
            assert (await here.service.parts.choose(second))[0].provider.api_url == other


async def test_what_is_heard_while_settings_change_is_not_lost(tmp_path: Path) -> None:
    fake = ollama()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        await sage.settled()
        again = here.start(asks(url, max_steps=2))
        here.says(again, "Sage, hello")
        await again.settled()
        assert here.witness.heard == ["Sage: Hello, Ann."]


async def test_closing_is_over_in_half_a_second_though_the_model_hangs_and_the_next_life_answers(
    tmp_path: Path,
) -> None:
    steps: list[Step] = [Hang(), HELLO, MORE]
    fake = ollama(lambda request: steps.pop(0))
    async with serve(fake, reactor) as url:
        async with village(tmp_path) as here:
            sage = here.start(asks(url))
            here.says(sage, "Sage, hello")
            await until(lambda: fake.chats)
            here.says(sage, "Sage, one thing more")  # on its way into the journal
        assert here.witness.heard == []
        async with village(tmp_path) as there:
            sage = there.start(asks(url))
            await sage.settled()
            assert there.witness.heard == ["Sage: Hello, Ann.", "Sage: What is it?"]
            assert "one thing more" in str(fake.chats[-1].body["messages"])


async def test_what_an_earlier_life_left_to_answer_waits_until_somebody_is_there(tmp_path: Path) -> None:
    steps: list[Step] = [Hang(), HELLO]
    fake = ollama(lambda request: steps.pop(0))
    async with serve(fake, reactor) as url:
        async with village(tmp_path) as here:
            sage = here.start(asks(url))
            here.says(sage, "Sage, hello")
            await until(lambda: fake.chats)
        async with village(tmp_path) as there:
            comes: Deferred[None] = Deferred()

            async def gathered() -> None:
                await comes

            place = Embodiment(SAGE, there.home, gathered=gathered)
            sage = there.service.start(place, merged(asks(url)))
            there.says(sage, "Sage, are you back?")
            await until(lambda: sage.models)
            assert (sage.state, len(fake.chats)) == (RunnerState.OPENING, 1)
            steps.append(MORE)
            comes.callback(None)
            await sage.settled()
            assert there.witness.heard == ["Sage: Hello, Ann.", "Sage: What is it?"]


async def test_who_has_nothing_left_to_answer_waits_for_nobody(tmp_path: Path) -> None:
    async def never() -> None:
        await Deferred()

    fake = ollama()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.service.start(Embodiment(SAGE, here.home, gathered=never), merged(asks(url)))
        await sage.settled()
        assert sage.state is RunnerState.AWAKE


async def test_a_stopped_assistant_hears_no_more_and_its_id_is_free(tmp_path: Path) -> None:
    fake = ollama()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        await sage.settled()
        await here.service.stop(SAGE.id)
        here.says(sage, "Sage, hello")
        assert (here.service.runners, sage.state) == ({}, RunnerState.STOPPED)
        await here.service.stop(SAGE.id)  # and once more is nothing


def greeting(id_: str) -> Said:
    return Said(id=id_, at=0.0, who=ANN, text="Sage, hello", to_me=True)


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_an_erased_assistant_leaves_no_word_in_the_file_and_others_keep_theirs(tmp_path: Path) -> None:
    fake = ollama()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        here.says(sage, "Sage, the treasure lies below the xylophone")
        await sage.settled()
        mira = Principal("assistant:2", "Mira", Kind.ASSISTANT)
        other = here.service.start(Embodiment(mira, here.world.add(mira)), merged(asks(url, name="Mira")))
        here.says(other, "Mira, the moon is made of marzipan")
        await other.settled()
        keeper = Keeping()
        here.service.watchers.tell_keeper(keeper)
        await here.service.erase(SAGE.id)
        assert keeper.dropped == [SAGE.id]
        await here.service.stop(mira.id)
    kept = everything_in(tmp_path)
    assert b"xylophone" not in kept
    assert b"marzipan" in kept


async def test_a_second_process_takes_the_assistant_over_and_the_first_falls_silent(tmp_path: Path) -> None:
    fake = ollama()
    async with serve(fake, reactor) as url, village(tmp_path) as first:
        old = first.start(asks(url))
        await old.settled()
        async with village(tmp_path) as second:
            new = second.start(asks(url))
            await new.settled()
            assert not await old.inbox.accepts(greeting("from afar")), "who sent it must send it to another"
            first.says(old, "Sage, hello")
            await until(lambda: old.state is RunnerState.LOST)
            assert first.witness.heard == []
            second.says(new, "Sage, hello")
            await new.settled()
            assert second.witness.heard == ["Sage: Hello, Ann."]


async def test_a_file_that_is_no_journal_is_left_alone_and_told(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("dear diary, " * 100)
    async with village(tmp_path) as here:
        sage = here.start(asks("http://127.0.0.1:9"))
        await until(lambda: sage.trouble)
        assert "is not used as the journal" in sage.trouble
        assert sage.trouble == here.service.trouble
    assert (tmp_path / "journal").read_text() == "dear diary, " * 100


async def test_watchers_see_every_run_until_they_leave(tmp_path: Path) -> None:
    fake, watching = ollama(), Watching()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        sage.observers.add(watching)
        here.says(sage, "Sage, hello")
        await sage.settled()
        assert watching.seen == ["thinking", "step", "answered"]
        sage.observers.remove(watching)
        here.says(sage, "Sage, hello again")
        await sage.settled()
        assert len(watching.seen) == 3


async def test_a_model_is_tried_with_a_question_before_it_is_used(tmp_path: Path) -> None:
    greet = Reply(calls=(Call("greet", {"name": "Anna"}),))
    fake = ollama(lambda request: greet)
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        said = await here.service.try_model(ModelConfig(provider="ollama", url=url, model="sage"))
        assert said.startswith(f"Ollama at {url}, model sage: it answered in ")
        with pytest.raises(NoModelError, match="has no model 'other'"):
            await here.service.try_model(ModelConfig(provider="ollama", url=url, model="other"))


async def test_a_key_goes_to_a_new_server_only_when_its_owner_names_it_again(tmp_path: Path) -> None:
    environment = {"MY_KEY": "a-planted-key-123456"}
    fake = ollama()
    async with village(tmp_path, environment=environment) as here, serve(fake, reactor) as url:
        sage = here.start({**asks(url), "model": {**asks(url)["model"], "key": "env:MY_KEY"}})
        await sage.settled()
        elsewhere = ModelConfig(provider="ollama", url="http://127.0.0.1:9", model="sage", key="env:MY_KEY")
        with pytest.raises(NoModelError, match="command that sets keys"):
            await here.service.try_model(elsewhere)
        with pytest.raises(NoModelError, match="ollama serve"):  # it may be sent there, but nobody answers
            await here.service.try_model(elsewhere, "env:MY_KEY")
        assert "planted" not in sage.trouble
        assert here.service.scrub("a-planted-key-123456") == "[key]"


async def test_what_was_spent_is_told_by_day_and_account(tmp_path: Path) -> None:
    fake = ollama()
    settings = {"budget": {"player": {"calls": 5}}}
    async with village(tmp_path, settings=settings) as here, serve(fake, reactor) as url:
        sage = here.start({**asks(url), **settings})
        here.says(sage, "Sage, hello")
        await sage.settled()
        await here.service.pipeline.write_ledger()
        rows = {row.account: row for row in await here.service.usage(7)}
        assert {ANN.id, SAGE.id, "all assistants", "model:ollama/sage"} == set(rows)
        assert (rows[ANN.id].calls, rows[ANN.id].day.isoformat()) == (1, "1970-01-12")
        assert rows[ANN.id].tokens > 0


async def test_the_doctor_looks_at_the_settings_of_one_assistant(tmp_path: Path) -> None:
    greet = Reply(calls=(Call("greet", {"name": "Anna"}),))
    fake, found = ollama(lambda request: greet), list[Finding]()
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        await sage.settled()
        assert await here.service.doctor(sage, found.append)
        states = {finding.check: finding.state for finding in found}
        assert states["model tools"] is Found.OK
        assert states["journal"] is Found.OK


@dataclass
class Server:
    """A stand-in for the server of an embedded model, which counts what is asked of it."""

    asked: list[str] = field(default_factory=list)
    fails: bool = False

    def start(self) -> Deferred[Endpoint]:
        self.asked.append("start")
        if self.fails:
            failed: Deferred[Endpoint] = Deferred()
            failed.errback(EmbeddedUnavailable("no room"))
            return failed
        return succeed(Endpoint("http://127.0.0.1:9", "key", "tiny", own_template=True))

    def stop(self) -> Deferred[None]:
        self.asked.append("stop")
        return succeed(None)


class Slow(Server):
    """One that never comes up."""

    def start(self) -> Deferred[Endpoint]:
        self.asked.append("start")
        return Deferred()


async def test_all_assistants_share_one_embedded_model_which_ends_with_the_last() -> None:
    made: list[Server] = []

    def make(path: Path | None, moved: Callable[[Endpoint], None]) -> Server:
        made.append(Server())
        return made[-1]

    pool = EmbeddedPool(make)
    first, second = pool.lease(None, lambda _: None), pool.lease(None, lambda _: None)
    other = pool.lease(Path("other.gguf"), lambda _: None)
    for lease in (first, second, other):
        assert (await lease.start()).model == "tiny"
    assert [server.asked for server in made] == [["start"], ["start"]]
    await first.stop()
    assert made[0].asked == ["start"]
    await second.stop()
    await second.stop()
    assert made[0].asked == ["start", "stop"]
    await first.start()
    assert len(made) == 3


async def test_who_gives_up_waiting_for_an_embedded_model_leaves_none_behind() -> None:
    made: list[Slow] = []

    def make(path: Path | None, moved: Callable[[Endpoint], None]) -> Slow:
        made.append(Slow())
        return made[-1]

    pool = EmbeddedPool(make)
    waiting = pool.lease(None, lambda _: None).start()
    waiting.addErrback(lambda failure: failure.trap(CancelledError))
    waiting.cancel()
    assert made[0].asked == ["start", "stop"]
    await waiting


async def test_an_embedded_model_that_fails_to_start_is_tried_again_by_the_next_who_asks() -> None:
    server = Server(fails=True)
    pool = EmbeddedPool(lambda path, moved: server)
    lease = pool.lease(None, lambda _: None)
    with pytest.raises(EmbeddedUnavailable):
        await lease.start()
    server.fails = False
    assert (await lease.start()).model == "tiny"
