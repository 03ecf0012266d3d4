"""So much an hour, whichever hour."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.source.answers import PageSource
from mud_assistant.tools.web.source.paced import Allotted, HourlyQuota
from tests.effort import times
from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted, ScriptedReader, error


def test_a_used_up_quota_says_until_when_and_asks_nobody() -> None:
    clock, provider = Clock(), Scripted("a")
    search = Allotted(provider, HourlyQuota(2, clock.seconds, "searches", whose="Sage"))
    Heard(search.ask(QUERY))
    clock.advance(100)
    Heard(search.ask(QUERY))
    refused = Heard(search.ask(QUERY))
    assert (refused.kind, refused.error.retry_at) == (ErrorKind.QUOTA, 3600.0)
    assert refused.error.message == "all 2 searches of Sage within 60 minutes are used up"
    assert len(provider.asked) == 2
    clock.advance(3500)
    assert Heard(search.ask(QUERY)).value == (HIT,)
    assert Heard(search.ask(QUERY)).error.retry_at == 3700.0


def test_a_refused_address_costs_nothing_and_a_failure_does() -> None:
    clock = Clock()
    quota = HourlyQuota(2, clock.seconds, "pages")
    reader = ScriptedReader("r", error(ErrorKind.POLICY))
    allotted = Allotted(PageSource(reader), quota)
    Heard(allotted.ask("http://10.0.0.1/"))
    assert quota.left == 2
    reader.answer = error(ErrorKind.TIMEOUT)
    Heard(allotted.ask("http://example.org/"))
    assert quota.left == 1


def test_a_cancelled_question_was_asked() -> None:
    clock, provider = Clock(), Scripted("a", None)
    quota = HourlyQuota(2, clock.seconds, "searches")
    Heard(Allotted(provider, quota).ask(QUERY)).cancel()
    assert quota.left == 1


def test_of_two_quotas_neither_pays_for_the_others_refusal() -> None:
    clock = Clock()
    own, everybodys = HourlyQuota(5, clock.seconds, "searches"), HourlyQuota(1, clock.seconds, "searches of all")
    search = Allotted(Scripted("a"), own, everybodys)
    Heard(search.ask(QUERY))
    assert "of all" in Heard(search.ask(QUERY)).error.message
    assert (own.left, everybodys.left) == (4, 0)


def test_none_at_all_is_a_quota_too() -> None:
    refused = Heard(Allotted(Scripted("a"), HourlyQuota(0, Clock().seconds, "searches")).ask(QUERY))
    assert (refused.kind, refused.error.retry_at) == (ErrorKind.QUOTA, None)


class QuotaModel(RuleBasedStateMachine):
    """In no hour more than the most, and never fewer than there are."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.provider = Scripted("a")
        self.quota = HourlyQuota(3, self.clock.seconds, "searches")
        self.search = Allotted(self.provider, self.quota)
        self.paid: list[float] = []

    @rule(kind=st.none() | st.sampled_from(sorted(ErrorKind)))
    def ask(self, kind: ErrorKind | None) -> None:
        now = self.clock.seconds()
        self.provider.answers = [(HIT,) if kind is None else error(kind, "no")]
        recent = [at for at in self.paid if at > now - 3600]
        asked = len(self.provider.asked)
        heard = Heard(self.search.ask(QUERY))
        if len(recent) >= 3:
            assert (heard.kind, heard.error.retry_at) == (ErrorKind.QUOTA, recent[-3] + 3600)
            assert len(self.provider.asked) == asked
            return
        assert len(self.provider.asked) == asked + 1
        if kind is not ErrorKind.POLICY:
            self.paid.append(now)

    @rule(seconds=st.sampled_from([1.0, 600.0, 1800.0, 3600.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)


TestQuotaModel = QuotaModel.TestCase
TestQuotaModel.settings = settings(max_examples=times(24), stateful_step_count=30, deadline=None)
