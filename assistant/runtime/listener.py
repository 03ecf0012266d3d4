"""Makes events of what a body of the embedded world perceives, for the assistant that lives in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mud_assistant.assistant.events.classify import is_about_all, is_named
from mud_assistant.assistant.events.events import (
    Arrived,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Left,
    Paged,
    Said,
    Whispered,
)
from mud_assistant.tools import Principal

#: Makes an event from its id and the time it happened, in clock seconds.
MakeEvent = Callable[[str, float], Event]


def _nobody(_: Principal) -> Sequence[str]:
    return ()


class BodyListener:
    """Hands events to `hear`, such as that of a runner or of an inbox.

    `alone_with` tells whether only a speaker and the assistant are there; `others` gives the names of those who are
    there, without these two.
    """

    def __init__(
        self,
        me: Principal,
        hear: Callable[[MakeEvent], None],
        alone_with: Callable[[Principal], bool],
        others: Callable[[Principal], Sequence[str]] = _nobody,
    ) -> None:
        self._me = me
        self._hear = hear
        self._alone_with = alone_with
        self._others = others

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Hear a line that was spoken aloud."""
        to_me = target is not None and target.id == self._me.id
        others = self._others(speaker)
        to_other = not to_me and (target is not None or is_named(text, others))
        alone = self._alone_with(speaker) or (target is None and is_about_all(text, others))
        self._hear(
            lambda id_, at: Said(id=id_, at=at, who=speaker, text=text, to_me=to_me, alone=alone, to_other=to_other)
        )

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Hear a whisper to the assistant."""
        self._hear(lambda id_, at: Whispered(id=id_, at=at, who=speaker, text=text))

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Hear a page to the assistant."""
        self._hear(lambda id_, at: Paged(id=id_, at=at, who=speaker, text=text))

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Hear a line on a channel. Everybody in this world listens to every channel."""
        self._hear(lambda id_, at: ChannelSaid(id=id_, at=at, who=speaker, channel=channel, text=text, is_open=True))

    def saw_emote(self, actor: Principal, text: str) -> None:
        """See a visible act."""
        to_other = is_named(text, self._others(actor), anywhere=True)
        alone = self._alone_with(actor)
        self._hear(lambda id_, at: Emoted(id=id_, at=at, who=actor, text=text, alone=alone, to_other=to_other))

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Receive a thing that another gave the assistant."""
        self._hear(lambda id_, at: Gave(id=id_, at=at, who=giver, thing=thing, authority=authority))

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """See another come in."""
        self._hear(lambda id_, at: Arrived(id=id_, at=at, who=who, origin=from_direction))

    def saw_departure(self, who: Principal, direction: str) -> None:
        """See another go away."""
        self._hear(lambda id_, at: Left(id=id_, at=at, who=who, direction=direction))
