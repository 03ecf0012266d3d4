"""Sets which model an assistant thinks with, and its key. A change is tried first, and kept when the model answered."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct

from mud_assistant.assistant.config.known_providers import (
    AUTO,
    EMBEDDED,
    known_names,
    left_behind,
    special_settings,
    usual_key,
)
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import KeyReferenceError, NoModelError
from mud_assistant.assistant.models.bound_keys import binding_of
from mud_assistant.assistant.service.host import IN_THE_GAME
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.service.operations.typed_keys import check_reference_typed, is_reference, refuse_keys
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.console.showing import (
    ANEW_IN_THE_GAME,
    cut,
    in_game_words,
    join_names,
    sentence,
)
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    WORK,
    Answer,
    CommandRefused,
    TypedCommand,
    find_assistant,
)
from mud_assistant.llm import BadCredential

USAGE = "assistant/provider NAME = PROVIDER [MODEL] [URL] [env:VARIABLE or file:PATH]"
KEY_USAGE = "assistant/key NAME = env:VARIABLE (or file:PATH)"
MODEL_USAGE = "assistant/model NAME = MODEL"
#: With this word at the end a change is kept without being tried.
FORCE = "force"


class ModelRefused(CommandRefused):
    """A change that was not kept because the model did not answer. `cause` says why, and not how to force it."""

    def __init__(self, text: str, cause: str) -> None:
        super().__init__(text)
        self.cause = cause


class ModelChange(Struct, frozen=True):
    """A change of the model's settings; None means no change. `key` is a reference."""

    provider: str | None = None
    model: str | None = None
    url: str | None = None
    key: str | None = None
    force: bool = False


def parse_change(text: str) -> ModelChange:
    """Read what the words of /provider ask for, in any order. Raises CommandRefused."""
    words = text.split()
    force = bool(words) and words[-1].casefold() == FORCE
    words = words[:-1] if force else words
    refuse_keys(words, KEY_USAGE, server.SECRETS)
    urls = [word for word in words if "://" in word]
    keys = [word for word in words if is_reference(word) and word not in urls]
    rest = [word for word in words if word not in urls and word not in keys]
    if len(urls) > 1 or len(keys) > 1:
        raise CommandRefused(f"Give one address and one key at most: {USAGE}")
    providers = sorted(known_names())
    if not rest:
        raise CommandRefused(f"Which provider: {join_names(providers)}? Type: {USAGE}")
    exact = [word for word in rest if word.casefold() in providers]
    provider = match_name((exact or rest)[0], providers, "provider")
    rest.remove((exact or rest)[0])
    if len(rest) > 1:
        raise CommandRefused(f"Give one model, without spaces in its name: {USAGE}")
    return ModelChange(provider, "".join(rest), "".join(urls), "".join(keys) or None, force)


def parse_model(text: str) -> ModelChange:
    """Read what the words of /model ask for. Raises CommandRefused."""
    words, force = _without_force(text)
    refuse_keys(words, KEY_USAGE, server.SECRETS)
    if len(words) > 1:
        raise CommandRefused(f"Give one model, without spaces in its name: {MODEL_USAGE}")
    return ModelChange(model="".join(words), force=force)


def parse_key(text: str, character: Any) -> ModelChange:
    """Read what the words of /key ask for. Raises CommandRefused for what is no reference, without repeating it."""
    words, force = _without_force(text)
    reference = " ".join(words)
    if reference:
        _check(reference, creation.config_of(character).model, character.key)
    return ModelChange(key=reference, force=force)


def _without_force(text: str) -> tuple[list[str], bool]:
    """Return the words, and whether the word `force` stood behind them."""
    words = text.split()
    force = len(words) > 1 and words[-1].casefold() == FORCE
    return words[:-1] if force else words, force


def provider(typed: TypedCommand) -> Answer:
    """Show the provider and the choices, or change it."""
    character = find_assistant(typed.left, USAGE)
    if typed.right is None:
        return f"{_current(character)}\nProviders: {join_names(sorted(known_names()))}. To change it: {USAGE}"
    return _change(typed, character, parse_change(typed.right))


def model(typed: TypedCommand) -> Answer:
    """Show the model, or change to another one of the same provider."""
    character = find_assistant(typed.left, MODEL_USAGE)
    if typed.right is None:
        return f"{_current(character)}\nTo change the model: {MODEL_USAGE}"
    return _change(typed, character, parse_model(typed.right))


def key(typed: TypedCommand) -> Answer:
    """Show where the key is, or set it; a key itself is refused."""
    character = find_assistant(typed.left, KEY_USAGE)
    if typed.right is None:
        reference = creation.config_of(character).model.key
        return f"{character.key} has {f'the key {reference}' if reference else 'no key'}. To change it: {KEY_USAGE}"
    return _change(typed, character, parse_key(typed.right, character))


def reload(_: TypedCommand) -> Answer:
    """Read all keys of assistants and web again. Servers that refused a key or lacked the model are asked anew."""
    server.service().settings_changed()
    count = creation.restart_all()
    return f"The keys are read again, and every server may be asked anew. Started anew: {count}. See: assistant/status"


def _check(reference: str, config: ModelConfig, name: str) -> None:
    """Raise Refused for what is no reference to a key, and for any key where none is needed."""
    check_reference_typed(reference, KEY_USAGE, server.SECRETS)
    if config.provider in {AUTO, EMBEDDED} and not config.url:
        raise CommandRefused(
            f"The provider {config.provider} takes no key. Name one that does, with its key in the same line: "
            f"{USAGE.replace('NAME', name)}"
        )


def _current(character: Any) -> str:
    """Say in one sentence which model the assistant thinks with."""
    config = creation.config_of(character).model
    parts = [f"provider {config.provider}", f"model {config.model or '(the provider decides)'}"]
    parts += [f"at {config.url}"] if config.url else []
    parts += [f"key {config.key}"] if config.key else []
    runner = server.runner_of(character)
    chosen = f" It thinks with {runner.models[0].why}." if runner is not None and runner.models else ""
    return cut(f"{character.key}: {', '.join(parts)}.{chosen}", 600)


def _change(typed: TypedCommand, character: Any, wanted: ModelChange) -> Answer:
    """Keep the change at once when that is forced, else when the model has answered, as `change_model` does."""
    if wanted.force:
        return _keep_untried(character, wanted)
    config = model_with(character, wanted)
    server.service()
    typed.say(f"Asking the model that {character.key} shall think with ...")
    return _try_model(character, config, wanted)


async def change_model(character: Any, wanted: ModelChange) -> str:
    """Keep the change, at once when that is forced, else when the model has answered; say what came of it.

    Raises ModelRefused when it does not answer, CommandRefused, SettingsError and ServiceNotRunning. Cancelling ends
    the question, and keeps nothing.
    """
    if wanted.force:
        return _keep_untried(character, wanted)
    return await _try_model(character, model_with(character, wanted), wanted)


def keep_model(character: Any, wanted: ModelChange) -> str:
    """Keep a change that was tested elsewhere, and say so. Raises SettingsError."""
    overrides = apply_change(creation.settings_of(character), creation.config_of(character).model, wanted)
    creation.config_with(overrides)
    return f"Kept.{_keep(character, overrides, wanted)} {_current(character)}"


def model_with(character: Any, wanted: ModelChange) -> ModelConfig:
    """Return how an assistant's model would be configured. Raises SettingsError."""
    overrides = apply_change(creation.settings_of(character), creation.config_of(character).model, wanted)
    return creation.config_with(overrides).model


def _keep_untried(character: Any, wanted: ModelChange) -> str:
    overrides = apply_change(creation.settings_of(character), creation.config_of(character).model, wanted)
    creation.config_with(overrides)
    return f"Kept without being tried.{_keep(character, overrides, wanted)} {_current(character)}"


async def _try_model(character: Any, config: ModelConfig, wanted: ModelChange) -> str:
    """Ask the model; if it answers, keep the change and say so. Raises ModelRefused with the cause if it does not."""
    try:
        answered = await server.service().try_model(config, wanted.key or "")
    except (NoModelError, KeyReferenceError, SettingsError) as error:
        cause = _explain(error, character.key, config)
        raise ModelRefused(
            f"{cause}\nTo keep the change all the same, put the word {FORCE} at its end.", cause
        ) from error
    if not character.pk:
        raise CommandRefused("It answered, but the assistant was deleted meanwhile.")
    # Other settings that were changed while the model was asked are kept.
    overrides = apply_change(creation.settings_of(character), creation.config_of(character).model, wanted)
    return f"Kept: {answered}.{_keep(character, overrides, wanted)}"


def _keep(character: Any, overrides: Mapping[str, Any], wanted: ModelChange) -> str:
    """Keep the change, restart a living assistant, and return what the owner must know besides."""
    runner = creation.change_settings(character, overrides, entered=wanted.key or "")
    if runner is not None or not wanted.key:
        return ""
    if not server.is_open():
        return f" If the key of {character.key} is refused when it is started, give it once more then."
    given = server.service().give_key(creation.config_of(character), wanted.key)
    WORK.begin(given, "remembering where a key may go")
    return f" {character.key} does not run now."


def apply_change(overrides: Mapping[str, Any], now: ModelConfig, wanted: ModelChange) -> dict[str, Any]:
    """Return the overrides with the change.

    A key given for one provider or address does not go to another one by itself. Options that the new provider does not
    take are left out.
    """
    result = deepcopy(dict(overrides))
    table = result["model"] = dict(result.get("model", {}))
    for name in ("provider", "model", "url", "key"):
        value = getattr(wanted, name)
        if value is not None:
            table[name] = value
    if wanted.key is None and now.key and _is_elsewhere(now, wanted):
        table["key"] = ""
    if wanted.provider is not None:
        _leave_behind(table, now, wanted.provider)
    return result


def _leave_behind(table: dict[str, Any], now: ModelConfig, provider: str) -> None:
    """Unset the options that the new provider does not take; for the others the game's values apply again."""
    left = left_behind(provider, special_settings())
    for option in special_settings():
        unset = ModelConfig.model_fields[option].default
        if option not in left and table.get(option, ...) == unset:
            del table[option]
        elif option in left and getattr(now, option) != unset:
            table[option] = unset


def _is_elsewhere(now: ModelConfig, wanted: ModelChange) -> bool:
    """Tell whether the present key would go to another server than now."""
    given = {name: getattr(wanted, name) for name in ("provider", "url") if getattr(wanted, name) is not None}
    before, after = binding_of(now), binding_of(now.model_copy(update=given))
    return bool(given) and (before is None or after is None or before.origin != after.origin)


def _explain(error: Exception, name: str, config: ModelConfig) -> str:
    """Say why the change was not kept, and what else can be done, but never what just failed."""
    hints = [f"The old setting stays. {sentence(in_game_words(str(error)))}"]
    if IN_THE_GAME.partition(":")[0] in str(error):
        hints.append(f"If it may have the key all the same: assistant/key {name} = {config.key}")
    elif isinstance(error.__cause__, BadCredential) and config.key:
        hints.append(
            f"See that {config.key} holds a key of this provider. A new file counts at once, a new value of a variable "
            f"when you {ANEW_IN_THE_GAME}."
        )
    elif not config.key and (isinstance(error.__cause__, BadCredential) or "needs a key" in str(error)):
        example = f"assistant/provider {name} = {_words(config)} {usual_key(config.provider)}"
        hints.append(f"Name the key in the same line, as in: {example}")
    return "\n".join(hints)


def _words(config: ModelConfig) -> str:
    return " ".join(filter(None, (config.provider, config.model or "MODEL", config.url)))
