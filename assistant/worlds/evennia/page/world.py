"""What the page asks of a game: who is there, how they are set, who they play. It does what the commands do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from django.db import DatabaseError
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.checks.finding import Finding
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.page.ports import KnownAssistant
from mud_assistant.assistant.page.values.actions import NewModel, SettingChanged
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.service.operations.personas import found_of
from mud_assistant.assistant.worlds.evennia.commands import making, thinking
from mud_assistant.assistant.worlds.evennia.console import doctor
from mud_assistant.assistant.worlds.evennia.console.settings_store import GameSettings, find_character, operated
from mud_assistant.assistant.worlds.evennia.console.typed_command import scrub
from mud_assistant.assistant.worlds.evennia.page import changes
from mud_assistant.assistant.worlds.evennia.page.door import InThread

#: How long the list of assistants counts, in seconds.
_LIST_SECONDS = 1.0
#: The field that names somebody, by the kind of their id.
_NAMED = dict.fromkeys(("assistant", "character", "thing"), (ObjectDB, "db_key")) | {"account": (AccountDB, "username")}
#: The most ids that one query asks for.
_AT_ONCE = 500
_log = Logger()


class GameHost(GameSettings):
    """The game as the page sees it: its settings, with a list of assistants that costs no query at each look."""

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
                listed = tuple(super().assistants())
            except DatabaseError as error:  # whoever stops an assistant needs no database
                _log.warn("the page shows assistants as they were: {why}", why=str(error))
            self._listed = now, listed
        return listed

    async def names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the names of players and assistants by their ids; those that are gone are left out."""
        return await self._in_thread(partial(_find_names, tuple(ids)))

    async def start(self, assistant: str) -> None:
        """Let an assistant live. Raises SettingsError when its settings do not fit."""
        await super().start(assistant)
        self._change()

    async def stay_off(self, assistant: str) -> None:
        """Keep an assistant off through restarts."""
        await super().stay_off(assistant)
        self._change()

    async def settings(self, assistant: str) -> Sequence[SettingLine]:
        """Return the settings of an assistant, or those of the whole game that can be changed while it runs."""
        if not assistant:
            return changes.lines_of_the_game()
        found = await found_of(operated(), assistant)
        return changes.lines_of(find_character(assistant), None if found is None else found.character)

    async def change_setting(self, assistant: str, option: str, value: str, *, force: bool) -> SettingChanged:
        """Change one setting as assistant/set, /provider, /budget and /web do. Raises InvalidInput."""
        if not assistant:
            return await changes.change_of_the_game(option, value)
        changed = await changes.change(find_character(assistant), option, value, force=force)
        self._change()
        return changed

    async def create(self, name: str, persona: str) -> str:
        """Make an assistant in the game's start room, as assistant/create does. Raises SettingsError."""
        told = await making.make(name, persona)
        self._change()
        return scrub(told)

    async def model_with(self, assistant: str, wanted: NewModel) -> ModelConfig:
        """Return how the model would be set, as assistant/provider reads it. Raises SettingsError."""
        return thinking.model_with(find_character(assistant), _model_change(wanted))

    async def keep_model(self, assistant: str, wanted: NewModel) -> str:
        """Keep the change, as assistant/provider does. Raises SettingsError."""
        return scrub(thinking.keep_model(find_character(assistant), _model_change(wanted)))

    async def findings(self) -> Sequence[Finding]:
        """Return what assistant/doctor finds of the game itself."""
        return [replace(one, sentence=scrub(one.sentence)) for one in await doctor.findings()]

    def _change(self) -> None:
        """Let the next request see the list of assistants anew."""
        self._listed = (float("-inf"), ())


def _model_change(wanted: NewModel) -> thinking.ModelChange:
    """Return the change as the command reads it."""
    return thinking.ModelChange(wanted.provider, wanted.model, wanted.url, wanted.key)


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
