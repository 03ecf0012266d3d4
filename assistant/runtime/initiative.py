"""Lets a character do things of itself: what it promised, going home, its day, its free life, an impulse.

It is asked at every look of the tick. It offers at most one thing a look, as an event of the journal that has a run of
its own, and tells when it is worth looking again. While nobody is present it makes one cheap check and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace
from twisted.logger import Logger

from mud_assistant.assistant.characters.day_entries import NO_DAYS, DayEntry, Days
from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import ByRule, Event, Noticed, spoken_text
from mud_assistant.assistant.journal import InboxFullError
from mud_assistant.assistant.life.days import (
    MOVE,
    NEVER,
    NO_TIME,
    UNDISTURBED,
    DayClock,
    DayOffer,
    DayRest,
    DayState,
    Surroundings,
    day_clock,
    due,
    entry_at,
    is_given_up,
)
from mud_assistant.assistant.life.presence import Goals, Restraints, is_anybody_there, present_players
from mud_assistant.assistant.life.reasons import Offered
from mud_assistant.assistant.life.whereabouts import Whereabouts
from mud_assistant.assistant.loop.choosing import triggers_in
from mud_assistant.assistant.loop.impulse_offers import ImpulseOffers
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.unasked import HOME, LEFT_ALONE, THE_WORLD
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.context import A_MINUTE
from mud_assistant.tools.game import game_time
from mud_assistant.tools.trust import PEOPLE, TOP

#: For how long after a gesture of one character no other in the room makes one, in seconds.
ROOM_PAUSE = 20.0
#: After how many seconds an accepted event counts as lost: its reason is over, whatever waits before it.
LOST_AFTER = 120.0
#: After how many seconds a line that has no answer holds up nothing that was promised.
LONG_WAIT = 30.0
#: How often it is looked at least while somebody is there to see it, in seconds.
WATCHED_SECONDS = 15.0
_HOME_IMPORTANCE, _IMPULSE_IMPORTANCE = 3, 1
#: On whose word a character walks to the place of an entry of its day: the file is the owner's.
OWNERS_FILE = Principal("owner", "the file of its owner", Kind.OPERATOR, TOP)

_log = Logger()


class InitiativeParts(Struct, frozen=True):
    """What initiative goes by. `utc_offset` is the owner's time minus UTC, in seconds, where the game has no clock.

    `impulses` is None for one that has none. `begun` is the entry of its day that an earlier life began; `on_begun`
    is called with each that this life begins.
    """

    days: Days = NO_DAYS
    goals: Goals | None = None
    restraints: Restraints = field(default_factory=Restraints)
    impulses: ImpulseOffers | None = None
    utc_offset: float = 0.0
    begun: int = NEVER
    on_begun: Callable[[int], None] = lambda _: None


class Initiative:
    """What one character does of itself. It acts never: it accepts events into the journal, which have their runs."""

    __slots__ = (
        *("_alone_since", "_context", "_days", "_goals", "_impulses", "_may", "_next_look"),
        *("_now", "_on_begun", "_spoken", "_state", "_utc_offset", "_whereabouts"),
    )

    def __init__(self, context: RunContext, parts: InitiativeParts) -> None:
        self._context = context
        self._days, self._goals, self._may = parts.days, parts.goals, parts.restraints
        self._impulses, self._on_begun = parts.impulses, parts.on_begun
        self._now = context.process.clock.seconds
        self._utc_offset = parts.utc_offset
        #: Since when it is alone away from home, in clock seconds; None while it is not.
        self._alone_since: float | None = None
        self._spoken = float("-inf")
        self._state = DayState(begun=parts.begun)
        self._whereabouts = Whereabouts(context.body.world, context.body.where, is_granted=MOVE in context.rules.grant)
        self._next_look = 0.0

    def next_at(self, now: float) -> float:
        """Return when it is worth looking again, in clock seconds; infinity when nothing is known to come."""
        goals = NO_TIME if self._goals is None else self._goals.next_at(now)
        return min(goals, self._next_look)

    def heard(self, event: Event) -> None:
        """Take note of an event that was taken in."""
        if event.who.kind in PEOPLE and spoken_text(event):
            self._spoken = self._now()
            if self._impulses is not None:
                self._impulses.answered()

    def acted(self) -> None:
        """Take note that the character said or did something."""
        if self._impulses is not None:
            self._impulses.acted(self._now())

    async def look(self) -> None:
        """Offer the most important thing that is due, if anything is. Raises JournalError.

        Whoever waits for an answer comes first. What was promised does not wait for a line that has long had none.
        """
        context, now = self._context, self._now()
        self._next_look = NO_TIME
        if context.memory.reasons.is_open_at(now - LOST_AFTER):
            return
        waiting = triggers_in(await context.memory.journal.pending())
        goals = None if waiting and now - waiting[0].event.at <= LONG_WAIT else self._goals
        if goals is not None and (event := goals.next_event(now)) is not None:
            await self._accept(event, _HOME_IMPORTANCE)
            return
        if waiting:
            if self._days:
                context.memory.reasons.note(now, "its day", "somebody waits for an answer", taken=False)
            return
        if quiet := self._may.quiet():
            context.memory.reasons.note(now, "initiative", quiet, taken=False)
            return
        present = present_players(context.body.world, self._may.muted(), self._may.unwanted())
        if await self._go_home(now) or not is_anybody_there(context.body.world, present):
            return
        if present and await self._whereabouts.is_one_of(context.settings.quiet_rooms):
            context.memory.reasons.note(now, "initiative", "its owner wants quiet in this room", taken=False)
            present = ()  # it still walks on
        if not (self._days and await self._live(now, present)):
            await self._impulse(now, present)

    async def _go_home(self, now: float) -> bool:
        """Send the character home when it has been left alone away from home for long enough; tell whether it was.

        One that waits for somebody stays, and so does one whose day wants it elsewhere.
        """
        context, seconds = self._context, self._context.settings.go_home_minutes * A_MINUTE
        is_alone = bool(seconds) and HOME in context.rules.grant and context.body.world.is_left_alone()
        if not is_alone or self._may.stays(now) or self._has_place(now):
            self._alone_since = None
            return False
        if self._alone_since is None:
            self._alone_since = now
        if now - self._alone_since < seconds:
            return False
        self._alone_since = now  # if it does not go, it tries again after the same time
        event = self._event("home", LEFT_ALONE, ByRule(HOME, {}, why="it was left alone"))
        return await self._accept(event, _HOME_IMPORTANCE)

    def _has_place(self, now: float) -> bool:
        """Tell whether the entry of its day that counts now wants it in a place."""
        if not self._days:
            return False
        clock = self._day_clock(now)
        entry = entry_at(self._days, clock.minute)
        return entry is not None and bool(entry.place) and not is_given_up(self._state, entry, clock)

    async def _live(self, now: float, present: tuple[Principal, ...]) -> bool:
        """Offer what its day asks for now; tell whether anything was offered."""
        context, clock = self._context, self._day_clock(now)
        entry = entry_at(self._days, clock.minute)
        here = await self._surroundings(entry, clock, present)
        offer, state = due(self._days, clock, here, self._state, context.process.pipeline.random)
        if isinstance(offer, DayRest):
            self._state, self._next_look = state, min(offer.until, now + WATCHED_SECONDS) if present else offer.until
            context.memory.reasons.note(now, "its day", offer.why, taken=False)
            return False
        tool, what = offer.by_rule.tool, f"its day: {next(iter(offer.by_rule.arguments.values()), '')}"
        if tool not in context.rules.grant:
            self._state = state
            context.memory.reasons.note(now, what, f"it is not granted {tool}", taken=False)
            return False
        if tool != MOVE and not self._claim(("deed", context.body.where()), ROOM_PAUSE):
            self._next_look = now + ROOM_PAUSE
            context.memory.reasons.note(now, what, "another character here did something a moment ago", taken=False)
            return False
        return await self._offer(offer, state, what)

    async def _offer(self, offer: DayOffer, state: DayState, what: str) -> bool:
        """Accept what its day asks for, and tell whether that went well."""
        now, is_walk = self._now(), offer.by_rule.tool == MOVE
        by_rule = replace(offer.by_rule, requester=OWNERS_FILE if is_walk else None)
        event = self._event("day", offer.text, by_rule)
        holds = partial(self._still_due, now, self.entry_at_time(now), self._context.body.where(), is_walk=is_walk)
        before = self._state.begun

        def undone() -> None:
            self._state = replace(self._state, begun=before)

        if not await self._accept(event, offer.importance, holds, undone, what=what):
            return False
        if state.begun != before:
            self._on_begun(state.begun)
        self._state, self._next_look = state, now + UNDISTURBED / 5
        return True

    def _still_due(self, since: float, entry: DayEntry | None, room: str, *, is_walk: bool) -> bool:
        """Tell whether what was offered at this time is still to be done: the entry counts, and nobody spoke since."""
        context, now = self._context, self._now()
        if (
            self._spoken > since
            or self.entry_at_time(now) is not entry
            or context.body.where() != room
            or self._may.quiet()
        ):
            return False
        if is_walk:
            return context.tools.following.leader is None and not self._may.stays(now)
        return bool(present_players(context.body.world, self._may.muted(), self._may.unwanted()))

    async def _surroundings(
        self, entry: DayEntry | None, clock: DayClock, present: tuple[Principal, ...]
    ) -> Surroundings:
        """Return where the character is, and the way to where the entry wants it. It is not sought while it stays."""
        leader = self._context.tools.following.leader
        held = f"it follows {leader.name}" if leader is not None else self._may.stays(clock.now)
        quiet_for = clock.now - self._spoken
        around = Surroundings(room=self._context.body.where(), watched=bool(present), quiet_for=quiet_for, held=held)
        if entry is None or not entry.place or self._whereabouts.is_known(entry.place):
            return around
        if held or quiet_for < UNDISTURBED or is_given_up(self._state, entry, clock):
            return replace(around, at_place=False)
        return await self._whereabouts.way(entry.place, around)

    async def _impulse(self, now: float, present: tuple[Principal, ...]) -> None:
        """Offer an impulse, when it is time for an offer and everything speaks for it."""
        context, impulses = self._context, self._impulses
        if impulses is None or context.is_asked_plainly or not present:
            return
        if now < impulses.next_at:
            self._next_look = min(self._next_look, impulses.next_at)
            return
        entry = self.entry_at_time(now)
        verdict = impulses.decide(now, self._spoken, "it rests" if entry is not None and entry.rests else "")
        if not verdict.taken:
            context.memory.reasons.note(now, "impulse", verdict.why, taken=False)
            return
        event, room = replace(self._event("impulse", impulses.text, None), of_itself=True), context.body.where()

        def holds() -> bool:
            return self._spoken <= now and context.body.where() == room and not self._may.quiet()

        if await self._accept(event, _IMPULSE_IMPORTANCE, holds, what="impulse", why=verdict.why):
            impulses.had(now)

    async def _accept(
        self,
        event: Event,
        importance: int,
        holds: Callable[[], bool] = lambda: True,
        undone: Callable[[], None] = lambda: None,
        *, what: str = "", why: str = "",
    ) -> bool:  # fmt: skip
        """Write an event into the journal, and tell whether it was taken; else it is offered again later."""
        context, now, by_rule = self._context, self._now(), event.by_rule
        if by_rule is not None:
            why, what = why or by_rule.why or "it was promised", what or by_rule.tool or "promise"
        try:
            await context.memory.journal.accept(event, Attention(Classification.TRIGGER, importance))
        except InboxFullError as full:
            _log.warn("{name} does nothing of itself now: {why}", name=context.body.me.name, why=str(full))
            context.memory.reasons.note(now, what, str(full), taken=False)
            return False
        context.memory.reasons.begin(event.id, Offered(now, holds, undone, self._may.quiet))
        context.memory.reasons.note(now, what, why, taken=True)
        return True

    def _event(self, kind: str, text: str, by_rule: ByRule | None) -> Noticed:
        id_ = f"{self._context.body.me.id}.{kind}.{self._context.process.pipeline.random.getrandbits(64):x}"
        return Noticed(id=id_, at=self._now(), who=THE_WORLD, text=text, by_rule=by_rule)

    def _claim(self, what: tuple[str, ...], seconds: float) -> bool:
        floor = self._context.process.floor
        return floor is None or floor.claim(what, self._context.body.me.id, seconds)

    def entry_at_time(self, now: float) -> DayEntry | None:
        """Return the entry of its day that counts at this time, in clock seconds; None for none."""
        return entry_at(self._days, self._day_clock(now).minute)

    def _day_clock(self, now: float) -> DayClock:
        return day_clock(now, game_time(self._context.body.world), self._utc_offset)
