"""Turns what a world's body perceives into events in the assistant's inbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twisted.internet.interfaces import IReactorTime

from assistant.events.classify import is_named
from assistant.events.events import Arrived, ChannelSaid, Emoted, Event, Gave, Left, Paged, Said, Whispered
from assistant.journal import Fenced, InboxFullError, JournalUnwritable
from assistant.runtime.character import Assistant
from resilience import Launcher
from tools import Principal


def _nobody(_: Principal) -> Sequence[str]:
    return ()


@dataclass(slots=True)
class AssistantListener:
    """Hears for one assistant in the embedded world. `alone_with` tells whether only the two are there."""

    assistant: Assistant
    me: Principal
    clock: IReactorTime
    alone_with: Callable[[Principal], bool]
    launcher: Launcher
    #: Differs from every other life of this character, so that no event id is used twice.
    life: int = 0
    heard: int = 0
    #: Returns the names of those who are there, without the assistant and the speaker.
    others: Callable[[Principal], Sequence[str]] = _nobody

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Hear a line that was spoken aloud."""
        to_me = target is not None and target.id == self.me.id
        self._hear(
            Said(
                id=self._id(),
                at=self._now(),
                who=speaker,
                text=text,
                to_me=to_me,
                alone=self.alone_with(speaker),
                to_other=not to_me and (target is not None or is_named(text, self.others(speaker))),
            )
        )

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Hear a whisper to the assistant."""
        self._hear(Whispered(id=self._id(), at=self._now(), who=speaker, text=text))

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Hear a page to the assistant."""
        self._hear(Paged(id=self._id(), at=self._now(), who=speaker, text=text))

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Hear a line on a channel. Everybody in this world listens to every channel."""
        self._hear(ChannelSaid(id=self._id(), at=self._now(), who=speaker, channel=channel, text=text, is_open=True))

    def saw_emote(self, actor: Principal, text: str) -> None:
        """See a visible act."""
        to_other = is_named(text, self.others(actor))
        alone = self.alone_with(actor)
        self._hear(Emoted(id=self._id(), at=self._now(), who=actor, text=text, alone=alone, to_other=to_other))

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Receive a thing that somebody gave the assistant."""
        self._hear(Gave(id=self._id(), at=self._now(), who=giver, thing=thing, authority=authority))

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """See somebody come in."""
        self._hear(Arrived(id=self._id(), at=self._now(), who=who, origin=from_direction))

    def saw_departure(self, who: Principal, direction: str) -> None:
        """See somebody go away."""
        self._hear(Left(id=self._id(), at=self._now(), who=who, direction=direction))

    def _hear(self, event: Event) -> None:
        self.launcher.launch(self._accept(event), "hearing")

    async def _accept(self, event: Event) -> None:
        try:
            await self.assistant.hear(event)
        except (InboxFullError, JournalUnwritable, Fenced):
            return  # the assistant has logged it, and has said its fallback line or left the world to another process

    def _id(self) -> str:
        self.heard += 1
        return f"{self.me.id}.{self.life}.{self.heard}"

    def _now(self) -> float:
        return self.clock.seconds()
