"""The world of a worker, as the operator's page sees it: several assistants, each with settings as `LocalHost` has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assistant.checks.finding import Finding
from assistant.config.schema import ModelConfig
from assistant.page.ports import InvalidInput, KnownAssistant, NotFound
from assistant.page.values.actions import CharacterView, LorePreview, NewModel, SettingChanged
from assistant.page.values.assistants import SettingLine
from assistant.surfaces.serve.local_host import LocalHost

_NO_PERSONA = (
    "who an assistant of a worker plays is said in [worker] assistants of {file}: change it there, and restart"
)


class WorkerHost:
    """The worlds of single assistants, by their ids. Settings of the web are those of the first: they are for all."""

    def __init__(self, hosts: Mapping[str, LocalHost], file: str) -> None:
        self._hosts = hosts
        self._file = file

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant of the worker, also those that live in another process now."""
        return tuple(one for host in self._hosts.values() for one in host.assistants())

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names that are known."""
        return await self._host("").names(ids)

    async def start(self, assistant: str) -> str:
        """Start an assistant with the settings of now, unless it runs."""
        return await self._host(assistant).start(assistant)

    async def stay_off(self, assistant: str) -> None:
        """Keep it off in this process until it is started again, or this process is."""
        await self._host(assistant).stay_off(assistant)

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """Return the settings of an assistant, or those of the web for an empty id."""
        return await self._host(assistant).settings(assistant)

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """Write one setting into the file, for all, and restart this assistant with it; the others at their start."""
        return await self._host(assistant).change_setting(assistant, option, value, force=force)

    async def create(self, name: str, persona: str) -> str:
        """Raise InvalidInput: the list of the settings says who there is."""
        return await self._host("").create(name, persona)

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """Return how the model of all assistants would be set in the file."""
        return await self._host(assistant).model_with(assistant, wanted)

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """Write the change into the file, for all, and restart this assistant with it; the others at their start."""
        return await self._host(assistant).keep_model(assistant, wanted)

    async def character(self, assistant: str) -> CharacterView:
        """Return who an assistant is and what it knows."""
        return await self._host(assistant).character(assistant)

    async def set_persona(self, assistant: str, text: str) -> str:
        """Refuse: the list of the settings says who is who."""
        raise InvalidInput(_NO_PERSONA.format(file=self._file))

    async def add_lore(self, assistant: str, title: str, keys: Sequence[str], text: str) -> str:
        """Add a piece of lore to the character it plays."""
        return await self._host(assistant).add_lore(assistant, title, keys, text)

    async def delete_lore(self, assistant: str, number: int) -> str:
        """Delete a piece of lore that was added."""
        return await self._host(assistant).delete_lore(assistant, number)

    async def preview_lore(self, assistant: str, line: str) -> LorePreview:
        """Return what a line would bring up."""
        return await self._host(assistant).preview_lore(assistant, line)

    async def findings(self) -> Sequence[Finding]:
        """Return where the settings are."""
        return await self._host("").findings()

    def _host(self, assistant: str) -> LocalHost:
        """Return the world of one assistant, of the first for an empty id. Raises NotFound."""
        host = self._hosts.get(assistant) if assistant else next(iter(self._hosts.values()))
        if host is None:
            raise NotFound(f"this worker has no assistant {assistant}")
        return host
