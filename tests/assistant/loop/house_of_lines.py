"""A house with one assistant in it, to which all kinds of people speak, and what may go wrong meanwhile."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import AllowanceConfig, BudgetConfig
from mud_assistant.assistant.events.events import ChannelSaid, Noticed
from mud_assistant.assistant.events.outcome import Failed
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.testing import now
from tests.assistant.loop.expected_lines import Expected
from tests.assistant.loop.lived_lines import BY_A_GUEST, LATE_AFTER, Lived
from tests.assistant.loop.planned_lines import (
    ANN,
    BEA,
    CARL,
    GUS,
    ODA,
    OPAL,
    PEOPLE,
    STAFF,
    STAFF_CHANNEL,
    Line,
    Plan,
    Way,
)
from tests.assistant.loop.scripted_model import texts_of

#: How many failures there are at most in a row: an answer to each line may break off.
MOST_PAUSES = 100
THE_WORLD = Principal("world", "the world", Kind.WORLD, permission=0)
FAULTS = (
    "model", "model hangs", "look", "say hangs", "say breaks", "whisper hangs", "whisper breaks", "page hangs",
    "channel breaks", "deed hangs", *(UNWRITTEN := ("answer unwritten", "result unwritten")),
)  # fmt: skip
HANGS = ("model hangs", "say hangs", "whisper hangs", "page hangs", "channel hangs", "deed hangs", "rest refused")
people, ways, plans = st.sampled_from(PEOPLE), st.sampled_from(Way), st.sampled_from(Plan)


class House(RuleBasedStateMachine):
    """One assistant among six people, and what must come of each line."""

    seen: ClassVar[Counter[str]] = Counter()

    @initialize(
        calls=st.sampled_from((None, None, 3, 6)),
        own=st.sampled_from((None, None, None, 9)),
        minute=st.sampled_from((None, None, 1, 2)),
        crowd=st.sampled_from(((ANN, BEA, CARL), (ANN, CARL, OPAL), (ANN, CARL, GUS), PEOPLE)),
    )
    def begin(self, calls: int | None, own: int | None, minute: int | None, crowd: tuple[Principal, ...]) -> None:
        budget = BudgetConfig(
            player=AllowanceConfig(calls=calls), assistant=AllowanceConfig(calls=own), player_per_minute=minute
        )
        clock = Clock()
        self.expected = Expected(clock.seconds, budget, self.stream_level)
        self.life = Lived(self.expected, budget, clock)
        self.expected.scene_level = self.scene_level
        self.expected.is_here = self.life.home.hears
        self.crowd, self.away = crowd, set[str]()
        #: Whether the process came as far as the boundary at which it was to end last.
        self.has_died = False
        for who in set(PEOPLE) - set(crowd):
            self.life.world.remove(self.life.bodies[who.id], quiet=True)
        self.life.settle()

    def stream_level(self) -> int:
        return self.life.context.memory.history.min_level()

    def scene_level(self) -> int:
        is_low = BY_A_GUEST in self.life.things or any(self.life.home.hears(who) for who in (GUS, ODA))
        return 0 if is_low else 1

    # What people do.

    @rule(
        who=people,
        way=ways,
        plan=plans,
        other=st.sampled_from((ANN, BEA)),
        is_run=st.sampled_from((True, True, False)),
    )
    def says(self, who: Principal, way: Way, plan: Plan, other: Principal, *, is_run: bool) -> None:
        if who not in self.crowd:
            who = self.crowd[PEOPLE.index(who) % len(self.crowd)]
        if who.id in self.away and way in {Way.ALOUD, Way.WHISPER}:
            way = Way.PAGE
        if way is Way.STAFF and who not in STAFF:
            way = Way.CHANNEL
        if other == who:
            other = CARL
        self.hears(Line(self.number, who, way, plan, self.life.clock.seconds(), other))
        if is_run:
            self.runs()

    @property
    def number(self) -> int:
        return len(self.expected.lines) + 1

    def hears(self, line: Line) -> None:
        self.expected.say(line)
        life, body = self.life, self.life.bodies[line.who.id]
        life.event_id = ""
        match line.way:
            case Way.ALOUD:
                now(body.say(line.text))
            case Way.CHANNEL:
                now(body.speak_on("public", line.text))
            case Way.WHISPER:
                now(body.whisper("Sage", line.text))
            case Way.PAGE:
                now(body.page("Sage", line.text))
            case Way.STAFF:
                life.hear(
                    lambda id_, at: ChannelSaid(id=id_, at=at, who=line.who, channel=STAFF_CHANNEL, text=line.text)
                )
        line.event = life.event_id

    @rule(lines=st.lists(st.tuples(people, ways, plans), min_size=3, max_size=5))
    def all_speak_in_turn(self, lines: list[tuple[Principal, Way, Plan]]) -> None:
        for at, (who, way, plan) in enumerate(lines):
            self.says(who, way, plan, PEOPLE[at % 2], is_run=True)

    @rule(who=people, other=people)
    def speaks_with_another(self, who: Principal, other: Principal) -> None:
        if who != other and who in self.crowd and who.id not in self.away:
            self.hears(Line(self.number, who, Way.ALOUD, None, self.life.clock.seconds(), other))

    @rule()
    def something_happens(self) -> None:
        self.life.hear(lambda id_, at: Noticed(id=id_, at=at, who=THE_WORLD, text="The wheel turns."))

    @rule(who=st.sampled_from((ANN, GUS, ODA)))
    def comes_or_goes(self, who: Principal) -> None:
        if who not in self.crowd:
            return
        self.away ^= {who.id}
        self.life.bodies[who.id].room = self.life.world.rooms["mill" if who.id in self.away else "library"]

    @rule()
    def a_guest_writes(self) -> None:
        if BY_A_GUEST in self.life.things:
            self.life.things.remove(BY_A_GUEST)
        else:
            self.life.things.append(BY_A_GUEST)

    # What goes wrong.

    @rule(fault=st.sampled_from(FAULTS))
    def goes_wrong(self, fault: str) -> None:
        self.life.faults.add(fault)

    @rule(who=people, way=ways, plan=plans, at=st.integers(0, 24), times=st.sampled_from((1, 1, 2, 3)))
    def says_and_it_dies(self, who: Principal, way: Way, plan: Plan, at: int, times: int) -> None:
        """The process ends at this boundary of the run, and the next ones soon after they took it up."""
        self.says(who, way, plan, BEA, is_run=False)
        for again in range(times):
            self.life.store.left = 3 if again else at
            self.has_died = not self.life.settle_life()

    @rule(who=people, way=ways, plan=plans, fault=st.sampled_from(HANGS))
    def says_and_it_is_stopped(self, who: Principal, way: Way, plan: Plan, fault: str) -> None:
        """The process is stopped on purpose in the middle of the run, which the next one takes up."""
        self.life.faults = {fault}
        self.says(who, way, plan, BEA, is_run=False)
        for _ in range(4):
            self.life.clock.advance(0.1)
        self.is_away_for(1.0)

    @rule(who=people, way=ways, plan=plans, seconds=st.sampled_from((LATE_AFTER - 1, LATE_AFTER, LATE_AFTER + 1)))
    def says_and_waits(self, who: Principal, way: Way, plan: Plan, seconds: float) -> None:
        """A line waits for so long, because there is no process."""
        self.says(who, way, plan, BEA, is_run=False)
        self.is_away_for(seconds)

    @rule(all_of_them=st.lists(st.tuples(people, plans), min_size=2, max_size=3, unique_by=lambda one: one[0]))
    def an_older_version_begins_a_run_for_all(self, all_of_them: list[tuple[Principal, Plan]]) -> None:
        """A run that answers several at once, as it was begun before each line had a run of its own."""
        self.runs()
        for who, plan in all_of_them:
            self.says(who, Way.ALOUD, plan, BEA, is_run=False)
        life = self.life
        if life.store.is_dead or life.store.left is not None:
            return
        waiting = now(life.journal.pending())
        ways_of = {line.event: line.way for line in self.expected.lines.values()}
        if {ways_of.get(heard.event.id) for heard in waiting} == {Way.ALOUD}:  # they answered before one audience
            run_id = now(life.journal.open_run(waiting))
            now(life.journal.suspend_run(run_id))
            life.stop()
            life.begin()
        self.runs()

    @rule()
    def is_tried_again(self) -> None:
        """The owner has all that was put aside tried again."""
        if self.life.store.is_dead or self.life.store.left is not None:
            return
        for parked in now(self.life.journal.parked()):
            line = next(one for one in self.expected.lines.values() if one.event == parked.event_id)
            line.unparked += 1
            line.settled = line.settled[:0] + [Failed("put aside")] * line.unparked
            now(self.life.journal.unpark(parked.event_id))
            self.expected.seen["unparked"] += 1
        self.life.assistant.tick.wake()
        self.runs()

    @rule(at=st.integers(0, 24))
    def dies_later(self, at: int) -> None:
        self.life.store.left = at

    @rule(seconds=st.sampled_from((1.0, LATE_AFTER - 1, LATE_AFTER, LATE_AFTER + 1)))
    def is_away_for(self, seconds: float) -> None:
        """The process is stopped, and after a time there is another."""
        if not self.life.store.is_dead:
            self.life.stop()
        else:
            self.life.end()
        self.life.clock.advance(seconds)
        self.life.begin()
        self.runs()

    @rule(seconds=st.sampled_from((7.0, 29.5, 60.0, 61.0, 90_000.0)))
    def passes(self, seconds: float) -> None:
        days = self.life.ledger.day
        self.life.clock.advance(seconds)
        self.runs()
        if self.life.ledger.day != days:
            self.expected.used_up.clear()
            self.expected.spent.clear()

    @rule()
    def runs(self) -> None:
        self.life.settle()

    @invariant()
    def all_comes_as_it_must(self) -> None:
        if hasattr(self, "expected"):
            assert not self.expected.wrong, self.expected.wrong

    # What holds at any time.

    @invariant()
    def what_is_kept_is_for_those_who_may_be_told(self) -> None:
        if not hasattr(self, "life"):
            return
        entries = self.life.context.memory.history.entries()
        kept = [(texts_of(entry.messages), entry.audience) for entry in entries]
        self.expected.check_kept(kept)
        self.expected.check_told("\n".join(text for text, _ in kept))

    def teardown(self) -> None:
        """In the end each line is settled, or put aside, and none is lost."""
        if not hasattr(self, "life"):
            return
        life = self.life
        life.faults.clear()
        if not life.store.is_dead:
            life.store.left = None
        for _ in range(MOST_PAUSES):
            life.settle()
            if not now(life.journal.pending()):
                break
            life.clock.advance(120.0)
        self.all_comes_as_it_must()
        parked = {one.event_id for one in now(life.journal.parked())}
        assert not now(life.journal.pending())
        for line in self.expected.lines.values():
            if line.event and line.is_trigger:
                assert line.settled or line.event in parked, f"{line.number} is lost"
        memories = (one for who in PEOPLE for one in now(life.context.memory.memories.about(who.id)))
        self.expected.check_kept((memory.text, memory.audience) for memory in memories)
        self.seen.update(self.expected.seen)
        self.seen["parked"] += len(parked)
        life.end()
