"""Does what a line asks for, as a step of its own before any words, and says what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from mud_assistant.assistant.events.events import Left
from mud_assistant.assistant.language.acts import Deed, reads_aloud
from mud_assistant.assistant.language.languages import is_foreign
from mud_assistant.assistant.language.orders import is_bare_order, written_in
from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import response_of, speech_call
from mud_assistant.assistant.loop.talk.choose import choose_deed
from mud_assistant.assistant.loop.talk.question import Question, trusted_level, without_name
from mud_assistant.llm import LLMResponse, ToolCall, Usage
from mud_assistant.tools import Category, Executed, Status, ToolFailed, World
from mud_assistant.tools.text.clean import one_line

COMMAND = "execute_command"
#: The permission of every player, beyond which a command is no deed of a character.
PLAYERS = 1
#: Tools whose success shows by itself, so nothing need be said of it.
_SHOWS = frozenset({"move", "emote", "home"})
#: What is said of a deed that does not show by itself, without asking the model: one of each in turn.
_DID = {
    "take": ("I have the {thing}.", "The {thing} it is.", "Very well, I take the {thing} with me."),
    "drop": ("There lies the {thing}.", "I have put the {thing} down."),
    "give": ("Here you are.", "There you go.", "Take good care of it."),
    "follow": ("Lead on.", "I am right behind you.", "After you."),
    "stay": ("I stay here.", "I will wait here."),
    COMMAND: ("There, it is done.", "Done.", "As you wish."),
}
#: What is said of a deed that did not work, without asking the model.
_CANNOT = {
    "move": "go there", "take": "take the {thing}", "drop": "put the {thing} down", "give": "give the {thing} away",
    "follow": "follow you", "home": "go home now", COMMAND: "{verb} the {thing}",
}  # fmt: skip
_A_REASON = re.compile(r"[A-Z][^\n.!?]{3,160}[.!]")
_TO_PLAYERS = re.compile(r"(?i)\b(?:you|your|yours|command|commands|usage)\b")


async def do_what_is_asked(context: RunContext, run: Run, asked: Question, ruled: Sequence[Deed]) -> LLMResponse | None:
    """Return the calls that the line asks for; None when it asks for nothing that can be done.

    `ruled` are the deeds that the verb rules found in it.
    A deed follows from the line of who asks and from the names in the scene, and from nothing that others said. Raises
    LLMError. Cancelling closes the connection.
    """
    deeds, usage = ruled, Usage()
    if not deeds or not is_bare_order(without_name(asked.text, asked.view.name), asked.view):
        deeds, usage = await choose_deed(context, run, asked, deeds)
    calls = _deeds(context, run, asked, deeds)
    if lacking := [call for call in calls if not await _has_command(context.body.world, call)]:
        words = speech_call(context.rules, run, _cannot_do(lacking[0]))
        calls = [words] if words else []
    return replace(response_of(calls, usage), shown_from=trusted_level(context.rules, run)) if calls else None


async def _has_command(world: World, call: ToolCall) -> bool:
    """Tell whether a call is no command of the game, or one that the game has for players.

    `open` is a builder's command in Evennia: it makes an exit.
    """
    if call.name != COMMAND:
        return True
    try:
        command = await world.resolve(str(call.arguments["command"]))
    except ToolFailed:
        return False
    return command.permission <= PLAYERS


def shows_by_itself(executed: Sequence[Executed]) -> bool:
    """Tell whether everybody sees what came of these calls, so that nothing need be said."""
    return all(done.call.name in _SHOWS and done.status is Status.DONE for done in executed)


def words_for_deeds(executed: Sequence[Executed], asked: Question) -> str:
    """Return what is said of these calls without asking the model, empty for nothing."""
    done = [one for one in executed if one.status is Status.DONE]
    told = next((_by_game(one) for one in done if one.call.name == COMMAND), "")
    if reads_aloud(asked.text):
        told = next((written_in(one.result.text) for one in done if one.call.name == "inspect"), "")
    return _cannot(executed) or told or ("" if is_foreign(asked.text) else _did(executed, len(asked.earlier)))


def _cannot(executed: Sequence[Executed]) -> str:
    """Return what is said of the first deed that did not work, empty when each did."""
    failed = [done for done in executed if done.status is not Status.DONE and done.call.name in _CANNOT]
    return _by_game(failed[0]) or _cannot_do(failed[0].call) if failed else ""


def _cannot_do(call: ToolCall) -> str:
    """Return what is said of a call that did not work, when the game gives no reason."""
    arguments = _arguments(call)
    if call.name == COMMAND:
        verb, _, rest = re.sub(r" (in|on) ", r" \1 the ", arguments["command"]).partition(" ")
        arguments = {"verb": verb, "thing": rest}
    return f"I cannot {_CANNOT[call.name].format(**arguments)}."


def _by_game(done: Executed) -> str:
    """Return the game's own reason, where a character may say it: one sentence, not to "you" and not of commands."""
    told = done.result.text if done.status in {Status.DONE, Status.FAILED} else ""
    return told if _A_REASON.fullmatch(told) and not _TO_PLAYERS.search(told) else ""


def _did(executed: Sequence[Executed], number: int) -> str:
    """Return what is said of the first of these deeds, empty for none. Another `number` may give other words."""
    done = next((one.call for one in executed if one.call.name in _DID), None)
    choices = _DID[done.name] if done else ()
    return choices[number % len(choices)].format(**_arguments(done)) if done else ""


def _arguments(call: ToolCall) -> dict[str, str]:
    return {key: one_line(str(value), max_chars=60) for key, value in call.arguments.items()}


def _deeds(context: RunContext, run: Run, asked: Question, wanted: Sequence[Deed]) -> list[ToolCall]:
    """Return the calls of the wanted deeds whose tools are granted."""
    wanted = [_after_who_left(run, deed, asked) for deed in wanted]
    deeds = [deed for deed in wanted if deed.tool in context.rules.grant]
    tools = {deed.tool: context.tools.registry.get(deed.tool) for deed in deeds}
    changes = [deed for deed in deeds if (tool := tools[deed.tool]) and tool.category is Category.DANGEROUS]
    deeds = [deed for deed in deeds if deed not in changes[1:]]  # a run changes the game only once
    step = f"{run.id}.{run.progress.written + 1}"
    return [ToolCall(f"{step}.{at}", deed.tool, dict(deed.arguments)) for at, deed in enumerate(deeds)]


def _after_who_left(run: Run, deed: Deed, asked: Question) -> Deed:
    """Return the deed. "Follow me" from a speaker who has left already becomes the step after them."""
    if deed.tool != "follow" or deed.arguments["person"] in asked.view.people or run.requester is None:
        return deed
    left = [heard.event for heard in run.events if isinstance(heard.event, Left)]
    ways = [event.direction for event in left if event.who.id == run.requester.id and event.direction]
    return Deed("move", {"direction": ways[-1]}) if ways else deed
