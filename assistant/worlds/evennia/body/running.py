"""Runs one resolved command as a character, with just the permission it needs, and reads what the game prints."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from assistant.worlds.evennia.body.game_calls import FAILED
from assistant.worlds.evennia.body.game_commands import EvenniaCommand
from tools.errors import ToolFailed

_log = Logger()

ASKS_BACK = "(The command asks something back, which cannot be answered here. It was stopped there.)"
#: Command sets left on a character by a command that asks back, pages or edits: they would catch the next line.
_INTERRUPTING = {
    "input_cmdset", "yes_no_question_cmdset", "menu_cmdset", "more_commands", "editorcmdset", "quitsave_yesno",
}  # fmt: skip


async def run(character: Any, command: EvenniaCommand) -> str:
    """Run the command and return what the game printed for the character.

    Raises ToolFailed when the command broke or the character may not use it. Cancelling abandons the wait: the command
    goes on, but with a player's permissions from then on.
    """
    if character.ndb.printout is not None:
        raise ToolFailed("Another command of yours is still running.")
    with character.raised_to(command.rank), character.printing() as printout:
        if not command.command.access(character, "cmd"):
            raise ToolFailed("The game does not let you use that command.")
        try:
            await _handle(character, command)
        finally:
            asked = _stop_asking(character)
    if any(sentence in printout.text for sentence in _broken_sentences()):
        _log.error("{name}: the command {line} broke", name=character.key, line=command.line)
        raise ToolFailed(FAILED)
    return f"{printout.text}\n{ASKS_BACK}".strip() if asked else printout.text


def _handle(character: Any, command: EvenniaCommand) -> Deferred[None]:
    """Run exactly this command in the game's command handler. Fires when the handler is done."""
    from evennia.commands.cmdhandler import cmdhandler  # noqa: PLC0415  (only where Django is set up)

    if hasattr(command.command, "_get_account_option"):
        # Without an account Evennia takes a whole entry of the defaults for a colour. Its tables then have borders of
        # forty characters, and drawing a small one holds the game up for seconds.
        command.command._get_account_option = _styled_as_new_accounts  # noqa: SLF001
    running = cmdhandler(
        character,
        command.args,
        callertype="object",
        cmdobj=command.command,
        cmdobj_key=command.typed,
        cmdset=command.cmdset,
    )
    done: Deferred[None] = Deferred()

    def tell(result: Any) -> None:
        if not done.called:  # else the wait was abandoned
            done.callback(result if isinstance(result, Failure) else None)
        elif isinstance(result, Failure):
            _log.failure("a command of {name} broke later on", result, name=character.key)

    running.addBoth(tell)
    return done


def _styled_as_new_accounts(option: str) -> Any:
    """Return the value that a new account has for this option, None for an unknown option."""
    from django.conf import settings  # noqa: PLC0415  (only where Django is set up)

    entry = settings.OPTIONS_ACCOUNT_DEFAULT.get(option)
    return entry[2] if entry else None


def _stop_asking(character: Any) -> bool:
    """Remove from the character what would catch its next command. Return whether there was anything."""
    left = [str(cmdset.key) for cmdset in character.cmdset.get() if str(cmdset.key).casefold() in _INTERRUPTING]
    for key in left:
        character.cmdset.remove(key)
    for name in ("_getinput", "_yes_no_question", "_evmenu", "_menutree", "_more", "_eveditor"):
        character.nattributes.remove(name)
    return bool(left)


def _broken_sentences() -> tuple[str, ...]:
    """Return what the command handler prints when a command breaks, in the language of the game."""
    from evennia.commands import cmdhandler  # noqa: PLC0415  (only where Django is set up)

    pairs = (cmdhandler._ERROR_UNTRAPPED, cmdhandler._ERROR_CMDSETS, cmdhandler._ERROR_CMDHANDLER)  # noqa: SLF001
    return tuple(" ".join(str(sentence).split()) for pair in pairs for sentence in pair)
