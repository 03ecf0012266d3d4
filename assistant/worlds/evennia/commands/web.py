"""Shows and sets whether and how the assistants of the game search and read the web. Changes apply at once."""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.config.options import Option, merged, web_options, with_web_option, without_web_option
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.models.bound_keys import usual_url
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.service.operations.typed_keys import check_reference_typed, refuse_keys
from mud_assistant.assistant.worlds.evennia import creation, runners, server
from mud_assistant.assistant.worlds.evennia.commands.setting import option_text
from mud_assistant.assistant.worlds.evennia.console.showing import cut, join_names, paragraph, table
from mud_assistant.assistant.worlds.evennia.console.typed_command import Answer, CommandRefused, TypedCommand
from mud_assistant.assistant.worlds.evennia.stored import (
    game_overrides,
    keep_game_overrides,
    keep_last_search_providers,
    last_search_providers,
)
from mud_assistant.tools.web import READ_PROVIDERS, SEARCH_PROVIDERS

USAGE = (
    "assistant/web on, assistant/web off, assistant/web provider = tavily, assistant/web reader = direct, "
    "assistant/web key tavily = env:TAVILY_API_KEY, assistant/web url searxng = http://..., "
    "assistant/web OPTION = VALUE"
)
KEY_USAGE = "assistant/web key NAME = env:VARIABLE (or file:PATH)"
#: The provider for searches when the web is switched on and none was chosen: it needs no key.
USUAL = "duckduckgo"
#: Words that owners use for the two settings that name providers.
_WORDS = {
    "provider": "search_provider",
    "search": "search_provider",
    "reader": "read_provider",
    "read": "read_provider",
}
_OF_PROVIDER = ("key", "url")
_OFF, _ON = "off", "on"
#: The most characters of a value that are shown, alone and in a table.
_SHOWN, _CELL = 200, 18
_LACKS_KEY = re.compile(r"(\w+) needs a key")
_SPLIT = re.compile(r"[\s,]+")


def web(typed: TypedCommand) -> Answer:
    """Show the web of the game, or change it."""
    words = typed.left.split()
    value = typed.right
    if not words and value is not None and value.casefold() in {_ON, _OFF}:
        words, value = [value.casefold()], None
    if not words:
        return _show(typed)
    first = words[0].casefold()
    if first in {_ON, _OFF} and len(words) == 1 and value is None:
        return _switch(first == _ON)
    if first in _OF_PROVIDER and len(words) == 2 and value is not None:  # noqa: PLR2004  (what, and of which provider)
        return _of_provider(first, words[1], value)
    name = _meant_option(" ".join(words))
    if value is None:
        return _one(typed, name)
    return change_web_option(name, value)


def change_web_option(name: str, value: str) -> Coroutine[Deferred[Any], Any, str]:
    """Change one setting of the web, for the whole game, and return a sentence. An empty value takes it back.

    Raises CommandRefused, SettingsError and JournalError; nothing is changed then.
    """
    refuse_keys(_SPLIT.split(value), KEY_USAGE, server.SECRETS)
    tables = game_overrides()
    if name in _WORDS.values():
        value = ", ".join(filter(None, _SPLIT.split(value)))
    tables = with_web_option(tables, name, value) if value else without_web_option(tables, name)
    return _store_change(tables, name)


def _meant_option(text: str) -> str:
    """Return the setting of the web that is meant. Raises CommandRefused."""
    wanted = text.casefold().replace("-", "_").replace(" ", "_")
    names = [option.name for option in web_options(creation.config_with({}), {})]
    known = _WORDS.get(wanted) or match_name(wanted, [*names, *_WORDS, _ON, _OFF, *_OF_PROVIDER], "setting of the web")
    if known in {_ON, _OFF, *_OF_PROVIDER}:
        raise CommandRefused(f"Type: {USAGE}")
    return _WORDS.get(known, known)


def _one(typed: TypedCommand, name: str) -> str:
    option = next(one for one in options_of_the_web() if one.name == name)
    return option_text(option, "assistant/web ", typed.width)


def options_of_the_web() -> list[Option]:
    """Return the settings of the web, which count for the whole game."""
    return web_options(creation.config_with({}), game_overrides())


def _show(typed: TypedCommand) -> str:
    """Show whether the web is on, with which providers, and how much of it is left."""
    service = server.service()
    config = service.web.config
    if not config.search_provider:
        lines = ["The web is off: no assistant searches or reads it.", "To switch it on: assistant/web on"]
    else:
        lines = [
            "The web is on. To switch it off: assistant/web off",
            f"Search: {join_names(map(_named, config.search_provider))}",
            f"Reading: {join_names(map(_named, config.read_provider))}",
        ]
        there = [one for one in creation.assistants() if server.runner_of(one) is not None]
        rows = [
            (
                one.key,
                *(f"{left} of {most}" for left, most in zip(service.web.left(server.id_of(one)), most, strict=True)),
            )
            for one in there
            for most in [(config.searches_per_hour, config.pages_per_hour)]
        ]
        if rows:
            lines.append(table(("left in this hour", "searches", "pages"), rows, typed.width))
    lines.append(f"There are, for searches: {join_names(SEARCH_PROVIDERS)}; for pages: {join_names(READ_PROVIDERS)}.")
    rows = [("*" if one.is_set else "", one.name, cut(one.value, _CELL), one.meaning) for one in options_of_the_web()]
    lines += [table(("*", "option", "value", "meaning"), rows, typed.width)]
    lines += [f"* is set in the game. To read one whole: assistant/web OPTION. To change it: {USAGE}"]
    return "\n".join(line if "\n" in line else paragraph(line, typed.width) for line in lines)


def _named(name: str) -> str:
    """Return a provider's name with where its key is, and its address if it has one of its own."""
    setting = server.service().web.config.providers.get(name)
    if setting is None:
        return name
    said = [f"key {setting.key}"] if setting.key else []
    said += [f"at {setting.url}"] if setting.url else []
    return f"{name} ({', '.join(said)})" if said else name


def _switch(on: bool) -> Answer:
    """Switch the web on, with the providers it had before, or off."""
    tables = game_overrides()
    mine = tables.setdefault("web", {})
    now = list(server.service().web.config.search_provider)
    if on and now:
        return "The web is on already. See: assistant/web"
    if not on and not now:
        return "The web is off already. To switch it on: assistant/web on"
    if on:
        mine["search_provider"] = last_search_providers() or [USUAL]
    else:
        keep_last_search_providers(now)
        mine["search_provider"] = []
    return _store_change(tables, "search_provider")


def _of_provider(what: str, name: str, value: str) -> Answer:
    """Set where the key of a provider is, or the address of the owner's own server. An empty value removes it."""
    known = match_name(name, dict.fromkeys((*SEARCH_PROVIDERS, *READ_PROVIDERS)), "provider of the web")
    value = value.strip()
    if what == "key" and value:
        check_reference_typed(value, KEY_USAGE.replace("NAME", known), server.SECRETS)
    else:
        refuse_keys(value.split(), KEY_USAGE, server.SECRETS)
    if what == "key" and value and not usual_url(known) and not _has_url(known):
        raise CommandRefused(
            f"{known} takes no key, or needs the address of its server first: assistant/web url {known} = ..."
        )
    tables = game_overrides()
    providers = tables.setdefault("web", {}).setdefault("providers", {})
    providers[known] = {**providers.get(known, {}), what: value}
    return _store_change(tables, known, entered=value if what == "key" else "")


def _has_url(name: str) -> bool:
    setting = server.service().web.config.providers.get(name)
    return setting is not None and bool(setting.url)


async def _store_change(tables: dict[str, Any], what: str, entered: str = "") -> str:
    """Apply the settings to every assistant, then store them; `what` is the option or provider that was changed.

    Raises SettingsError, KeyReferenceError and JournalError; nothing is stored then.
    """
    before = game_overrides()
    service = server.service()
    config = merged(runners.base(), {"web": tables.get("web", {})}).web
    try:
        await service.change_web(config, entered)
    except SettingsError as error:
        if not (lacking := _LACKS_KEY.search(str(error))):
            raise
        key = f"assistant/web key {lacking[1]} = env:{lacking[1].upper()}_API_KEY"
        raise CommandRefused(f"{lacking[1]} needs a key. Say first where it is, as in: {key}") from error
    keep_game_overrides({**game_overrides(), "web": tables.get("web", {})})
    if before.get("web") != tables.get("web"):
        creation.restart_all()
        await service.web.end_former()
    shown = [one.value for one in options_of_the_web() if one.name == what] or [_named(what)]
    kept = f"Kept: {f'{what} = ' if hasattr(config, what) else ''}{cut(shown[0], _SHOWN)}."
    if not config.search_provider:
        return f"{kept} The web is off: no assistant searches or reads it. To switch it on: assistant/web on"
    how = f"searched with {join_names(config.search_provider)} and read with {join_names(config.read_provider)}"
    return f"{kept} From now on the web is {how}. To try it: assistant/doctor NAME"
