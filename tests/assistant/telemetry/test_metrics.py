"""What Prometheus is told of a real service, read by the library's own parsers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families
from prometheus_client.samples import Sample
from twisted.internet.task import Clock

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.events.outcome import Answered, Failed, Limit, LimitReached, NothingToDo
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.runtime.storage import SharingCounts
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.telemetry import watch_service
from mud_assistant.assistant.telemetry.gauges import ALL, ServiceGauges
from mud_assistant.assistant.telemetry.metrics import MAX_MODELS, MAX_TOOLS, Metrics
from mud_assistant.assistant.telemetry.watching import MetricsWatch
from mud_assistant.llm import CallReport, FinishReason, LLMResponse, ToolCall, Usage
from mud_assistant.llm import assistant as assistant_message
from mud_assistant.llm.messages import ToolResult
from mud_assistant.llm.testing import Call, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.resilience import Account, Allowance, Amount
from mud_assistant.tools import Category, Executed, Kind, Principal, Status
from tests.assistant.living import ANN, reactor
from tests.assistant.service.village import village
from tests.assistant.telemetry.test_sending import until

ROOT = Path(__file__).parents[3]
KEY = "sk-planted-0123456789abcdef"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def hello(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "Hello, Ann."}),))


def settings(url: str, **more: Any) -> dict[str, Any]:
    model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False, "warm": False}
    return {"model": model | more.pop("model", {}), "telemetry": {"metrics": True}, **more}


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The value of each series, by its name and labels."""
    found: list[Sample] = [sample for family in families(text) for sample in family.samples]
    return {
        (sample.name.removeprefix("mud_assistant_"), tuple(sorted(sample.labels.items()))): sample.value
        for sample in found
    }


async def test_a_talk_is_counted_and_parses_in_both_formats(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, hello), reactor) as url:
        prices = {"prices": {"input": 1.0, "output": 2.0}}
        wanted = settings(url, model=prices, budget={"total": {"calls": 10}, "assistant": {"money": 0.5}})
        async with village(tmp_path, settings=wanted, environment={"NAME": KEY}) as v:
            watching = watch_service(v.service)
            runner = v.start(wanted)
            await runner.first_attempt()
            v.says(runner, "Hello?")
            await runner.settled()
            answer = v.service.read_metrics("text/plain")
            newer = watching.metrics_answer(OPEN_METRICS)
    assert answer is not None
    assert newer is not None
    assert answer[0].startswith("text/plain; version=0.0.4")
    assert newer[0].startswith("application/openmetrics-text; version=1.0.0")
    now = samples(answer[1].decode())
    sage = (("model", "sage"), ("provider", "ollama"))
    assert now["llm_requests_total", (sage[0], ("outcome", "answered"), sage[1])] == 1
    assert now["llm_tokens_total", (("direction", "input"), *sage)] > 0
    assert now["llm_cost_total", sage] > 0
    assert now["llm_seconds_count", sage] == now["first_token_seconds_count", sage] == 1
    assert now["first_sentence_seconds_count", ()] == 1
    assert now["runs_total", (("outcome", "answered"),)] == 1
    assert now["tool_calls_total", (("outcome", "done"), ("tool", "say"))] == 1
    assert now["journal_commit_seconds_count", ()] > 0
    assert now["assistants", (("state", "awake"),)] == 1
    assert now["events_pending", (("assistant", "assistant:1"),)] == 0
    assert now["circuit_state", (("server", url),)] == 0
    assert now["budget_used_ratio", (("assistant", ALL), ("kind", "calls"))] == 0.1
    assert 0 < now["budget_used_ratio", (("assistant", "assistant:1"), ("kind", "most"))] < 1
    assert now["approvals_waiting", ()] == 0
    assert list(open_families(newer[1].decode()))
    for body in (answer[1], newer[1]):
        assert KEY.encode() not in body
        assert b"Ann" not in body


async def test_failures_are_counted_by_their_kind(tmp_path: Path) -> None:
    async with (
        serve(FakeOllama(reactor, lambda _: HttpError(400)), reactor) as url,
        village(tmp_path, settings=settings(url)) as v,
    ):
        watching = watch_service(v.service)
        runner = v.start(settings(url))
        await runner.first_attempt()
        v.says(runner, "Hello?")
        await runner.settled()
        answer = watching.metrics_answer("")
    assert answer is not None
    now = samples(answer[1].decode())
    assert now["llm_requests_total", (("model", "sage"), ("outcome", "rejected"), ("provider", "ollama"))] == 1
    assert now["runs_total", (("outcome", "failed"),)] == 1


async def test_what_is_switched_off_is_neither_attached_nor_answered(tmp_path: Path) -> None:
    async with village(tmp_path) as v:
        watching = watch_service(v.service)
        runner = v.start({"model": {"provider": "ollama", "url": "http://127.0.0.1:9", "model": "sage"}})
        assert watching.metrics_answer("") is None
        assert v.service.read_metrics("") is None
        assert not v.service.parts.process.reports.listeners
        assert set(runner.observers._watching) == {runner.alarms, runner.activity}
        assert v.service.on_close == []


async def test_events_that_wait_are_counted(tmp_path: Path) -> None:
    async with (
        serve(FakeOllama(reactor, lambda _: HttpError(500)), reactor) as url,
        village(tmp_path, settings=settings(url)) as v,
    ):
        watching = watch_service(v.service)
        watch = watching._metrics
        assert watch is not None
        runner = v.start(settings(url))
        await runner.first_attempt()
        v.says(runner, "Hello?")
        await until(lambda: runner.assistant is not None and runner.assistant.tick.paused)
        await watch._count_pending()
        answer = watching.metrics_answer("")
    assert answer is not None
    assert samples(answer[1].decode())["events_pending", (("assistant", "assistant:1"),)] == 1


def worst(metrics: Metrics) -> None:
    """As many models, tools and outcomes as a hostile world may bring."""
    for number in range(3 * MAX_MODELS):
        for outcome in ("Answered", "Cancelled", "RateLimited", "Unavailable", "LLMDeadlineExceeded"):
            usage = Usage(10, 10, 5, cost=0.1)
            metrics.called(CallReport("assistant:1", "openai", f"model-{number}", outcome, 1.0, 0.5, usage))
    for number in range(3 * MAX_TOOLS):
        for status in Status:
            call = ToolCall(f"c{number}", f"tool_{number}", {})
            category = Category.SAFE_CHAIN if number % 2 else None
            executed = Executed(call, ToolResult(call.id, call.name, ""), status, category, 0.1)
            response = LLMResponse(assistant_message(), FinishReason.STOP, Usage(), "openai", "m")
            metrics.step(StepTrace("run", 1, 1, 1, response, (executed,), 1.0))
    for end in (Answered(()), NothingToDo(), Failed("x"), LimitReached(Limit.TIME)):
        metrics.run_ended("run", end)


async def test_two_hundred_assistants_have_at_most_two_thousand_series_and_are_shown_quickly(tmp_path: Path) -> None:
    budget = {"total": {"calls": 9, "tokens": 9, "money": 9}, "assistant": {"calls": 9, "tokens": 9}}
    wanted = settings("http://127.0.0.1:9", budget=budget)
    async with village(tmp_path, settings=wanted) as v:
        watching = watch_service(v.service)
        watch = watching._metrics
        assert watch is not None
        worst(watch.metrics)
        for number in range(200):
            me = Principal(f"assistant:{number}", f"Sage {number}", Kind.ASSISTANT)
            v.service.runners[me.id] = AssistantRunner(v.service.parts, Embodiment(me, v.home), merged(wanted))
        for number in range(50):
            v.service.pipeline.upstream(f"http://127.0.0.1:{number + 1}")
        for number in range(10_000):  # players, whom nobody may see here
            who = Account(f"player:{number}", Allowance(calls=1))
            v.service.parts.ledger.reserve([who], Amount(1)).settle(Amount(1))
        began = process_time()
        answers = [watching.metrics_answer("") for _ in range(3)]
        seconds = (process_time() - began) / 3
        v.service.runners.clear()
    assert answers[0] is not None
    text = answers[0][1].decode()
    assert len(samples(text)) <= 2000
    assert "player" not in text
    assert TOTAL not in text
    assert ANN.name not in text
    assert seconds < 0.05


async def test_the_dashboard_and_its_page_name_what_exists(tmp_path: Path) -> None:
    async with village(tmp_path, settings=settings("http://127.0.0.1:9")) as v:
        watch = watch_service(v.service)._metrics
        assert watch is not None
        gauges = ServiceGauges(v.service, dict, lambda: (0, 0))
        made = {family.name: family.type for of in (watch.metrics.registry, gauges) for family in of.collect()}
    ending = {"counter": "_total", "info": "_info", "histogram": "", "gauge": ""}
    known = {f"{name}{ending[kind]}" for name, kind in made.items()}
    dashboard = json.loads((ROOT / "docs/monitoring/grafana-dashboard.json").read_text())
    asked = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    assert {re.sub("_bucket$", "", name) for name in re.findall(r"mud_assistant_\w+", asked)} == known
    rules = (ROOT / "docs/monitoring/alerts.yml").read_text()
    assert set(re.findall(r"mud_assistant_\w+", rules)) <= known
    alerts = re.findall(r"- alert: (\w+)\n +expr: (.+)\n", rules)
    assert len(alerts) == 5
    assert all("mud_assistant_" in asks for _, asks in alerts)
    page = (ROOT / "docs/monitoring.md").read_text()
    assert re.findall(r"^\| `([A-Z]\w+)` \|", page, re.MULTILINE) == [name for name, _ in alerts]
    rows = re.findall(r"^\| (`[a-z].*?) \|", page, re.MULTILINE)
    assert {f"mud_assistant_{name}" for row in rows for name in re.findall(r"`(\w+)`", row)} == known


class Away:
    """A journal of a service that is away when it is told to be."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.is_away = False

    def sharing_counts(self) -> SharingCounts:
        return SharingCounts(self.is_away, 3, 1, 2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


async def test_outages_leases_and_words_that_wait_are_told(tmp_path: Path) -> None:
    clock = Clock()
    config = ServiceConfig(merged({}), tmp_path, {}, clock.seconds, Secrets(), None)
    service = AssistantService(clock, config, Random(1))  # noqa: S311  (jitter)
    away: Any = Away(service.parts.journal)
    service.parts.journal = away
    watch = MetricsWatch(service, {})
    watch.start(ServiceGauges(service, dict, messages=lambda: 7))
    for is_away in (False, True, True, False, True):
        away.is_away = is_away
        clock.advance(1)
    await watch.stop()
    now = samples(watch.metrics.render("")[1].decode())
    assert (now["journal_outages_total", ()], now["journal_outage_seconds_total", ()]) == (2, 3)
    assert (now["leases", ()], now["leases_lost_total", ()], now["takeovers_total", ()]) == (3, 1, 2)
    assert now["messages_waiting", ()] == 7


@pytest.mark.parametrize(
    "accept", ["", "*/*", OPEN_METRICS, "application/openmetrics-text; version=zzz", "text/plain;q=0.1"]
)
def test_any_accept_header_is_answered(accept: str) -> None:
    kind, body = Metrics({"version": "0"}).render(accept)
    assert kind
    assert b"mud_assistant_build_info" in body


async def test_a_stall_of_the_reactor_is_seen_and_does_not_hide_the_next(tmp_path: Path) -> None:
    clock = Clock()
    config = ServiceConfig(merged({}), tmp_path, {}, clock.seconds, Secrets(), None)
    service = AssistantService(clock, config, Random(1))  # noqa: S311  (jitter)
    watch = MetricsWatch(service, {})
    watch.start(ServiceGauges(service, dict))
    for seconds in (1, 3.4, 1, 1.2):
        clock.advance(seconds)
    await watch.stop()
    assert clock.getDelayedCalls() == []
    now = samples(watch.metrics.render("")[1].decode())
    assert now["reactor_lag_seconds_count", ()] == 4
    assert now["reactor_lag_seconds_sum", ()] == pytest.approx(2.6)
