"""The chain against a small model, in any order of outcomes, waits and changes of settings."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from twisted.internet.task import Clock

from mud_assistant.tools.web.errors import FALLS_THROUGH, ErrorKind
from mud_assistant.tools.web.source.first_of import FirstOf
from mud_assistant.tools.web.source.state import CoolDown
from tests.chance import Sure
from tests.effort import times
from tests.tools.web.scripted import HIT, QUERY, Heard, Scripted, error, paced

BASE, MOST = 4.0, 16.0
outcomes = st.sampled_from(["good", *sorted(ErrorKind)])
wishes = st.none() | st.sampled_from([0.0, 3.0, 40.0])


@dataclass
class Stands:
    """What the model knows of one provider."""

    failures: int = 0
    rests_until: float = 0.0
    held_until: float = 0.0
    refusals: int = 0
    barred_until: float = 0.0

    def is_out(self, now: float) -> bool:
        return self.barred_until > now or self.held_until > now


class ChainModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.providers = [Scripted(name) for name in "abc"]
        members = [paced(one, self.clock, Sure(), CoolDown(BASE, MOST)) for one in self.providers]
        self.chain = FirstOf(members, self.clock)
        self.model = [Stands() for _ in self.providers]

    @rule(kinds=st.tuples(outcomes, outcomes, outcomes), wish=wishes)
    def ask(self, kinds: tuple[str, str, str], wish: float | None) -> None:
        now = self.clock.seconds()
        for provider, kind in zip(self.providers, kinds, strict=True):
            provider.asked.clear()
            at = None if wish is None else now + wish
            provider.answers = [(HIT,) if kind == "good" else error(ErrorKind(kind), kind, at)]
        expected_asked, served, raised = self._expected(kinds, wish)
        heard = Heard(self.chain.ask(QUERY))
        assert [provider.name for provider in self.providers if provider.asked] == expected_asked
        assert all(len(provider.asked) <= 1 for provider in self.providers)
        assert (heard.value.served_by if heard.value is not None else None) == served
        if raised is not None:
            assert heard.kind is raised
        if served:
            before = [trouble.provider for trouble in heard.value.failed]
            assert served not in before
            assert len(set(before)) == len(before)

    @rule(seconds=st.sampled_from([0.5, 4.0, 9.0, 50.0, 280.0, 2000.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(which=st.integers(0, 2))
    def change_settings(self, which: int) -> None:
        self.chain.change_configuration("abc"[which])
        self.model[which] = Stands()

    @invariant()
    def nothing_is_left(self) -> None:
        assert not self.clock.getDelayedCalls()

    def _expected(
        self, kinds: tuple[str, str, str], wish: float | None
    ) -> tuple[list[str], str | None, ErrorKind | None]:
        """Who is asked in order of names, who serves, and the kind that ends the walk at once."""
        now = self.clock.seconds()
        turns = [n for n, one in enumerate(self.model) if not one.is_out(now) and one.rests_until <= now]
        if not turns:
            guessed = [n for n, one in enumerate(self.model) if not one.is_out(now)]
            turns = sorted(guessed, key=lambda n: self.model[n].rests_until)[:1]
        asked: list[str] = []
        for n in turns:
            asked.append("abc"[n])
            if kinds[n] == "good":
                self.model[n] = Stands()
                return sorted(asked), "abc"[n], None
            if (kind := ErrorKind(kinds[n])) not in FALLS_THROUGH:
                return sorted(asked), None, kind
            self._fail(self.model[n], kind, now, wish)
        return sorted(asked), None, None

    def _fail(self, one: Stands, kind: ErrorKind, now: float, wish: float | None) -> None:
        if kind is ErrorKind.AUTH:
            one.refusals += 1
            one.barred_until = now + min(3600.0, 300.0 * 2 ** (one.refusals - 1))
            return
        one.failures += 1
        one.rests_until = max(one.rests_until, now + min(MOST, BASE * 2 ** (one.failures - 1)))
        if wish:
            one.held_until = max(one.held_until, now + wish)


TestChainModel = ChainModel.TestCase
TestChainModel.settings = settings(max_examples=times(24), stateful_step_count=30, deadline=None)
