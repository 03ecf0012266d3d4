"""What the page asks of a game: who is there, how they are set, who they play. It does what the commands do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import DatabaseError
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from assistant.characters import FoundCharacter, LorePiece, known_characters
from assistant.characters.added_lore import ADDED
from assistant.characters.macros import insert_names
from assistant.checks.finding import Finding
from assistant.config.playing import with_character
from assistant.config.schema import ModelConfig
from assistant.page.ports import InvalidInput, KnownAssistant, NotFound
from assistant.page.values.actions import CharacterView, LoreLine, LorePreview, NewModel, SettingChanged
from assistant.page.values.assistants import SettingLine
from assistant.worlds.evennia import creation, server
from assistant.worlds.evennia.commands import lore, making, persona, thinking
from assistant.worlds.evennia.commands.typed_keys import refuse_keys
from assistant.worlds.evennia.console import doctor
from assistant.worlds.evennia.console.typed_command import scrub
from assistant.worlds.evennia.page import changes
from assistant.worlds.evennia.page.door import InThread
from assistant.worlds.evennia.page.threads import page_errors
from assistant.worlds.evennia.stored import script_settings_of

#: How long the list of assistants counts, in seconds.
_LIST_SECONDS = 1.0
#: The field that names somebody, by the kind of their id.
_NAMED = dict.fromkeys(("assistant", "character", "thing"), (ObjectDB, "db_key")) | {"account": (AccountDB, "username")}
#: The most ids that one query asks for.
_AT_ONCE = 500
_log = Logger()


class GameHost:
    """The game as the page sees it. Its changes are made on the reactor's thread, like those of commands."""

    def __init__(self, clock: IReactorTime, in_thread: InThread) -> None:
        self._clock = clock
        self._in_thread = in_thread
        self._listed: tuple[float, tuple[KnownAssistant, ...]] = (float("-inf"), ())

    def assistants(self) -> Sequence[KnownAssistant]:
        """Return every assistant of the game, as a second ago at most; as before while the database does not answer."""
        now = self._clock.seconds()
        at, listed = self._listed
        if not at <= now < at + _LIST_SECONDS:
            try:
                listed = tuple(_known(*one) for one in creation.assistants_with_state())
            except DatabaseError as error:  # whoever stops an assistant needs no database
                _log.warn("the page shows assistants as they were: {why}", why=str(error))
            self._listed = now, listed
        return listed

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names of players and assistants by their ids; those that are gone are left out."""
        return await self._in_thread(partial(_find_names, tuple(ids)))

    async def start(self, assistant: str) -> str:
        """Let an assistant live, as assistant/start does. Raises SettingsError when its settings do not fit."""
        with page_errors():
            character = find_character(assistant)
            told = making.start_one(character)
            self._change()
            return scrub(told)

    async def stay_off(self, assistant: str) -> None:
        """Keep an assistant off through restarts, as assistant/stop does."""
        with page_errors():
            await creation.stop_assistant(find_character(assistant))
            self._change()

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """Return the settings of an assistant, or those of the whole game that can be changed while it runs."""
        with page_errors():
            if not assistant:
                return changes.lines_of_the_game()
            character = find_character(assistant)
            found = await persona.found_of(character)
            return changes.lines_of(character, None if found is None else found.character)

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """Change one setting as assistant/set, /provider, /budget and /web do. Raises SettingsError."""
        with page_errors():
            if not assistant:
                return await changes.change_of_the_game(option, value)
            changed = await changes.change(find_character(assistant), option, value, force=force)
            self._change()
            return changed

    async def create(self, name: str, persona: str) -> str:
        """Make an assistant in the game's start room, as assistant/create does. Raises SettingsError."""
        with page_errors():
            told = await making.make(name, persona)
            self._change()
            return scrub(told)

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """Return how the model would be set, as assistant/provider reads it. Raises SettingsError."""
        with page_errors():
            return thinking.model_with(find_character(assistant), _model_change(wanted))

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """Keep the change, as assistant/provider does. Raises SettingsError."""
        with page_errors():
            return scrub(thinking.keep_model(find_character(assistant), _model_change(wanted)))

    async def character(self, assistant: str) -> CharacterView:
        """Return who an assistant is, whom it could play, and the lore it knows."""
        with page_errors():
            character = find_character(assistant)
            found = await persona.found_of(character)
            settings = creation.config_of(character).assistant
            if found is not None:
                settings = with_character(settings, found.character)
            known = await persona.in_thread(partial(known_characters, persona.folder_of_characters()))
            return CharacterView(
                assistant=assistant,
                name=character.key,
                persona=settings.persona,
                character=settings.character or "",
                known_characters=tuple(known),
                lore=tuple(_line(number, piece) for number, piece in _numbered(found)),
            )

    async def set_persona(self, assistant: str, text: str) -> str:
        """Let an assistant play a character or be who the words say, as assistant/persona does."""
        with page_errors():
            character, text = find_character(assistant), text.strip()
            return scrub(await persona.play(character, text) if text else persona.play_no_more(character))

    async def add_lore(self, assistant: str, title: str, keys: Sequence[str], text: str) -> str:
        """Add a piece of lore, as assistant/lore/add does."""
        with page_errors():
            if any("," in key for key in keys):
                raise InvalidInput("A key holds no comma: give each key by itself.")
            if not title.strip() or not text.strip():
                raise InvalidInput("A piece of lore needs a title and a text.")
            return await lore.add_piece(find_character(assistant), title, ", ".join(keys), text)

    async def delete_lore(self, assistant: str, number: int) -> str:
        """Delete a piece of lore that was added in the game, as assistant/lore/delete does."""
        with page_errors():
            return await lore.delete_piece(find_character(assistant), str(number))

    async def preview_lore(self, assistant: str, line: str) -> LorePreview:
        """Return what a line would bring up, as assistant/lore/test does, with the texts as the model reads them."""
        with page_errors():
            character = find_character(assistant)
            found = await persona.found_of(character)
            if found is None:
                return LorePreview(line=line, pieces=())
            brought = (await lore.scanner_for(character, found)).activate([line]).entries
            by_id = {piece.entry.id: _line(number, piece) for number, piece in _numbered(found)}
            texts = (insert_names(entry.text, char=character.key) for entry in brought)
            return LorePreview(line=line, pieces=tuple(by_id[entry.id] for entry in brought), text="\n\n".join(texts))

    async def findings(self) -> Sequence[Finding]:
        """Return what assistant/doctor finds of the game itself."""
        with page_errors():
            found = await doctor.findings()
            return [replace(one, sentence=scrub(one.sentence)) for one in found]

    def _change(self) -> None:
        """Let the next request see the list of assistants anew."""
        self._listed = (float("-inf"), ())


def _model_change(wanted: NewModel) -> thinking.ModelChange:
    """Return the change as the command reads it. Raises CommandRefused for a key where a name belongs."""
    refuse_keys([wanted.provider, wanted.model, wanted.url])
    return thinking.ModelChange(wanted.provider, wanted.model, wanted.url, wanted.key)


# Any: Evennia has no types.
def find_character(assistant: str) -> Any:
    """Return the character of an assistant with this id. Raises NotFound."""
    kind, _, number = assistant.partition(":")
    if kind == "assistant" and number.isascii() and number.isdigit() and len(number) < len("1000000000"):
        character = ObjectDB.objects.filter(pk=int(number)).first()
        if character is not None and script_settings_of(character) is not None:
            return character
    raise NotFound(f"There is no assistant {assistant[:40]} in this game.")


def _known(character: Any, is_off: bool) -> KnownAssistant:
    place = character.location.key if character.location is not None else ""
    return KnownAssistant(server.id_of(character), character.key, is_off, place)


def _find_names(ids: Sequence[str]) -> dict[str, str]:
    """Return the names by ids. Blocks."""
    wanted: dict[str, dict[int, str]] = defaultdict(dict)
    for each in ids:
        kind, _, number = each.partition(":")
        if kind in _NAMED and number.isascii() and number.isdigit() and len(number) < len("1000000000"):
            wanted[kind][int(number)] = each
    found: dict[str, str] = {}
    for kind, numbers in wanted.items():
        model, field = _NAMED[kind]
        known = list(numbers)
        for begin in range(0, len(known), _AT_ONCE):
            rows = model.objects.filter(pk__in=known[begin : begin + _AT_ONCE]).values_list("pk", field)
            found.update((numbers[number], name) for number, name in rows)
    return found


def _numbered(found: FoundCharacter | None) -> list[tuple[int, LorePiece]]:
    return list(enumerate(found.pieces, 1)) if found is not None else []


def _line(number: int, piece: LorePiece) -> LoreLine:
    """Return a piece of lore with the number under which the commands know it."""
    entry = piece.entry
    keys = ("always",) if entry.constant else tuple(entry.keys)
    return LoreLine(number=number, title=entry.title, keys=keys, text=entry.text, own=piece.file == ADDED)
