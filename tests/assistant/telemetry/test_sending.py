"""Spans and metrics of a real service, as a collector on loopback receives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.events.outcome import Failed, NothingToDo
from mud_assistant.assistant.telemetry import Telemetry, names, watch_service
from mud_assistant.assistant.telemetry.exporting import QUEUE, Destination, Exporting
from mud_assistant.assistant.telemetry.instruments import Instruments
from mud_assistant.assistant.telemetry.spans import RunSpans, Tracing
from mud_assistant.llm.testing import Call, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.resilience.background import in_daemon_thread
from tests.assistant.living import reactor
from tests.assistant.service.village import Village, village
from tests.assistant.telemetry.collector import Collector, collecting, plain

KEY = "sk-planted-0123456789abcdef"
SECRET = "The treasure lies under the oak."


def sage(request: RecordedRequest) -> Step:
    """Looks first, then speaks."""
    messages: Any = request.body["messages"]
    if messages[-1]["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"{SECRET} {KEY}"}),))
    return Reply(calls=(Call("look", {}),))


def settings(model_url: str, **telemetry: Any) -> dict[str, Any]:
    model = {
        "provider": "ollama",
        "url": model_url,
        "model": "sage",
        "max_attempts": 1,
        "examples": False,
        "warm": False,
    }
    return {"model": model, "assistant": {"conversation_seconds": 0}, "telemetry": telemetry}


async def until(condition: Callable[[], object]) -> None:
    end = reactor.seconds() + 20
    while not condition():
        assert reactor.seconds() < end, "it did not happen"
        await deferLater(reactor, 0.01)


def loaded(watching: Telemetry) -> bool:
    return watching._sending is not None and watching._sending._tracing is not None


async def talk(v: Village, wanted: dict[str, Any]) -> None:
    """Sage is started, asked and answers."""
    runner = v.start(wanted)
    await runner.first_attempt()
    v.says(runner, "Where is the treasure?")
    await runner.settled()


async def run(folder: Path, collector: Collector, **telemetry: Any) -> None:
    """One talk whose telemetry goes to this collector; returns when the service is closed."""
    async with serve(FakeOllama(reactor, sage), reactor) as url:
        wanted = settings(url, endpoint=collector.url, headers={"authorization": "env:COLLECTOR_KEY"}, **telemetry)
        async with village(folder, settings=wanted, environment={"COLLECTOR_KEY": KEY}) as v:
            watching = watch_service(v.service)
            await until(lambda: loaded(watching))
            await talk(v, wanted)


async def test_a_run_arrives_as_a_tree_without_a_word_of_it(tmp_path: Path) -> None:
    async with collecting() as collector:
        await run(tmp_path, collector, service_name="my-game")
        await until(lambda: collector.named("invoke_agent"))
    (agent,) = collector.named("invoke_agent")
    first, second = collector.named("chat")
    look, say = collector.named("execute_tool")
    assert agent.name == "invoke_agent Sage"
    assert [first.name, second.name] == ["chat sage"] * 2
    assert [look.name, say.name] == ["execute_tool look", "execute_tool say"]
    assert agent.parent_span_id == b""
    assert [first.parent_span_id, second.parent_span_id] == [agent.span_id] * 2
    assert [look.parent_span_id, say.parent_span_id] == [first.span_id, second.span_id]
    assert len({span.trace_id for span in collector.spans}) == 1
    for span in collector.spans:
        assert agent.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
    asked, called = plain(second.attributes), plain(say.attributes)
    assert asked[names.OPERATION] == "chat"
    assert asked[names.PROVIDER] == "ollama"
    assert asked[names.REQUEST_MODEL] == "sage"
    assert asked[names.FINISH_REASONS] == ["tool_calls"]
    assert asked[names.INPUT_TOKENS] > 0
    assert asked[names.OUTPUT_TOKENS] > 0
    assert asked[names.FIRST_CHUNK] >= 0
    assert called[names.TOOL_NAME] == "say"
    assert called[names.TOOL_STATUS] == "done"
    assert plain(agent.attributes)[names.OUTCOME] == "Answered"
    assert plain(agent.attributes)[names.CONVERSATION] == asked[names.CONVERSATION] == "assistant:1"
    assert collector.resources[0]["service.name"] == "my-game"
    everything = b"".join(collector.bodies)
    assert KEY.encode() not in everything
    assert b"treasure" not in everything
    assert b"Ann" not in everything
    assert set(collector.authorizations) == {KEY}


async def test_metrics_of_the_conventions_arrive_with_their_bounds(tmp_path: Path) -> None:
    async with collecting() as collector:
        await run(tmp_path, collector, send=["metrics"])
        await until(lambda: names.CHAT_SECONDS in collector.metrics)
    assert collector.spans == []
    tokens = collector.metrics[names.TOKEN_USAGE]
    assert tokens.unit == "{token}"
    assert {plain(point.attributes)[names.TOKEN_TYPE] for point in tokens.histogram.data_points} == {"input", "output"}
    assert list(tokens.histogram.data_points[0].explicit_bounds) == names.TOKEN_BOUNDS
    (asked,) = collector.metrics[names.CHAT_SECONDS].histogram.data_points
    assert asked.count == 2
    assert list(asked.explicit_bounds) == names.SECONDS_BOUNDS
    assert collector.metrics[names.FIRST_CHUNK_SECONDS].histogram.data_points[0].count == 2


async def test_words_are_sent_only_where_the_owner_wants_it_and_never_with_a_key(tmp_path: Path) -> None:
    async with collecting() as collector:
        await run(tmp_path, collector, content=True)
        await until(lambda: collector.named("invoke_agent"))
    (_, said) = collector.named("execute_tool")
    assert SECRET in plain(said.attributes)[names.TOOL_ARGUMENTS]
    assert SECRET in plain(collector.named("chat")[1].attributes)[names.OUTPUT_MESSAGES]
    assert KEY.encode() not in b"".join(collector.bodies)


async def test_a_refused_request_is_an_error_of_its_span_and_of_the_run(tmp_path: Path) -> None:
    async with collecting() as collector, serve(FakeOllama(reactor, lambda _: HttpError(400)), reactor) as url:
        wanted = settings(url, endpoint=collector.url)
        async with village(tmp_path, settings=wanted) as v:
            watching = watch_service(v.service)
            await until(lambda: loaded(watching))
            await talk(v, wanted)
            await until(lambda: v.service.runners)
        await until(lambda: collector.named("invoke_agent"))
    chat, agent = collector.named("chat")[0], collector.named("invoke_agent")[0]
    assert plain(chat.attributes)[names.ERROR_TYPE] == "Rejected"
    assert plain(agent.attributes)[names.ERROR_TYPE] == "Failed"
    assert agent.status.code == 2


@pytest.mark.parametrize("status", [0, 500, None])
async def test_a_hung_a_failing_or_an_absent_collector_holds_up_nothing(tmp_path: Path, status: int | None) -> None:
    async with collecting(status or 0) as collector, serve(FakeOllama(reactor, sage), reactor) as url:
        wanted = settings(url, endpoint=collector.url if status is not None else "http://127.0.0.1:9")
        async with village(tmp_path, settings=wanted) as v:
            watching = watch_service(v.service)
            await until(lambda: loaded(watching))
            await talk(v, wanted)
            began = reactor.seconds()
            await v.service.close()
            assert reactor.seconds() - began < 0.5
        assert v.witness.heard
        assert collector.spans == []


async def test_what_a_collector_does_not_take_is_dropped_and_counted() -> None:
    troubles: list[str] = []
    async with collecting(500) as collector:
        exporting = Exporting(Destination({"traces": f"{collector.url}/v1/traces"}, "game", "0", 60), troubles.append)
        tracing = Tracing(exporting.tracer, Instruments(exporting.meter), lambda: 1e6, lambda: 0.0, str, content=False)
        spans = RunSpans(tracing, "assistant:1", "Sage", lambda: ("ollama", "sage"))
        for number in range(QUEUE):
            spans.thinking(f"run-{number}", 1)
            spans.run_ended(f"run-{number}", NothingToDo() if number % 2 else Failed("no"))
        await in_daemon_thread(reactor, 20, exporting.close)
    counts = exporting.counts
    assert counts.taken + counts.refused == 2 * QUEUE
    assert (counts.sent, counts.waiting) == (0, 0)
    assert counts.dropped == 2 * QUEUE
    assert len(troubles) == 1
    assert "500" in troubles[0]
