"""When somebody came, how often, and when they were greeted last: over any comings and goings."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.journal.tables.acquaintances import VISIT_SECONDS
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.tools import Principal
from mud_assistant.tools.testing import now
from tests.effort import times

ANN, BEA = Principal("player:1", "Ann"), Principal("player:2", "Bea")
HEARD = Attention(Classification.CONTEXT, 4)


@dataclass
class Known:
    """What must be known of one person."""

    seen: list[float] = field(default_factory=list)
    greeted: float = 0.0

    @property
    def visits(self) -> list[list[float]]:
        """The times at which they were seen, by visits."""
        visits: list[list[float]] = []
        for at in self.seen:
            if visits and at <= visits[-1][-1] + VISIT_SECONDS:
                visits[-1].append(at)
            else:
                visits.append([at])
        return visits

    def left_before(self, at: float) -> float:
        """When the visit before the present one ended."""
        ended = [visit[-1] for visit in self.visits]
        return ended[-1] if at > ended[-1] + VISIT_SECONDS else ended[-2] if len(ended) > 1 else 0.0


@settings(max_examples=times(10), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from((ANN, BEA)), st.sampled_from((1.0, 600.0, 3600.0, 3601.0, 90_000.0)), st.booleans()),
        max_size=14,
    ),
    st.sampled_from((0.0, 3600.0, 3601.0)),
)
def test_visits_and_greetings_are_those_there_were(steps: list[tuple[Principal, float, bool]], later: float) -> None:
    at, known = 1000.0, {ANN.id: Known(), BEA.id: Known()}
    storage = in_memory(lambda: at, 500)
    for number, (who, pause, is_greeted) in enumerate(steps):
        at += pause
        now(storage.journal.accept(Said(id=str(number), at=at, who=who, text="Hello."), HEARD))
        known[who.id].seen.append(at)
        if is_greeted:
            now(storage.people.greeted(who, at))
            known[who.id].greeted = at
    for who_id, expected in known.items():
        met = now(storage.people.find(who_id)).asker
        assert now(storage.people.last_greeted(who_id)) == expected.greeted
        assert (met is None) == (not expected.seen)
        if met is not None:
            assert (met.first_at, met.last_at) == (expected.seen[0], expected.seen[-1])
            assert met.visits == len(expected.visits)
            assert met.is_new == (len(expected.visits) == 1)
            assert met.left_before(at + later) == expected.left_before(at + later)
