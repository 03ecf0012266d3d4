"""The world of one assistant outside games, as the page sees it. Its settings are those of assistant.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from assistant.characters import (
    FoundCharacter,
    LoreIndex,
    LoreScanner,
    add_lore,
    character_folder,
    delete_lore,
    known_characters,
    read_with_sources,
)
from assistant.characters.added_lore import ADDED
from assistant.characters.macros import insert_names
from assistant.checks.finding import Finding, FindingState
from assistant.checks.own_tools import judge_own_tools
from assistant.config.known_providers import left_behind
from assistant.config.options import (
    Option,
    find_option,
    shown_options,
    web_options,
    with_option,
    with_web_option,
    without_option,
    without_web_option,
)
from assistant.config.playing import OF_A_CHARACTER
from assistant.config.schema import Config, ModelConfig
from assistant.page.ports import InvalidInput, KnownAssistant
from assistant.page.values.actions import CharacterView, LoreLine, LorePreview, NewModel, SettingChanged
from assistant.page.values.assistants import SettingLine
from assistant.service.runner import AssistantRunner
from assistant.service.service import AssistantService
from assistant.surfaces.serve.file import Changes, SettingsFile
from tools import Principal

T = TypeVar("T")
_NO_CHARACTER = "{name} plays no character, so it has no place for lore: choose one first, such as sage"
_NO_OTHER = (
    "outside games this program runs the assistants of its settings: name another in [worker] assistants of {path} and "
    "run mud-assistant worker, or make it in a game"
)
_NO_RENAME = (
    "outside games a new name is a new assistant, which remembers nothing: change assistant.name in {path} and start "
    "again"
)


class LocalHost:
    """The world of the assistant `me`. `begin` starts it, or restarts it, with these settings and a key given now.

    `where` names the room it is in, `names` are those of others by their ids.
    """

    def __init__(
        self,
        service: AssistantService,
        me: Principal,
        file: SettingsFile,
        begin: Callable[[Config, str], AssistantRunner],
        *,
        where: Callable[[], str] = str,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._service = service
        self._me = me
        self._file = file
        self._begin = begin
        self._where = where
        self._names = {me.id: me.name, **(names or {})}
        self._is_off = False

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return the one assistant."""
        return (KnownAssistant(self._me.id, self._me.name, self._is_off, self._where()),)

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names that are known."""
        return {id_: self._names[id_] for id_ in ids if id_ in self._names}

    async def start(self, assistant: str) -> str:
        """Start the assistant with the settings of now, unless it runs. Raises SettingsError, CharacterError."""
        if assistant in self._service.runners:
            return f"{self._me.name} runs already."
        config = await self._in_thread(self._file.config)
        self._is_off = False
        self._begin(config, "")
        return f"{self._me.name} starts."

    async def stay_off(self, assistant: str) -> None:
        """Keep it off until it is started again, or this program is."""
        self._is_off = True

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """Return the settings of the assistant, or those of the web for an empty id."""
        config, tables = await self._in_thread(lambda: (self._file.config(), self._file.tables()))
        if not assistant:
            options = [one._replace(name=f"web.{one.name}") for one in web_options(config, tables)]
            return [_line(option, "game" if option.is_set else "default") for option in options]
        plays = bool(config.assistant.character)
        return [_line(option, _set_by(option, plays=plays)) for option in shown_options(config, tables)]

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """Write one setting into the file, and restart the assistant with it. A model is asked first.

        Raises SettingsError, NoModelError for a model that does not answer, unless `force`, and CannotWrite.
        """
        table, name = find_option(option)
        if (table, name) == ("assistant", "name"):
            raise InvalidInput(_NO_RENAME.format(path=self._file.path))
        if (table == "web") != (not assistant):
            raise InvalidInput(f"{option} is a setting of {'the web, for all' if table == 'web' else 'one assistant'}")
        tables = await self._in_thread(self._file.tables)
        wanted = _changed(tables, table, name, value)
        config = await self._in_thread(partial(self._file.with_changes, {(table, name): wanted}))
        entered = config.model.key if (table, name) == ("model", "key") else ""
        told = ""
        if table == "model" and not force:
            told = f" {await self._service.try_model(config.model, entered)}."
        if table == "web":
            await self._service.change_web(config.web)
        config = await self._in_thread(partial(self._file.change, {(table, name): wanted}))
        self._restart(config, entered)
        shown = next(
            line.value for line in await self.settings(assistant) if line.name in {option, name, f"{table}.{name}"}
        )
        how = f"{name} = {shown}, kept in {self._file.path.name}." if value.strip() else f"{name} is as usual again."
        return SettingChanged(option=option, value=shown, sentence=how + told)

    async def create(self, name: str, persona: str) -> str:
        """Raise InvalidInput: this program runs one assistant."""
        raise InvalidInput(_NO_OTHER.format(path=self._file.path))

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """Return how the model would be set in the file. Raises SettingsError and CharacterError."""
        return (await self._in_thread(lambda: self._file.with_changes(self._model_changes(wanted)))).model

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """Write the change into the file, and restart the assistant with it. Raises SettingsError, CannotWrite."""
        config = await self._in_thread(lambda: self._file.change(self._model_changes(wanted)))
        self._restart(config, wanted.key)
        what = " ".join(filter(None, (wanted.provider, wanted.model, wanted.url)))
        return f"{self._me.name} thinks with {what} from now on, kept in {self._file.path.name}."

    def _model_changes(self, wanted: NewModel) -> Changes:
        """Return the change as the file takes it; what the new provider does not take is removed."""
        given = {"provider": wanted.provider, "url": wanted.url, "model": wanted.model, "key": wanted.key}
        left = left_behind(wanted.provider, self._file.tables().get("model", {}))
        return {("model", name): value or None for name, value in (given | dict.fromkeys(left, "")).items()}

    async def character(self, assistant: str) -> CharacterView:
        """Return who the assistant is and what it knows. Raises SettingsError and CharacterError."""
        config, found, known = await self._in_thread(self._read_character)
        return CharacterView(
            assistant=assistant,
            name=self._me.name,
            persona=config.assistant.persona,
            character=config.assistant.character,
            known_characters=tuple(known),
            lore=tuple(_lore_lines(found)),
        )

    async def set_persona(self, assistant: str, text: str) -> str:
        """Let it play the character of this name, or be who the words say. Raises SettingsError, CannotWrite."""
        text = text.strip()
        known = await self._in_thread(lambda: known_characters(self._folder))
        plays = next((name for name in known if name.casefold() == text.casefold()), "")
        changes: Changes
        if plays:
            changes = {("assistant", "character"): plays, **{("assistant", one): None for one in OF_A_CHARACTER}}
        else:
            changes = {("assistant", "character"): None, ("assistant", "persona"): text}
        self._restart(await self._in_thread(partial(self._file.change, changes)))
        return f"{self._me.name} plays {plays}." if plays else f"{self._me.name} is who you wrote."

    async def add_lore(self, assistant: str, title: str, keys: Sequence[str], text: str) -> str:
        """Add a piece of lore to the character it plays. Raises InvalidInput without one, and CharacterError."""
        config = await self._in_thread(self._file.config)
        if not config.assistant.character:
            raise InvalidInput(_NO_CHARACTER.format(name=self._me.name))
        work = partial(add_lore, self._folder, config.assistant.character, title, ", ".join(keys), text)
        entry = await self._in_thread(work)
        self._restart(await self._in_thread(self._file.config))
        return f"{entry.title} was added to the lore of {config.assistant.character}."

    async def delete_lore(self, assistant: str, number: int) -> str:
        """Delete a piece of lore that was added. Raises InvalidInput and CharacterError."""
        config, found, _ = await self._in_thread(self._read_character)
        pieces = found.pieces if found is not None else ()
        if not 1 <= number <= len(pieces) or pieces[number - 1].file != ADDED:
            raise InvalidInput(f"number {number} is no piece of lore that was added here")
        entry = pieces[number - 1].entry
        await self._in_thread(partial(delete_lore, self._folder, config.assistant.character, entry))
        self._restart(await self._in_thread(self._file.config))
        return f"{entry.title} was deleted."

    async def preview_lore(self, assistant: str, line: str) -> LorePreview:
        """Return what a line would bring up. Raises SettingsError and CharacterError."""
        config, found, _ = await self._in_thread(self._read_character)
        if found is None:
            return LorePreview(line=line, pieces=())
        index = await self._in_thread(partial(LoreIndex, found.character.lore))
        scanner = LoreScanner(index, window=config.model.context_tokens)
        lines = {piece.id: shown for piece, shown in zip(found.character.lore.entries, _lore_lines(found), strict=True)}
        brought = scanner.activate([line]).entries
        text = "\n\n".join(insert_names(entry.text, char=self._me.name) for entry in brought)
        return LorePreview(line=line, pieces=tuple(lines[entry.id] for entry in brought), text=text)

    async def findings(self) -> Sequence[Finding]:
        """Return where the settings are, and what became of the owner's own tools."""
        there = await self._in_thread(self._file.path.exists)
        said = f"{self._file.path} is used" if there else f"there is no {self._file.path}, so the defaults are used"
        own = judge_own_tools(self._service.config.own_tools)
        return [Finding("settings", FindingState.OK, said), *own]

    def _restart(self, config: Config, entered: str = "") -> None:
        """Restart the assistant with these settings, if it runs."""
        if self._me.id in self._service.runners:
            self._begin(config, entered)

    @property
    def _folder(self) -> Any:
        return character_folder(self._file.folder)

    def _read_character(self) -> tuple[Config, FoundCharacter | None, list[str]]:
        config = self._file.config()
        name = config.assistant.character
        return config, read_with_sources(self._folder, name) if name else None, known_characters(self._folder)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self._service.parts.with_files(work)


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


def _line(option: Option, set_by: str) -> SettingLine:
    return SettingLine(
        name=option.name,
        value=option.value,
        meaning=option.meaning,
        set_by=set_by,
        default=option.default,
        allowed=option.allowed,
        example=option.example,
    )


def _lore_lines(found: FoundCharacter | None) -> list[LoreLine]:
    return [
        LoreLine(
            number=number,
            title=piece.entry.title,
            keys=("always",) if piece.entry.constant else piece.entry.keys,
            text=piece.entry.text,
            own=piece.file == ADDED,
        )
        for number, piece in enumerate(found.pieces if found is not None else (), 1)
    ]
