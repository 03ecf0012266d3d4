"""The emergency stop: nothing more happens once it has returned, whatever hangs, and what was heard is kept."""

from __future__ import annotations

from pathlib import Path
from threading import Event as ThreadEvent
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs, formatEvent

from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.halting import HaltableWorld
from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, Hang, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import ToolFailed, World
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
#: A long answer whose first sentence is spoken while the rest still comes.
LONG = Reply(calls=(Call("say", {"text": "The mill is old. " + "It turns slowly in the stream. " * 8}),), chunk_size=7)
#: Longer than any effect takes that is begun already, in seconds.
A_WHILE = 0.1


def asks(url: str) -> dict[str, Any]:
    model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
    return {"model": model, "assistant": {"join_seconds": 0}}


class Disk:
    """The disk of a village's journal, which hangs until it is released."""

    def __init__(self, here: Village) -> None:
        self._released = ThreadEvent()
        assert isinstance(here.service.parts.journal, JournalFile)
        self._store = here.service.parts.journal.store
        self._hanging: Deferred[object] | None = None

    def hang(self) -> None:
        self._hanging = self._store.write(lambda _: self._released.wait(20))

    async def release(self) -> None:
        self._released.set()
        if self._hanging is not None:
            await self._hanging


async def until(condition: Any) -> None:
    while not condition():
        await deferLater(reactor, 0.005)


@pytest.mark.parametrize("pieces", [1, 12, 25])
async def test_nothing_happens_after_it_though_the_model_streams_and_the_disk_hangs(
    tmp_path: Path, pieces: int
) -> None:
    fake = FakeChat(reactor, [Hang("mid", pieces, LONG), HELLO, HELLO])
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        settings = asks(f"{url}/v1")
        settings["model"]["provider"] = "local"
        sage = here.start(settings)
        await sage.settled()
        disk = Disk(here)
        here.says(sage, "Sage, tell me of the mill!")
        await until(lambda: fake.chats)
        await deferLater(reactor, 0.05)
        disk.hang()
        here.says(sage, "And of the stream?")
        was = here.service.halt(SAGE.id)
        heard = list(here.witness.heard)
        asked = len(fake.chats)
        assert was
        assert "Sage was thinking: step 1 of run-" in was[0]
        assert here.service.runners == {}
        assert here.service.halt(SAGE.id) == []
        await deferLater(reactor, A_WHILE)
        assert (here.witness.heard, len(fake.chats)) == (heard, asked)
        await disk.release()
        await deferLater(reactor, A_WHILE)
        assert (here.witness.heard, len(fake.chats)) == (heard, asked)
        again = here.start(settings)
        await again.settled()
        assert again.assistant is not None
        assert "And of the stream?" in repr(fake.chats[-1].body)


async def test_whoever_goes_on_nevertheless_finds_the_door_of_the_world_closed(tmp_path: Path) -> None:
    async with village(tmp_path) as here, serve(FakeOllama(reactor, [HELLO]), reactor) as url:
        sage = here.start(asks(url))
        await sage.settled()
        assert sage.assistant is not None
        context = sage.assistant.context
        here.service.halt(SAGE.id)
        acts = (
            lambda: context.body.world.say("Too late."),
            lambda: context.body.world.emote("waves"),
            lambda: context.body.world.page("Ann", "Too late."),
            lambda: context.body.world.whisper("Ann", "Too late."),
            lambda: context.body.world.speak_on("public", "Too late."),
            lambda: context.body.world.move("north"),
            context.body.world.go_home,
        )
        for act in acts:
            with pytest.raises(ToolFailed, match="You were stopped"):
                act()
        assert not await context.speech.fallback_line.make()
        assert here.witness.heard == []
        assert await context.body.world.look()
        assert context.body.world.hears(ANN)


async def test_who_is_restarted_and_stopped_in_the_same_moment_does_nothing_more_either(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, lambda _: HELLO)
    async with village(tmp_path) as here, serve(fake, reactor) as url:
        sage = here.start(asks(url))
        await sage.settled()
        disk = Disk(here)
        disk.hang()
        here.says(sage, "Sage, are you there?")
        here.start(asks(url))  # the first one waits for the disk before it stops
        here.service.halt(SAGE.id)
        assert sage.assistant is not None
        assert not sage.assistant.tick.started
        await disk.release()
        await deferLater(reactor, A_WHILE)
        assert here.witness.heard == []
        await here.start(asks(url)).settled()
        assert here.witness.heard == ["Sage: Hello, Ann."]


async def test_all_stop_at_once_and_may_start_again(tmp_path: Path) -> None:
    def brain(_: RecordedRequest) -> Step:
        return HELLO

    async with village(tmp_path) as here, serve(FakeOllama(reactor, brain), reactor) as url:
        sage = here.start(asks(url))
        await sage.settled()
        assert here.service.halt() == ["Sage was waiting for something to do"]
        here.says(sage, "Sage, are you there?")
        await deferLater(reactor, A_WHILE)
        assert here.witness.heard == []
        assert here.service.halt() == []
        again = here.start(asks(url))
        await again.settled()
        here.says(again, "Sage, are you there?")
        await again.settled()
        assert here.witness.heard == ["Sage: Hello, Ann."]


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_what_is_heard_before_the_journal_is_open_is_answered_after_the_next_start(
    tmp_path: Path, is_at_once: bool
) -> None:
    async with village(tmp_path) as here, serve(FakeOllama(reactor, [HELLO]), reactor) as url:
        sage = here.start(asks(url))
        here.says(sage, "Sage, are you there?")
        assert sage.inbox.unheard == 1
        if is_at_once:
            here.service.halt(SAGE.id)
        await here.service.stop(SAGE.id)
        assert await here.service.parts.journal.count_pending() == {SAGE.id: 1}
        assert here.witness.heard == []
        await here.start(asks(url)).settled()
        assert here.witness.heard == ["Sage: Hello, Ann."]


async def test_what_no_journal_takes_is_counted_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()  # no file can be opened there
    async with village(tmp_path) as here:
        sage = here.start(asks("http://127.0.0.1:9"))
        for text in ("Sage, hello?", "Sage?"):
            here.says(sage, text)
        with capturedLogs() as logs:
            await here.service.stop(SAGE.id)
        assert sage.inbox.unheard == 0
        assert any("2 events it heard are lost" in str(formatEvent(event)) for event in logs)


def test_the_door_passes_on_everything_a_world_has() -> None:
    asked = {name for name in dir(World) if not name.startswith("_")}
    assert asked <= set(vars(HaltableWorld))
