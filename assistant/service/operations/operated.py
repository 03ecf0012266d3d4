"""What operations work on: the service, and the assistants of its world with where their settings are kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Struct

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations.operators import NotAllowed, NotFound, Unavailable
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService

T = TypeVar("T")
#: Why nothing is done where there is only a journal.
ONLY_LOOKED_AT = (
    "this journal is only looked at: nothing can be changed here. In the game itself, or without --read-only, it can"
)


class KnownAssistant(Struct, frozen=True):
    """An assistant of the world, running or not. `place` names the room it is in."""

    id: str
    name: str
    is_off: bool = False
    place: str = ""


class SettingsStore(Protocol):
    """Where a world keeps the settings of its assistants: a game in its database, a program in a file.

    Methods raise NotFound, SettingsError and ServiceNotRunning; a running assistant is restarted with what it is given.
    """

    def start(self, assistant: str) -> Awaitable[None]:
        """Let an assistant that does not run live, now and after restarts."""
        ...

    def stay_off(self, assistant: str) -> Awaitable[None]:
        """Stop an assistant, wait for it, and keep it off until it is started."""
        ...

    def config(self, assistant: str) -> Awaitable[Config]:
        """Return the settings of an assistant."""
        ...

    def check_playing(self) -> None:
        """Raise InvalidInput where who an assistant is cannot be changed."""
        ...

    def play(self, assistant: str, name: str) -> Awaitable[Sequence[str]]:
        """Let an assistant play the character of this name. Return which of its own settings give way to it."""
        ...

    def be(self, assistant: str, persona: str) -> Awaitable[None]:
        """Let an assistant play nobody, but be who the words say; without any, take back what was said last."""
        ...

    def restart(self, playing: str) -> Awaitable[int]:
        """Restart those who play this character, whose files have changed. Return how many."""
        ...


class AssistantHost(Protocol):
    """The world in which assistants live."""

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant of the world. Must not block: it may be up to a second old."""
        ...

    @property
    def store(self) -> SettingsStore | None:
        """Where settings are kept; None where a journal is only looked at."""
        ...


class Operated(Struct, frozen=True):
    """A service and its world."""

    service: AssistantService
    host: AssistantHost

    @property
    def store(self) -> SettingsStore:
        """Where settings are kept. Raises NotAllowed where a journal is only looked at."""
        if self.host.store is None:
            raise NotAllowed(ONLY_LOOKED_AT)
        return self.host.store

    def check_own(self) -> None:
        """Raise NotAllowed where a journal is only looked at: it is not the one that the service writes."""
        if self.host.store is None:
            raise NotAllowed(ONLY_LOOKED_AT)

    @property
    def folder(self) -> Path:
        """The folder of characters."""
        return self.service.config.character_folder

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, which reads and writes files. Cancelling ends only the wait for it."""
        return await self.service.parts.with_files(work)

    def known(self) -> list[KnownAssistant]:
        """Return every assistant, those that run and those that are off."""
        found = {one.id: one for one in self.host.assistants()}
        for id_, runner in self.service.runners.items():
            found.setdefault(id_, KnownAssistant(id_, runner.embodiment.me.name))
        return list(found.values())

    def find(self, assistant: str) -> KnownAssistant:
        """Return the assistant with this id. Raises NotFound."""
        return self.find_all([assistant])[0]

    def find_all(self, assistants: Sequence[str]) -> list[KnownAssistant]:
        """Return the assistants with these ids, which are looked up once. Raises NotFound."""
        known = {one.id: one for one in self.known()}
        if any(one not in known for one in assistants):
            raise NotFound("there is no assistant of this id")
        return [known[one] for one in assistants]

    def runner(self, assistant: str) -> AssistantRunner:
        """Return the assistant with this id, which runs. Raises NotFound, and Unavailable when it does not run."""
        runner = self.service.runners.get(assistant)
        if runner is None:
            raise Unavailable(f"{self.find(assistant).name} does not run now")
        return runner

    def awake(self, assistant: str) -> Assistant:
        """Return the assistant with this id, which has a model. Raises NotFound and Unavailable."""
        runner = self.runner(assistant)
        if runner.assistant is None:
            raise Unavailable(f"{runner.embodiment.me.name} is not awake yet: {runner.trouble or 'it is starting'}")
        return runner.assistant
