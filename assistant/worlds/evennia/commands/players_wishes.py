"""The commands by which a player sees what was promised to them, and asks not to be spoken to first."""

from __future__ import annotations

from msgspec.structs import replace

from mud_assistant.assistant.life.peace import EVERYBODY
from mud_assistant.assistant.service.operations import listed_promises, quiet
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.commands.rights import PlayerCommand, assistants_of, once, people_of
from mud_assistant.assistant.worlds.evennia.console.typed_command import Answer, CommandRefused, TypedCommand

_DROP, _OFF = "/drop", "/off"
_MAX_DIGITS = 9


class CmdPromises(PlayerCommand):
    """
    See what AI characters have promised you.

    Usage:
      promises [<name>]
      promises/drop <number>

    Lists what you asked AI characters to do later, such as to remind you of something or to tell somebody, with what
    became of each. With /drop an AI character no longer does it; the numbers are those of the whole list.
    """

    key = "promises"
    arg_regex = r"\s|/|$"

    def answer(self, typed: TypedCommand) -> Answer:
        """List what was promised to the player, or drop one of it."""
        if not typed.left.startswith("/"):
            return once(typed, _listed(typed))
        switch, _, number = typed.left.partition(" ")
        if switch.casefold() != _DROP or not number.strip().isdigit() or len(number) > _MAX_DIGITS:
            raise CommandRefused("Type: promises/drop <number>")
        everybody = assistants_of(replace(typed, left=""), "promises")
        return once(typed, listed_promises.drop_own(everybody, people_of(typed), int(number), "promises"))


async def _listed(typed: TypedCommand) -> str:
    """List what was promised, with the numbers of the whole list."""
    wanted = {one.context.body.me.id for one in assistants_of(typed, "promises [<name>]")}
    mine = await listed_promises.own_promises(assistants_of(replace(typed, left=""), "promises"), people_of(typed))
    shown = [one for one in mine if one.whose.context.body.me.id in wanted]
    return listed_promises.own_text(shown, server.service().clock.seconds(), "promises/drop <number>")


class CmdQuiet(PlayerCommand):
    """
    Let AI characters speak to you only when you speak to them.

    Usage:
      quiet [<name>]
      quiet/off [<name>]

    The AI character no longer greets you and does nothing of its own accord because you are there; without a name, all
    of them. They answer you as before, and keep what they promised you. To end it: quiet/off
    """

    key = "quiet"
    arg_regex = r"\s|/|$"

    def answer(self, typed: TypedCommand) -> Answer:
        """Keep the player's wish, or end it."""
        text = typed.left
        is_off = text.casefold().partition(" ")[0] == _OFF
        if text.startswith("/") and not is_off:
            raise CommandRefused("Type: quiet [<name>], or: quiet/off [<name>]")
        name = text[len(_OFF) :].strip() if is_off else text
        name = "" if name.casefold() == EVERYBODY else name
        meant = assistants_of(replace(typed, left=name), "quiet [<name>]")
        again = f"quiet/off {name}".strip()
        return once(typed, quiet.want_peace(meant, people_of(typed), peace=not is_off, again=again))


WISH_COMMANDS = (CmdPromises, CmdQuiet)
