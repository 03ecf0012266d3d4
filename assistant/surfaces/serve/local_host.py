"""The world of the assistants of a program outside games, as the page sees it. Settings are those of assistant.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from mud_assistant.assistant.checks.doctor import judge_own_tools
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.config.known_providers import left_behind
from mud_assistant.assistant.config.options import (
    Option,
    find_option,
    shown_options,
    web_options,
    with_option,
    with_web_option,
    without_option,
    without_web_option,
)
from mud_assistant.assistant.config.playing import OF_A_CHARACTER
from mud_assistant.assistant.config.schema import Config, ModelConfig
from mud_assistant.assistant.page.ports import InvalidInput, KnownAssistant, NotFound, setting_line
from mud_assistant.assistant.page.values.actions import NewModel, SettingChanged
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.serve.file import Changes, SettingsFile
from mud_assistant.tools import Principal

T = TypeVar("T")
_NO_PERSONA = (
    "who an assistant of a worker plays is said in [worker] assistants of {file}: change it there, and restart"
)
_NO_OTHER = (
    "outside games this program runs the assistants of its settings: name another in [worker] assistants of {path} and "
    "run mud-assistant worker, or make it in a game"
)
_NO_RENAME = (
    "outside games a new name is a new assistant, which remembers nothing: change assistant.name in {path} and start "
    "again"
)


class LocalAssistant(Struct, frozen=True):
    """One assistant of a program. `begin` starts it, or restarts it, with these settings and a key given now.

    `where` names the room it is in, and `finding` tells whether its game lets it live there.
    """

    me: Principal
    file: SettingsFile
    begin: Callable[[Config, str], object]
    where: Callable[[], str] = str
    finding: Callable[[], Finding] | None = None


class LocalHost:
    """The world of these assistants, the first of whom stands for what is set for all. `names` are those of others.

    `is_listed` says that a list in the settings fixes who plays whom.
    """

    def __init__(
        self,
        service: AssistantService,
        assistants: Sequence[LocalAssistant],
        names: Mapping[str, str] | None = None,
        *,
        is_listed: bool = False,
    ) -> None:
        self._service = service
        self._is_listed = is_listed
        self._assistants = {one.me.id: one for one in assistants}
        self._first = assistants[0]
        self._names = {**{one.me.id: one.me.name for one in assistants}, **(names or {})}
        self._off: set[str] = set()

    @property
    def store(self) -> LocalHost:
        """The settings, which are changed here."""
        return self

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant, also those that live in another process now."""
        return tuple(
            KnownAssistant(id_, one.me.name, id_ in self._off, one.where()) for id_, one in self._assistants.items()
        )

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names that are known."""
        return {id_: self._names[id_] for id_ in ids if id_ in self._names}

    async def start(self, assistant: str) -> None:
        """Start an assistant with the settings of now. Raises SettingsError, CharacterError."""
        one = self._one(assistant)
        config = await self._in_thread(one.file.config)
        self._off.discard(assistant)
        one.begin(config, "")

    async def stay_off(self, assistant: str) -> None:
        """Keep an assistant off until it is started again, or this program is."""
        self._off.add(self._one(assistant).me.id)

    async def config(self, assistant: str) -> Config:
        """Return the settings of an assistant, with the character that they name."""
        return await self._in_thread(self._one(assistant).file.config)

    def check_playing(self) -> None:
        """Raise InvalidInput where the list of a worker says who is who."""
        if self._is_listed:
            raise InvalidInput(_NO_PERSONA.format(file=self._first.file.path))

    async def play(self, assistant: str, name: str) -> Sequence[str]:
        """Let an assistant play the character of this name, in place of what the file says of who it is."""
        there = (await self._in_thread(self._one(assistant).file.tables)).get("assistant", {})
        gone = [one for one in OF_A_CHARACTER if one in there]
        await self._change(assistant, {("assistant", "character"): name, **{("assistant", one): None for one in gone}})
        return gone

    async def be(self, assistant: str, persona: str) -> None:
        """Let an assistant be who the words say, or who it usually is. Raises SettingsError, CannotWrite."""
        await self._change(assistant, {("assistant", "character"): None, ("assistant", "persona"): persona or None})

    async def restart(self, playing: str) -> int:
        """Restart those who play this character. Return how many."""
        runners = self._service.runners
        living = [
            id_ for id_ in self._assistants if id_ in runners and runners[id_].config.assistant.character == playing
        ]
        for id_ in living:
            self._restart(id_, await self.config(id_))
        return len(living)

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """Return the settings of the assistant, or those of the web for an empty id."""
        file = self._one(assistant).file
        config, tables = await self._in_thread(lambda: (file.config(), file.tables()))
        if not assistant:
            options = [one._replace(name=f"web.{one.name}") for one in web_options(config, tables)]
            return [setting_line(option, "game" if option.is_set else "default") for option in options]
        plays = bool(config.assistant.character)
        return [setting_line(option, _set_by(option, plays=plays)) for option in shown_options(config, tables)]

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """Write one setting into the file, for all, and restart this assistant with it. A model is asked first.

        Raises SettingsError, NoModelError for a model that does not answer, unless `force`, and CannotWrite.
        """
        one, (table, name) = self._one(assistant), find_option(option)
        if (table, name) == ("assistant", "name"):
            raise InvalidInput(_NO_RENAME.format(path=one.file.path))
        if (table == "web") != (not assistant):
            raise InvalidInput(f"{option} is a setting of {'the web, for all' if table == 'web' else 'one assistant'}")
        tables = await self._in_thread(one.file.tables)
        wanted = _changed(tables, table, name, value)
        config = await self._in_thread(partial(one.file.with_changes, {(table, name): wanted}))
        entered = config.model.key if (table, name) == ("model", "key") else ""
        told = ""
        if table == "model" and not force:
            told = f" {await self._service.try_model(config.model, entered)}."
        if table == "web":
            await self._service.change_web(config.web)
        await self._change(assistant, {(table, name): wanted}, entered)
        shown = next(
            line.value for line in await self.settings(assistant) if line.name in {option, name, f"{table}.{name}"}
        )
        how = f"{name} = {shown}, kept in {one.file.path.name}." if value.strip() else f"{name} is as usual again."
        return SettingChanged(option=option, value=shown, sentence=how + told)

    async def create(self, name: str, persona: str) -> str:
        """Raise InvalidInput: the settings say who there is."""
        raise InvalidInput(_NO_OTHER.format(path=self._first.file.path))

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """Return how the model would be set in the file, for all. Raises SettingsError and CharacterError."""
        file = self._one(assistant).file
        return (await self._in_thread(lambda: file.with_changes(_model_changes(file, wanted)))).model

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """Write the change into the file, for all, and restart this assistant with it."""
        one = self._one(assistant)
        changes = await self._in_thread(partial(_model_changes, one.file, wanted))
        await self._change(assistant, changes, wanted.key)
        what = " ".join(filter(None, (wanted.provider, wanted.model, wanted.url)))
        return f"{one.me.name} thinks with {what} from now on, kept in {one.file.path.name}."

    async def findings(self) -> Sequence[Finding]:
        """Return where the settings are, and what became of the owner's own tools."""
        path = self._first.file.path
        there = await self._in_thread(path.exists)
        said = f"{path} is used" if there else f"there is no {path}, so the defaults are used"
        own = judge_own_tools(self._service.config.own_tools)
        there_or_away = [one.finding() for one in self._assistants.values() if one.finding is not None]
        return [Finding("settings", FindingState.OK, said), *own, *there_or_away]

    async def _change(self, assistant: str, changes: Changes, entered: str = "") -> None:
        """Write changes into the file, and restart the assistant with them. Raises SettingsError and CannotWrite."""
        one = self._one(assistant)
        self._restart(one.me.id, await self._in_thread(partial(one.file.change, changes)), entered)

    def _restart(self, assistant: str, config: Config, entered: str = "") -> None:
        """Restart the assistant with these settings, if it runs."""
        if assistant in self._service.runners:
            self._assistants[assistant].begin(config, entered)

    def _one(self, assistant: str) -> LocalAssistant:
        """Return one assistant, the first for an empty id. Raises NotFound."""
        one = self._assistants.get(assistant) if assistant else self._first
        if one is None:
            raise NotFound(f"there is no assistant {assistant} here")
        return one

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self._service.parts.with_files(work)


def _model_changes(file: SettingsFile, wanted: NewModel) -> Changes:
    """Return the change as the file takes it; what the new provider does not take is removed. Blocks."""
    given = {"provider": wanted.provider, "url": wanted.url, "model": wanted.model, "key": wanted.key}
    left = left_behind(wanted.provider, file.tables().get("model", {}))
    return {("model", name): value or None for name, value in (given | dict.fromkeys(left, "")).items()}


def _changed(tables: Mapping[str, Any], table: str, name: str, value: str) -> Any:
    """Return the value as the file has it, None for one that is taken back. Raises SettingsError."""
    own = {one: tables[one] for one in ("assistant", "model", "web") if one in tables}
    option = name if table == "web" else f"{table}.{name}"
    if not value.strip():
        (without_web_option if table == "web" else without_option)(own, option)
        return None
    return (with_web_option if table == "web" else with_option)(own, option, value)[table][name]


def _set_by(option: Option, *, plays: bool) -> str:
    if option.is_set:
        return "assistant"
    return "character" if plays and option.name in OF_A_CHARACTER else "default"
