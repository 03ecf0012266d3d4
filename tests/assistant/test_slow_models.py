"""A model that reads its prompt at ten tokens a second: who speaks to it is answered, and told to wait meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.schema import AssistantConfig, ModelConfig
from mud_assistant.assistant.events.events import Paged
from mud_assistant.assistant.events.outcome import Answered, Limit, LimitReached, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.llm import get_provider
from mud_assistant.llm.testing import (
    Brain,
    Call,
    FakeChat,
    FakeOllama,
    FakeServer,
    HttpError,
    OllamaModel,
    PromptReader,
    RecordedRequest,
    Reply,
    Step,
    serve,
)
from tests.assistant.living import ANN
from tests.assistant.service.village import Village, village
from tests.virtual import VirtualReactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
WAKING = f"Sage {AssistantConfig().waking_line}"
EXCUSE = f"Sage {AssistantConfig().fallback_line}"
HELLO = "Sage: Hello, Ann."
#: Virtual seconds of one turn of the sockets.
STEP = 0.25


def hello(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "Hello, Ann."}),))


class Outcomes:
    """An observer that keeps how runs ended."""

    def __init__(self) -> None:
        self.ended: list[Outcome] = []

    def thinking(self, run_id: str, step: int) -> None: ...

    def step(self, trace: StepTrace) -> None: ...

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        self.ended.append(outcome)


@dataclass
class Slow:
    """A village in virtual time before a server that reads slowly."""

    time: VirtualReactor
    here: Village
    fake: FakeServer
    reader: PromptReader
    url: str
    kind: str

    @property
    def heard(self) -> list[str]:
        return self.here.witness.heard

    def settings(self, *, model: dict[str, Any] | None = None, **assistant: Any) -> dict[str, Any]:
        """Settings for the server; `assistant` and `model` are more of them."""
        url = self.url if self.kind == "ollama" else f"{self.url}/v1"
        return {
            "model": {"provider": self.kind, "url": url, "model": "sage", **(model or {})},
            "assistant": {"asleep_seconds": 3600, "late_after_seconds": 3600, **assistant},
        }

    async def start(self, settings: dict[str, Any] | None = None) -> AssistantRunner:
        """Sage, awake."""
        runner = self.here.start(settings or self.settings())
        await self.until(lambda: runner.assistant is not None)
        return runner

    async def until(self, is_so: Callable[[], object]) -> None:
        await self.time.until(lambda: bool(is_so()), STEP)


@asynccontextmanager
async def slow(
    folder: Path, kind: str = "ollama", tokens_per_second: float = 10, brain: Brain = hello
) -> AsyncIterator[Slow]:
    time = VirtualReactor()
    models = {"sage": OllamaModel(), "other": OllamaModel()}
    fake = FakeOllama(time, brain, models) if kind == "ollama" else FakeChat(time, brain)
    fake.reader = PromptReader(time, tokens_per_second)
    async with serve(fake, time) as url, village(folder, on=time) as here:
        yield Slow(time, here, fake, fake.reader, url, kind)


@pytest.mark.parametrize("kind", ["ollama", "local"])
async def test_the_first_line_is_answered_however_slowly_the_prompt_is_read(tmp_path: Path, kind: str) -> None:
    async with slow(tmp_path, kind) as here:
        sage = await here.start(here.settings(model={"warm": False}))
        began = here.time.seconds()
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: HELLO in here.heard or EXCUSE in here.heard)
        assert here.heard == [WAKING, HELLO]
        assert here.time.seconds() - began > sage.config.assistant.run_seconds
        assert len(here.fake.chats) == 1


async def test_a_run_ends_when_all_its_time_is_over(tmp_path: Path) -> None:
    async with slow(tmp_path, tokens_per_second=1) as here:
        sage = await here.start(here.settings(model={"warm": False}, run_seconds=10, run_total_seconds=60))
        sage.observers.add(outcomes := Outcomes())
        began = here.time.seconds()
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: outcomes.ended)
        assert outcomes.ended == [LimitReached(Limit.TIME)]
        assert 60 <= here.time.seconds() - began < 200  # to read it all would take 1,800 s
        assert here.heard == [WAKING, EXCUSE]


async def test_an_answer_may_take_its_time_as_long_as_it_comes(tmp_path: Path) -> None:
    reply = Reply(calls=(Call("say", {"text": "Hello, Ann."}),), reasoning="Who is that? " * 30, piece_seconds=6)
    async with slow(tmp_path, tokens_per_second=10_000, brain=lambda _: reply) as here:
        sage = await here.start(here.settings(model={"warm": False}, run_seconds=20))
        sage.observers.add(outcomes := Outcomes())
        began = here.time.seconds()
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: outcomes.ended)
        assert outcomes.ended == [Answered(("say",))]
        assert here.time.seconds() - began > 100


async def test_the_prompt_is_read_before_anybody_speaks_at_nobodys_expense(tmp_path: Path) -> None:
    async with slow(tmp_path) as here:
        sage = await here.start()
        await here.time.advance(300)
        assert len(here.fake.warmings) == 1
        read = here.reader.tokens_read
        assert read > 1000
        assert await here.here.service.usage(1) == []
        assert sage.assistant is not None
        assert await sage.assistant.context.memory.journal.pending() == ()
        began = here.time.seconds()
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: HELLO in here.heard)
        assert here.time.seconds() - began < 30
        assert here.reader.tokens_read - read < 200
        [warming], [chat] = here.fake.warmings, here.fake.chats
        assert chat.messages[: len(warming.messages)] == warming.messages
        asked: Any = chat.body["options"]
        assert warming.body["options"] == {**asked, "num_predict": 1}
        rest = {"messages", "options"}
        assert {k: v for k, v in warming.body.items() if k not in rest} == {
            k: v for k, v in chat.body.items() if k not in rest
        }


async def test_a_line_ends_the_warming_at_once_and_nothing_is_read_twice(tmp_path: Path) -> None:
    async with slow(tmp_path) as here:
        sage = await here.start()
        await here.until(lambda: here.fake.warmings)
        await here.time.advance(40)
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: here.fake.chats)
        assert here.fake.abandoned == here.fake.warmings
        await here.until(lambda: HELLO in here.heard)
        whole = here.reader.tokens_read
        await here.time.advance(600)
        assert len(here.fake.warmings) == 1
        assert whole == here.reader.tokens_read < 2500


async def test_each_beginning_is_read_once_for_each_model(tmp_path: Path) -> None:
    async with slow(tmp_path, tokens_per_second=100) as here:
        for settings, times in [
            (here.settings(), 1),
            (here.settings(fallback_line="looks away."), 1),
            (here.settings(persona="You are a smith."), 2),
            (here.settings(persona="You are a smith.", model={"model": "other"}), 3),
        ]:
            await here.start(settings)
            await here.time.advance(100, STEP)
            assert len(here.fake.warmings) == times


async def test_who_pages_from_afar_is_paged_that_it_wakes_up(tmp_path: Path) -> None:
    async with slow(tmp_path) as here:
        sage = await here.start(here.settings(model={"warm": False}))
        for _ in range(3):
            sage.hear(lambda id_, at: Paged(id=id_, at=at, who=ANN, text="Are you there?"))
        await here.time.advance(30)
        assert here.heard == [f"Sage pages: ({WAKING})"]


SLOW = f"Sage {AssistantConfig().slow_line}"


async def test_once_its_model_has_answered_a_character_is_never_said_to_wake_up(tmp_path: Path) -> None:
    async with slow(tmp_path, tokens_per_second=10_000) as here:
        sage = await here.start(here.settings(model={"warm": False}))
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: HELLO in here.heard)
        here.fake.reader = PromptReader(here.time, 25)
        here.heard.clear()
        for number in range(3):
            here.here.says(sage, f"Sage, what is matter {number}?")
            await here.time.advance(25)
        assert SLOW in here.heard
        assert WAKING not in here.heard


async def test_what_has_answered_another_character_is_not_said_to_wake_up(tmp_path: Path) -> None:
    async with slow(tmp_path, tokens_per_second=10_000) as here:
        sage = await here.start(here.settings(model={"warm": False}))
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: HELLO in here.heard)
        here.heard.clear()
        here.fake.reader = PromptReader(here.time, 10)
        sage = await here.start(here.settings(model={"warm": False}, persona="You are a smith."))
        here.here.says(sage, "Sage, hello")
        await here.time.advance(30)
        assert here.heard == [SLOW]


async def test_who_waits_for_the_first_answer_is_told_once(tmp_path: Path) -> None:
    async with slow(tmp_path, tokens_per_second=5) as here:
        sage = await here.start(here.settings(model={"warm": False}, fallback_every_seconds=10))
        for number in range(5):
            here.here.says(sage, f"Sage, hello {number}")
            await here.time.advance(15)
        assert here.heard == [WAKING]


async def test_an_outage_and_a_budget_that_is_used_up_are_not_waking(tmp_path: Path) -> None:
    async with slow(tmp_path, brain=lambda _: HttpError(503)) as here:
        sage = await here.start(here.settings(model={"warm": False, "max_attempts": 1}))
        here.fake.reader = PromptReader(here.time, 100_000)
        here.here.says(sage, "Sage, hello")
        await here.time.advance(50)
        assert here.heard == [EXCUSE]
    (tmp_path / "spent").mkdir()
    async with slow(tmp_path / "spent") as here:
        spent = {**here.settings(model={"warm": False}), "budget": {"assistant": {"calls": 0}}}
        sage = await here.start(spent)
        here.here.says(sage, "Sage, hello")
        await here.time.advance(50)
        assert here.heard == [f"Sage {AssistantConfig().budget_line}"]


async def test_nobody_is_told_who_is_answered_soon(tmp_path: Path) -> None:
    async with slow(tmp_path, tokens_per_second=10_000) as here:
        sage = await here.start(here.settings(waking_after_seconds=60))
        here.here.says(sage, "Sage, hello")
        await here.until(lambda: HELLO in here.heard)
        await here.time.advance(120)
        assert here.heard == [HELLO]


@pytest.mark.parametrize(
    ("name", "url", "more", "local", "warmed"),
    [
        ("ollama", "http://127.0.0.1:11434", {}, True, True),
        ("ollama", "http://nas.lan:11434", {}, True, True),
        ("local", "http://192.168.1.7:8080/v1", {}, True, True),
        ("local", "http://[::1]:8080/v1", {}, True, True),
        ("local", "http://vllm:8000/v1", {"prices": {"input": 1, "output": 2}}, True, False),
        ("local", "http://localhost:4000/v1", {"key": "env:A_KEY"}, True, False),
        ("local", "http://localhost:4000/v1", {"key": "env:A_KEY", "warm": True}, True, True),
        ("ollama", "http://127.0.0.1:11434", {"warm": False}, True, False),
        ("ollama", "http://127.0.0.1:11434", {"model": "gpt-oss:120b-cloud"}, True, False),
        ("ollama", "https://ollama.com", {}, False, False),
        ("local", "https://api.groq.com/openai/v1", {}, False, False),
        ("openai", "http://127.0.0.1:8080/v1", {}, False, False),
        ("anthropic", "", {}, False, False),
    ],
)
def test_only_a_server_of_ones_own_is_waited_for_long_and_warmed(
    name: str, url: str, more: dict[str, Any], local: bool, warmed: bool
) -> None:
    config = ModelConfig(provider=name, url=url, **{"model": "m", **more})
    chosen = ChosenModel(get_provider(name, url, config.model), "", config)
    assert (chosen.is_local, chosen.may_be_warmed) == (local, warmed)
    limits = chosen.limits
    assert (limits.first_byte_seconds, limits.idle_seconds) == ((900, 900) if local else (60, 60))
    assert chosen.upstream.breaker.hang_seconds == (900 if local else 30)
    patient = ChosenModel(chosen.provider, "", config.model_copy(update={"first_byte_seconds": 7.0}))
    assert patient.limits.first_byte_seconds == 7
