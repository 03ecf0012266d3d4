"""Shows and changes settings, who an assistant is, and what it knows. The world does it, as its commands do."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.checks.finding import FindingState
from assistant.page.operations.sources import Sources
from assistant.page.ports import InvalidInput, Visitor
from assistant.page.values.actions import (
    ActionDone,
    FindingView,
    ModelTried,
    NewModel,
    SettingChange,
    SettingChanged,
)
from assistant.page.values.assistants import SettingLine
from assistant.service.model_check import check_model


async def settings(sources: Sources, assistant: str) -> Sequence[SettingLine]:
    """Return the settings of an assistant, or of the whole game for "". Raises NotFound and what the world raises."""
    if assistant:
        sources.find(assistant)
    return await sources.host.settings(assistant)


async def change(sources: Sources, who: Visitor, assistant: str, wanted: SettingChange) -> SettingChanged:
    """Change one setting. Raises NotFound, InvalidInput and what the world raises."""
    name = sources.find(assistant).name if assistant else "the whole game"
    if not wanted.option.strip():
        raise InvalidInput("say which setting")
    changed = await sources.host.change_setting(assistant, wanted.option, wanted.value, force=wanted.force)
    who.log(f"changes the setting {changed.option} of {name}")
    return changed


async def set_model(sources: Sources, who: Visitor, assistant: str, wanted: NewModel) -> ModelTried:
    """Test another model, and keep it when that is wanted and nothing is wrong with it, or when it is forced.

    Raises NotFound, and what the world raises for settings that do not fit.
    """
    name = sources.find(assistant).name
    config = await sources.host.model_with(assistant, wanted)
    found = [] if wanted.force else await check_model(sources.service, config, wanted.key)
    views = tuple(FindingView(check=one.check, state=str(one.state), sentence=one.sentence) for one in found)
    if any(one.state is FindingState.WRONG for one in found):
        return ModelTried(kept=False, sentence=f"Something is wrong, so {name} keeps its model.", findings=views)
    if not (wanted.keep or wanted.force):
        return ModelTried(kept=False, sentence=f"Nothing is wrong. {name} has its old model yet.", findings=views)
    sentence = await sources.host.keep_model(assistant, wanted)
    who.log(f"changes the model of {name}")
    return ModelTried(kept=True, sentence=sentence, findings=views)


async def set_persona(sources: Sources, who: Visitor, assistant: str, text: str) -> ActionDone:
    """Let it play a character, or be who the words say. Raises NotFound and what the world raises."""
    name = sources.find(assistant).name
    if not text.strip():
        raise InvalidInput("write who it is, or the name of a character")
    sentence = await sources.host.set_persona(assistant, text)
    who.log(f"changes who {name} is")
    return ActionDone(sentence=sentence)


async def add_lore(
    sources: Sources, who: Visitor, assistant: str, *, title: str, keys: Sequence[str], text: str
) -> ActionDone:
    """Add a piece of lore. Raises NotFound and what the world raises."""
    name = sources.find(assistant).name
    if not title.strip() or not text.strip():
        raise InvalidInput("a piece of lore has a title and a text")
    sentence = await sources.host.add_lore(assistant, title, [key for key in keys if key.strip()], text)
    who.log(f"adds lore of {name}")
    return ActionDone(sentence=sentence)


async def delete_lore(sources: Sources, who: Visitor, assistant: str, number: int) -> ActionDone:
    """Delete a piece of lore that was added in the game. Raises NotFound and what the world raises."""
    name = sources.find(assistant).name
    sentence = await sources.host.delete_lore(assistant, number)
    who.log(f"deletes piece {number} of the lore of {name}")
    return ActionDone(sentence=sentence)
