"""What an assistant that can think makes of what it hears: whom it answers, and whom it greets or tells how to talk."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.assistant.characters.macros import address
from mud_assistant.assistant.events.classify import Attention, Classification, Manners, classify, is_for_everybody
from mud_assistant.assistant.events.conversation import Cooldown
from mud_assistant.assistant.events.events import Arrived, Event, Said, spoken_text
from mud_assistant.assistant.events.tick import Tick
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.journal.tables.acquaintances import KnownFact
from mud_assistant.assistant.language.languages import is_foreign
from mud_assistant.assistant.life.peace import Peace, wish_in
from mud_assistant.assistant.life.presence import present_players
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.unasked import walking_after
from mud_assistant.assistant.memory.acquaintance.visitor_words import matter_due, question_of_matter
from mud_assistant.assistant.memory.questions import room
from mud_assistant.assistant.memory.rights import Rights
from mud_assistant.assistant.runtime.sleeping import Sleep
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Kind, Principal, ToolFailed
from mud_assistant.tools.text.clean import one_line

#: The longest time in which an assistant decides, by chance, whether it answers a line to everybody, in seconds.
LONGEST_DELAY = 1.0
#: For how many seconds a line to everybody belongs to the first assistant that claims it; no other answers those words.
CLAIM_SECONDS = 30.0
#: Said to a player it has met before, where the owner wrote a greeting for strangers only.
WELCOME_BACK = "Welcome back, {{user}}."
#: Said to a stranger who comes in right behind another, where the greeting for strangers names nobody.
WELCOME_TOO = ("And welcome to you too, {{user}}.", "{{user}}, is it? The same to you.", "You too, {{user}}.")
#: For how long a greeting is still in the ears of those in the room, in seconds.
ECHO_SECONDS = 600.0
#: How long a player goes unanswered before they are told how to talk with the assistant, in seconds.
HINT_AFTER = 12.0
#: For how long after that no other assistant tells them the same, in seconds.
HINT_SECONDS = 3600.0
#: The hint for a player, outside the story.
HINT = "({name} is an AI character. In company it answers those who say its name: {name}, hello.)"
#: How many players are remembered as told.
MAX_KEPT = 1000
_HOUR = 3600.0

_log = Logger()


class Company:
    """Handles greetings, hints and lines to everybody for one assistant."""

    __slots__ = ("_context", "_greeted", "_greeting", "_know", "_last", "_launcher", "_manners", "_peace")

    def __init__(self, context: RunContext, manners: Manners, launcher: Launcher, peace: Peace) -> None:
        self._context = context
        self._manners = manners
        self._peace = peace
        #: The ids of the players who know how to talk with it.
        self._know: dict[str, None] = {}
        #: The id of the last speaker in the room, and the number of the line.
        self._last = ("", 0)
        #: The ids of the players who are being greeted.
        self._greeting: dict[str, None] = {}
        #: The last greeting as it is written and as it was said, where, and when in clock seconds.
        self._greeted = ("", "", "", 0.0)
        #: Runs the greetings and hints; they end when it is stopped.
        self._launcher = launcher

    def holds(self, event: Event, attention: Attention) -> bool:
        """Hold a line to everybody that another assistant of the process may answer; return whether it is one."""
        others = self._context.process.floor is not None and self._context.process.scheduler.living > 1
        is_held = others and attention.verdict is Classification.TRIGGER and is_for_everybody(event, self._manners)
        if is_held:
            self._context.speech.talk.held[event.id] = None
        return is_held

    async def answers(self, event: Event) -> bool:
        """Tell whether this assistant answers the line. Decides a little later, by chance."""
        context = self._context
        await deferLater(context.process.clock, context.process.pipeline.random.uniform(0, LONGEST_DELAY))
        words = event.text if isinstance(event, Said) else ""
        floor = context.process.floor
        is_free = event.id in context.speech.talk.held
        if is_free and (floor is None or floor.claim(("all", event.who.id, words), context.body.me.id, CLAIM_SECONDS)):
            context.speech.talk.held.pop(event.id, None)
            return True
        context.speech.talk.leave(event.id)
        return False

    def heard(self, event: Event, attention: Attention) -> None:
        """Take note of an event.

        A player who speaks to nobody and is not answered may be told how to talk with the assistant.
        """
        if attention.addressed:
            self._knows(event.who.id)
            self._heed(event)
        is_greeted = isinstance(event, Arrived) and event.who.kind is Kind.PLAYER and self._context.settings.greeting
        if isinstance(event, Arrived) and is_greeted and self._peace.may_greet(event.who.id):
            self._context.speech.talk.welcomed(event.who)
            self._launcher.launch(self._greet(event), "greeting a player")
        if not isinstance(event, Said):
            return
        if event.who.id != self._last[0]:
            self._last = (event.who.id, self._last[1] + 1)
        is_lost = attention.verdict is Classification.CONTEXT and event.who.kind is Kind.PLAYER and not event.to_other
        if self._context.settings.hint and is_lost and event.who.id not in self._know:
            self._knows(event.who.id)
            self._launcher.launch(self._hint(event, self._last[1]), "telling a player how to talk with it")

    def _heed(self, event: Event) -> None:
        """Heed a player's word that they do not want to be spoken to first, or may be again."""
        if event.who.kind is Kind.PLAYER and (wish := wish_in(spoken_text(event))) is not None:
            kept = self._peace.wish([event.who.id], quiet=wish)
            self._launcher.launch(kept, "keeping whether a player wants to be spoken to first")

    async def _greet(self, event: Arrived) -> None:
        """Greet the player who came in, unless they were greeted lately or have left again."""
        context, who = self._context, event.who
        if who.id in self._greeting:
            return
        self._greeting[who.id] = None
        try:
            now, last = context.process.clock.seconds(), await context.memory.people.last_greeted(who.id)
            if last and now < last + context.settings.greet_hours * _HOUR:
                return
            known = (await context.memory.people.find(who.id)).asker
            is_known = known is not None and bool(last or known.left_before(now) or known.facts)
            matter = matter_due(known, None, now) if known is not None and is_known else None
            greeting = self._greeting_for(who, matter, is_known=is_known)
            if (turn := context.room_turn()) is not None:
                await turn
            if context.body.world.hears(who):
                await context.memory.people.greeted(who, context.process.clock.seconds(), matter)
                context.speech.questions.ask(room(), greeting, context.body.me.id, of=frozenset({who.id}))
                await context.body.world.say(greeting)
        except (ToolFailed, JournalError) as failed:
            _log.info("{name} could not greet: {why}", name=context.body.me.name, why=str(failed))
        finally:
            self._greeting.pop(who.id, None)

    def _greeting_for(self, who: Principal, matter: KnownFact | None, *, is_known: bool) -> str:
        """Return the greeting for a player: the first for one it has never met, one of the others for any other.

        The same is not said twice in a row in a room. One who left something open is asked how it went, in English as
        it was told.
        """
        context, settings = self._context, self._context.settings
        now, room, dice = context.process.clock.seconds(), context.body.where(), context.process.pipeline.random
        last, last_said, last_room, last_at = self._greeted
        greeting = settings.greeting
        if is_known:
            others = settings.more_greetings or (greeting if is_foreign(greeting) else WELCOME_BACK,)
            greeting = dice.choice([one for one in others if one != last] or others)
        greeted = address(greeting, char=settings.name, user=one_line(who.name))
        is_echo = greeted == last_said and room == last_room and now < last_at + ECHO_SECONDS
        if is_echo and not is_foreign(greeting):
            greeting = dice.choice([one for one in WELCOME_TOO if one != last])
            greeted = address(greeting, char=settings.name, user=one_line(who.name))
        self._greeted = (greeting, greeted, room, now)
        return greeted if matter is None or is_foreign(greeting) else f"{greeted} {question_of_matter(matter)}"

    async def _hint(self, event: Said, line: int) -> None:
        """Tell the speaker how to talk with the assistant, unless somebody has answered them."""
        context = self._context
        await deferLater(context.process.clock, HINT_AFTER)
        floor, me = context.process.floor, context.body.me
        is_first = floor is None or floor.claim(("hint", event.who.id), me.id, HINT_SECONDS)
        if line != self._last[1] or not is_first:
            return
        try:
            context.body.notify(event.who, HINT.format(name=me.name))
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border to any game: nothing hangs on the sentence)
            _log.failure("{who} could not be told", who=event.who.id)

    def _knows(self, who: str) -> None:
        self._know[who] = None
        while len(self._know) > MAX_KEPT:
            del self._know[next(iter(self._know))]


class Attending:
    """Judges what an assistant hears that can think, by its talks, its company and whom it mutes, and wakes it."""

    __slots__ = ("_context", "_cooldown", "_heard", "_manners", "_rights", "_sleep", "company", "tick")

    def __init__(
        self,
        context: RunContext,
        manners: Manners,
        rights: Rights,
        sleep: Sleep,
        tick: Tick,
        *,
        heard: Callable[[Event], None],
        peace: Peace,
    ) -> None:
        self._context = context
        self._manners = manners
        self._rights = rights
        self._sleep = sleep
        #: Told of each event that is not ignored.
        self._heard = heard
        self.tick = tick
        self.company = Company(context, manners, sleep.launcher, peace)
        self._cooldown = Cooldown(context.process.clock, context.settings.wake_seconds)

    @property
    def launcher(self) -> Launcher:
        """Runs what follows from an event; it ends when the assistant is stopped or halted."""
        return self._sleep.launcher

    def judge(self, event: Event) -> tuple[Event, Attention]:
        """Return the event as it is to be written, and the attention it gets: IGNORE when its cause is muted.

        One that is not ignored is taken note of.
        """
        context, talk = self._context, self._context.speech.talk
        attention = classify(
            event,
            self._manners,
            goes_on=talk.goes_on(event),
            is_rested=self._cooldown.is_over(event),
        )
        if attention.verdict is Classification.IGNORE or event.who.id in self._rights.muted:
            return event, Attention(Classification.IGNORE, attention.importance)
        is_waiting = context.memory.goals.waits(context.process.clock.seconds())
        event, attention = walking_after(context.tools, event, attention, is_waiting=is_waiting)
        if event.who.kind is Kind.ASSISTANT and attention.verdict is Classification.TRIGGER:
            attention = self._among_themselves(event, attention)
        talk.heard(event, attention)
        attention = context.speech.questions.heard(event, attention)
        self._cooldown.heard(event, attention)
        self.company.heard(event, attention)
        self._sleep.heard(event)
        self._heard(event)
        return event, attention

    def _among_themselves(self, event: Event, attention: Attention) -> Attention:
        """Return the attention of a line of another assistant to this one: the two talk a little, then they rest."""
        context = self._context
        is_watched = bool(present_players(context.body.world, self._rights.muted))
        why = context.speech.pairs.heard(event.who, spoken_text(event), is_watched=is_watched)
        if not why:
            return attention
        now, what = context.process.clock.seconds(), f"answering {one_line(event.who.name, max_chars=60)}"
        context.memory.reasons.note(now, what, why, taken=False)
        return replace(attention, verdict=Classification.CONTEXT)

    def wake(self, event: Event) -> None:
        """Wake the assistant for an event, and let its player know that an answer comes, or that none does now."""
        if event.by_rule is None:  # else no player waits for an answer
            if self.tick.paused:
                self.begin_fallback_line()
            else:
                self._context.speech.waking.asked(event)
        self.tick.wake()

    def begin_fallback_line(self) -> None:
        """Begin to show the fallback line."""
        self._sleep.launcher.launch(self._context.speech.fallback_line.make(), "the fallback line")
