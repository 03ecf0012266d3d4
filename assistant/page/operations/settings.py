"""Shows and changes settings, who an assistant is, and what it knows. Worlds keep the settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mud_assistant.assistant.characters import FoundCharacter, known_characters
from mud_assistant.assistant.characters.added_lore import ADDED
from mud_assistant.assistant.characters.macros import insert_names
from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.checks.model import ModelChecks
from mud_assistant.assistant.config.playing import with_character
from mud_assistant.assistant.config.schema import Config, ModelConfig
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import InvalidInput, Visitor
from mud_assistant.assistant.page.values.actions import (
    ActionDone,
    CharacterView,
    LoreLine,
    LorePreview,
    ModelTried,
    NewModel,
    SettingChange,
    SettingChanged,
)
from mud_assistant.assistant.page.values.assistants import SettingLine
from mud_assistant.assistant.service.operations import lore_pieces, personas
from mud_assistant.assistant.service.operations.personas import found_named, found_of
from mud_assistant.assistant.service.operations.typed_keys import refuse_keys
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.llm.embedded.fetching.models import default_data_dir

#: The setting that names whom an assistant plays.
_CHARACTER = "character"
#: The settings in which somebody may write a key where its reference belongs, and what they are told to write.
_MAY_TAKE_KEYS = ("model.", "web.")
_KEY_USAGE = "env:VARIABLE (or file:PATH) as the key"


async def settings(sources: Sources, assistant: str) -> Sequence[SettingLine]:
    """Return the settings of an assistant, or of the whole game for "". Raises NotFound and what the world raises."""
    if assistant:
        sources.there.find(assistant)
    return () if sources.host.store is None else await sources.store.settings(assistant)


async def change(sources: Sources, who: Visitor, assistant: str, wanted: SettingChange) -> SettingChanged:
    """Change one setting. Raises NotFound, InvalidInput and what the world raises."""
    name = sources.there.find(assistant).name if assistant else "the whole game"
    if not wanted.option.strip():
        raise InvalidInput("say which setting")
    if wanted.option.strip().casefold().startswith(_MAY_TAKE_KEYS):
        refuse_keys(wanted.value.replace(",", " ").split(), _KEY_USAGE, sources.service.config.secrets)
    if assistant and wanted.option.strip().casefold() == _CHARACTER and wanted.value.strip():
        done = await personas.set_persona(sources.there, who, assistant, wanted.value)
        plays = (await sources.store.config(assistant)).assistant.character
        return SettingChanged(option=_CHARACTER, value=plays, sentence=done.sentence)
    changed = await sources.store.change_setting(assistant, wanted.option, wanted.value, force=wanted.force)
    who.log(f"changes the setting {changed.option} of {name}")
    return changed


async def set_model(sources: Sources, who: Visitor, assistant: str, wanted: NewModel) -> ModelTried:
    """Test another model, and keep it when that is wanted and nothing is wrong with it, or when it is forced.

    Raises NotFound, and what the world raises for settings that do not fit.
    """
    name = sources.there.find(assistant).name
    refuse_keys([wanted.provider, wanted.model, wanted.url], _KEY_USAGE, sources.service.config.secrets)
    config = await sources.store.model_with(assistant, wanted)
    found = () if wanted.force else tuple(await _check_model(sources.service, config, wanted.key))
    if any(one.state is FindingState.WRONG for one in found):
        return ModelTried(kept=False, sentence=f"Something is wrong, so {name} keeps its model.", findings=found)
    if not (wanted.keep or wanted.force):
        return ModelTried(kept=False, sentence=f"Nothing is wrong. {name} has its old model yet.", findings=found)
    sentence = await sources.store.keep_model(assistant, wanted)
    who.log(f"changes the model of {name}")
    return ModelTried(kept=True, sentence=sentence, findings=found)


async def character(sources: Sources, assistant: str) -> CharacterView:
    """Return who an assistant is, whom it could play, and the lore it knows. Raises NotFound and what is read raises.

    Of a journal that is only looked at, the name is all that is known.
    """
    there, name = sources.there, sources.there.find(assistant).name
    if sources.host.store is None:
        return CharacterView(assistant=assistant, name=name, persona="")
    settings = (await there.store.config(assistant)).assistant
    found = await found_named(there, settings.character)
    if found is not None:
        settings = with_character(settings, found.character)
    return CharacterView(
        assistant=assistant,
        name=name,
        persona=settings.persona,
        character=settings.character or "",
        known_characters=tuple(await there.in_thread(partial(known_characters, there.folder))),
        lore=_lore_lines(found),
    )


async def preview_lore(sources: Sources, assistant: str, line: str) -> LorePreview:
    """Return what a line would bring up, with the texts as the model reads them."""
    there, name = sources.there, sources.there.find(assistant).name
    found = None if sources.host.store is None else await found_of(there, assistant)
    if found is None:
        return LorePreview(line=line, pieces=())
    shown = {piece.entry.id: line for piece, line in zip(found.pieces, _lore_lines(found), strict=True)}
    brought = (await lore_pieces.activate(there, assistant, found, line))[0].entries
    text = "\n\n".join(insert_names(entry.text, char=name) for entry in brought)
    return LorePreview(line=line, pieces=tuple(shown[entry.id] for entry in brought), text=text)


def _lore_lines(found: FoundCharacter | None) -> tuple[LoreLine, ...]:
    return tuple(
        LoreLine(
            number=number,
            title=piece.entry.title,
            keys=("always",) if piece.entry.constant else tuple(piece.entry.keys),
            text=piece.entry.text,
            own=piece.file == ADDED,
        )
        for number, piece in enumerate(found.pieces if found is not None else (), 1)
    )


async def set_persona(sources: Sources, who: Visitor, assistant: str, text: str) -> ActionDone:
    """Let it play a character, or be who the words say. Raises what `personas.set_persona` raises."""
    if not text.strip():
        raise InvalidInput("write who it is, or the name of a character")
    return ActionDone(sentence=(await personas.set_persona(sources.there, who, assistant, text)).sentence)


async def _check_model(service: AssistantService, config: ModelConfig, entered: str) -> Sequence[Finding]:
    """Return what is found of the model, key and server of these settings. Neither they nor the key are remembered.

    `entered` is the reference of a key given just now, which may go to this server. Cancelling ends the question to
    the model.
    """
    parts = service.parts
    await parts.ready()
    service.settings_changed()
    bound = await parts.bound_with(Config(model=config), entered)
    runner = CheckRunner(service.clock, lambda _: None, lambda _: None, service.scrub)
    await ModelChecks("model", config, parts.exchange, parts.keys, bound, default_data_dir(), runner).run()
    return runner.found
