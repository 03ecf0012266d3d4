"""What an assistant that can think makes of each event it hears: whom it answers, and what wakes it."""

from __future__ import annotations

from mud_assistant.assistant.events.classify import Attention, Classification, Manners, classify
from mud_assistant.assistant.events.conversation import Cooldown
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.tick import Tick
from mud_assistant.assistant.loop.run import RunContext
from mud_assistant.assistant.loop.unasked import walking_after
from mud_assistant.assistant.memory.rights import Rights
from mud_assistant.assistant.runtime.company import Company
from mud_assistant.assistant.runtime.sleeping import Sleep
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Kind


class Attending:
    """The attention of one assistant. It knows what is judged only while somebody thinks: talks, company, mutes."""

    __slots__ = ("_bot_exchanges", "_context", "_cooldown", "_manners", "_rights", "_sleep", "company", "tick")

    def __init__(self, context: RunContext, manners: Manners, rights: Rights, sleep: Sleep, tick: Tick) -> None:
        self._context = context
        self._manners = manners
        self._rights = rights
        self._sleep = sleep
        self.tick = tick
        self.company = Company(context, manners, sleep.launcher)
        self._cooldown = Cooldown(context.clock, context.settings.wake_seconds)
        self._bot_exchanges = 0

    @property
    def launcher(self) -> Launcher:
        """Runs what follows from an event; it ends when the assistant is stopped or halted."""
        return self._sleep.launcher

    def judge(self, event: Event) -> tuple[Event, Attention]:
        """Return the event as it is to be written, and the attention it gets: IGNORE when its cause is muted.

        One that is not ignored is taken note of.
        """
        context, talk = self._context, self._context.talk
        attention = classify(
            event,
            self._manners,
            self._bot_exchanges,
            goes_on=talk.goes_on(event),
            is_rested=self._cooldown.is_over(event),
        )
        if attention.verdict is Classification.IGNORE or event.who.id in self._rights.muted:
            return event, Attention(Classification.IGNORE, attention.importance)
        event, attention = walking_after(context, event, attention)
        if event.who.kind is Kind.ASSISTANT:  # how often others woke this one since a human spoke
            self._bot_exchanges += attention.verdict is Classification.TRIGGER
        elif event.who.kind in {Kind.PLAYER, Kind.OPERATOR}:
            self._bot_exchanges = 0
        talk.heard(event, attention)
        attention = context.questions.heard(event, attention)
        self._cooldown.heard(event, attention)
        self.company.heard(event, attention)
        self._sleep.heard(event)
        return event, attention

    def is_for_one_of_many(self, event: Event, attention: Attention) -> bool:
        """Tell whether another assistant of the process may answer the event; it is then held for the first to."""
        if is_left_open := self.company.is_for_one_of_many(event, attention):
            self._context.talk.held[event.id] = None
        return is_left_open

    def wake(self, event: Event) -> None:
        """Wake the assistant for an event, and let its player know that an answer comes, or that none does now."""
        if event.by_rule is not None:
            pass  # no player waits for an answer
        elif self.tick.paused:
            self.begin_fallback_line()
        else:
            self._context.waking.asked(event)
        self.tick.wake()

    def begin_fallback_line(self) -> None:
        """Begin to show the fallback line."""
        self._sleep.launcher.launch(self._context.fallback_line.make(), "the fallback line")
