"""Gives people in the game what they ask for in private, and tells them: outside the story, and by no model."""

from __future__ import annotations

from twisted.logger import Logger

from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations import players, quiet
from mud_assistant.assistant.worlds.telnet.telnet_body import TelnetBody
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.trust import Principal

_log = Logger()


class GuestRights:
    """What everybody may ask a guest for (`game_ears.RIGHTS`)."""

    def __init__(self, body: TelnetBody, name: str) -> None:
        self._body, self._name = body, name

    async def give(self, assistant: Assistant, who: Principal, right: str) -> None:
        """Give somebody what they asked for, and tell them in private what came of it."""
        try:
            sentence = await self._given(assistant, who, right)
        except JournalError as error:
            _log.warn("{name} asked for {right} in vain: {why}", name=who.name, right=right, why=str(error))
            sentence = f"That cannot be written down now, so it is not so yet: tell me {right} again later."
        await self.tell(who, sentence)

    async def tell(self, who: Principal, sentence: str) -> None:
        """Tell somebody a sentence in private, as far as the game has a way to."""
        # The game says itself who tells it.
        quoted = sentence.removeprefix(f'{self._name} tells you, "')
        said = f"({sentence})" if quoted == sentence else quoted.removesuffix('"')
        for speak in (self._body.page, self._body.whisper):
            try:
                await speak(who.name, said, only=frozenset({who.id}))
            except ToolFailed as failed:
                _log.info("{name} was not told: {why}", name=who.name, why=str(failed))
            else:
                return

    @staticmethod
    async def _given(assistant: Assistant, who: Principal, right: str) -> str:
        if right == "mute":
            return await players.mute(assistant, [who], again="unmute")
        if right == "unmute":
            return await players.unmute(assistant, [who])
        if right == "forget me":
            return await players.forget(assistant, [who])
        return await quiet.want_peace([assistant], [who], peace=right == "quiet", again="quiet off")
