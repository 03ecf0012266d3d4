"""The gauges that a scrape reads from the service: states, queues, circuits, approvals, budgets.

Imports prometheus-client, so it is imported only where metrics are switched on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from mud_assistant.assistant.config.schema import AllowanceConfig
from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.telemetry.metrics import PREFIX
from mud_assistant.resilience import Amount
from mud_assistant.resilience.admission.breaker import CircuitState

#: How many servers and assistants have series of their own; the rest are left out.
MAX_SERVERS, MAX_ASSISTANTS = 20, 300
#: The label of the budget of all assistants together.
ALL = "all"
#: The value of a circuit's gauge.
CIRCUIT_VALUES = {CircuitState.CLOSED: 0, CircuitState.HALF_OPEN: 1, CircuitState.OPEN: 2}
EMERGENCY = "emergency"


class ServiceGauges(Collector):
    """What is read of the service at each scrape, on the reactor's thread, without waiting.

    `pending` returns how many events wait, by assistant, as they were counted last. `sent` returns how many spans went
    to the collector and how many were dropped; None where none are sent. `messages` returns how many waited.
    """

    def __init__(
        self,
        service: AssistantService,
        pending: Callable[[], Mapping[str, int]],
        sent: Callable[[], tuple[int, int] | None] = lambda: None,
        messages: Callable[[], int] = lambda: 0,
    ) -> None:
        self._service = service
        self._pending = pending
        self._sent = sent
        self._messages = messages

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering reads nothing of the service."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric of this moment."""
        runners = dict(list(self._service.runners.items())[:MAX_ASSISTANTS])
        yield from self._assistants(runners)
        yield from self._servers()
        yield from self._sharing()
        yield self._budgets(runners)
        approvals = sum(len(waiting.pending()) for waiting in self._service.parts.approvals.values())
        yield _gauge("approvals_waiting", "Calls that wait for somebody's approval.", approvals)
        yield _gauge("troubles", "What an owner would be told of now.", sum(1 for _ in self._service.troubles))
        if (sent := self._sent()) is not None:
            spans = CounterMetricFamily(f"{PREFIX}_spans", "Spans for the collector.", labels=["outcome"])
            for outcome, count in zip(("sent", "dropped"), sent, strict=True):
                spans.add_metric([outcome], count)
            yield spans

    def _assistants(self, runners: Mapping[str, AssistantRunner]) -> Iterator[Metric]:
        states = Counter(EMERGENCY if one.emergency else one.state.value for one in runners.values())
        assistants = GaugeMetricFamily(f"{PREFIX}_assistants", "Assistants, by their state.", labels=["state"])
        for state in (*(each.value for each in RunnerState), EMERGENCY):
            assistants.add_metric([state], states[state])
        yield assistants
        info = InfoMetricFamily(f"{PREFIX}_assistant", "The names of the assistants.", labels=["assistant"])
        pending = GaugeMetricFamily(
            f"{PREFIX}_events_pending", "Events that an assistant has heard and not dealt with.", labels=["assistant"]
        )
        counts = self._pending()
        for assistant, runner in runners.items():
            info.add_metric([assistant], {"name": runner.embodiment.me.name})
            pending.add_metric([assistant], counts.get(assistant, 0))
        yield info
        yield pending

    def _servers(self) -> Iterator[Metric]:
        circuit = GaugeMetricFamily(
            f"{PREFIX}_circuit_state", "Circuit of a server: 0 closed, 1 half open, 2 open.", labels=["server"]
        )
        waiting = GaugeMetricFamily(f"{PREFIX}_llm_waiting", "Calls that wait to be let in.", labels=["server"])
        in_flight = GaugeMetricFamily(f"{PREFIX}_llm_in_flight", "Requests on their way.", labels=["server"])
        retries = CounterMetricFamily(f"{PREFIX}_retry", "Calls that were tried again.", labels=["server"])
        for one in self._service.pipeline.servers()[:MAX_SERVERS]:
            circuit.add_metric([one.origin], CIRCUIT_VALUES[one.state])
            waiting.add_metric([one.origin], one.waiting)
            in_flight.add_metric([one.origin], one.in_flight)
            retries.add_metric([one.origin], one.retries)
        yield from (circuit, waiting, in_flight, retries)

    def _sharing(self) -> Iterator[Metric]:
        """Yield what this process shares with others."""
        counts = self._service.parts.journal.sharing_counts()
        yield _gauge("leases", "Assistants that this process runs of those it shares with others.", counts.leases)
        yield _counter("leases_lost", "Assistants that another process has taken from this one.", counts.lost)
        yield _counter("takeovers", "Assistants that were taken from a process that was gone.", counts.takeovers)
        yield _gauge("messages_waiting", "Words from elsewhere that no process has taken in.", self._messages())

    def _budgets(self, runners: Mapping[str, AssistantRunner]) -> Metric:
        """Return the used share of each budget: of all together by kind, of an assistant that which is used most."""
        ledger, total = self._service.parts.ledger, self._service.config.settings.budget.total
        used = GaugeMetricFamily(
            f"{PREFIX}_budget_used_ratio", "Share of today's budget that is spent.", labels=["assistant", "kind"]
        )
        for kind, share in _shares(ledger.spent(TOTAL), total).items():
            used.add_metric([ALL, kind], share)
        for assistant, runner in runners.items():
            if shares := _shares(ledger.spent(assistant), runner.config.budget.assistant):
                used.add_metric([assistant, "most"], max(shares.values()))
        return used


def _shares(spent: Amount, limits: AllowanceConfig) -> dict[str, float]:
    """Return the used share of each limit; of a limit of zero, all is used."""
    pairs = {
        "calls": (spent.calls, limits.calls),
        "tokens": (spent.tokens, limits.tokens),
        "money": (spent.money, limits.money),
    }
    return {kind: used / limit if limit else 1.0 for kind, (used, limit) in pairs.items() if limit is not None}


def _counter(name: str, meaning: str, value: float) -> Metric:
    return CounterMetricFamily(f"{PREFIX}_{name}", meaning, value=value)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}_{name}", meaning, value=value)
