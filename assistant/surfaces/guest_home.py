"""The characters of a program outside games that live as guests in somebody else's game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.surfaces.serve.local_host import LocalAssistant
from mud_assistant.assistant.surfaces.standalone import Standalone
from mud_assistant.assistant.surfaces.worker.members import Member
from mud_assistant.assistant.worlds.telnet.game_access import access_of
from mud_assistant.assistant.worlds.telnet.guest_life import GuestLife, Watching

#: Stands behind the persona of every guest.
_GUEST = "You are an AI character and a guest in this game, and say so to whoever asks."


class GuestHome:
    """The guests of one process. Their game is that of the settings when the program was started."""

    def __init__(self, program: Standalone, members: Sequence[Member], watching: Watching | None = None) -> None:
        """Read the profile of each. Blocks, for start-up. Raises AssistantError."""
        options, service = program.options, program.service
        self._service, self._members = service, members
        watching = watching or Watching(program.progress.note)
        self.lives: Mapping[str, GuestLife] = {
            member.me.id: GuestLife(
                member.me,
                access_of(options.config.world, member.me.name, options.file.folder),
                service,
                program.reactor,
                watching,
            )
            for member in members
        }

    def begin(self, assistant: str, config: Config, entered: str = "") -> AssistantRunner:
        """Start an assistant, or restart it, with these settings and a key that was given just now."""
        mine = config.assistant
        honest = mine.model_copy(update={"persona": f"{mine.persona.rstrip()} {_GUEST}"})
        config = config.model_copy(update={"assistant": honest})
        return self._service.start(self.lives[assistant].embodiment(), config, entered)

    def where(self, assistant: str) -> str:
        """Return where an assistant is: in the game, away and why, or in which process."""
        return self.lives[assistant].sentence

    def locals(self) -> list[LocalAssistant]:
        """Return the assistants as the page sees them."""
        return [
            LocalAssistant(
                member.me,
                member.file,
                partial(self.begin, member.me.id),
                where=partial(self.where, member.me.id),
                finding=self.lives[member.me.id].finding,
            )
            for member in self._members
        ]
