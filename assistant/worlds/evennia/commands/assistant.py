"""The command `assistant`, which makes, changes and deletes the AI characters of the game."""

from __future__ import annotations

from evennia.commands.default.muxcommand import MuxCommand

from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.worlds.evennia.commands.switches import SWITCHES
from mud_assistant.assistant.worlds.evennia.console.typed_command import Answer, TypedCommand


class CmdAssistant(MuxCommand):  # type: ignore[misc]  # Evennia has no types
    """
    Make and look after AI characters.

    Usage:
      assistant[/switch] [<name>] [= <value>]

    A first assistant:
      assistant/create Sage = You keep the library and know its stories.
      assistant/provider Sage = ollama qwen3:4b
      assistant/provider Sage = openai gpt-5-mini env:OPENAI_API_KEY
      assistant/status Sage

    Its life:
      /create <name> [= <who it is>]     where you stand
      /list, /status [<name>]            all, or one of them
      /start <name>, /stop <name>        /stop lasts through restarts; or: all
      /delete <name> = yes               or: = yes, forget
      /reset <name>                      lifts the emergency stop
      /forget <name>                     clears what it has in mind; or: = memories

    What it thinks with; a change is kept when the model has answered, or with "force" at the end:
      /provider <name> = <provider> [<model>] [<address>] [<key>]
      /model <name> = <model>
      /key <name> = env:VARIABLE         or file:PATH; a key itself is never typed
      /reload                            reads the keys again, and asks anew whoever refused one

    How it is; without "=" these show what there is:
      /persona <name> = <character>      a file of the game's folder characters; or who it is, in words
      /lore <name> [= <number>]          what it knows of the world, by keys
      /lore/add <name> = <title>: <key>, <key>: <text>
      /lore/test <name> = <line>         what the line would bring up; /lore/delete <name> = <number>
      /import <file> [= yes]             a character card or lorebook of that folder, shown first
      /export <name> = <file>
      /set <name>/<option> = <value>     nothing behind the = takes it back
      /show <name> [<part of an option>]
      /tools <name> = +move -whisper     or: all
      /account <name> = on               lets it be paged and hear channels; off, join <channel>, leave <channel>
      /home <name> = here                where it goes when it is left alone; /summon <name> brings it to you

    What it finds on the web, the same for all:
      /web on, /web off, /web provider = tavily, /web key tavily = env:VARIABLE

    What it costs:
      /budget <name> = 200 calls 100000 tokens 2.50 money       in a day; or: none
      /budget all = ..., /budget each = ..., /budget player = ..., /budget player = 6 a minute
      /usage [<name>] [<days>]

    What it does:
      /promises <name> [= drop <number>] what it has promised to whom
      /quiet <name> = on                 it does nothing of its own accord; or: all, and = off
      /plan <name> [= <price>]           what it would cost if it thought of its own accord
      /away <name> = on                  it greets nobody either; or: off
      /history <name> [<how many>], /trace <name>
      /approve <name> [<number>], /deny <name> [<number>]
      /doctor [<name>]                   says what is wrong, and what to do
      /parked <name> [= retry <number>]  what crashed it; or: clear <number>
      /uninstall = yes                   takes everything out of the game

    The same on a page, and what they do while they do it: /assistants on the web site of the game (log in there first;
    assistant/status says the whole address).

    One of these whole, or an option: /help <switch>, /help <option>
    Names and switches may be shortened: assistant/stat sa. Without a switch all assistants are listed.
    """

    key = "assistant"
    locks = "cmd:perm(Admin)"
    help_category = "Admin"
    account_caller = True

    def func(self) -> None:
        """Do what the switch says."""
        more, width = tuple(one.casefold() for one in self.switches[1:]), self.client_width()
        typed = TypedCommand(self.caller, self.character, self.lhs or "", self.rhs, width=width, switches=more)
        typed.run(self._answer, f"assistant/{'/'.join(self.switches)[:40] or 'list'}")

    def _answer(self, typed: TypedCommand) -> Answer:
        switch = self.switches[0] if self.switches else ("status" if typed.left else "list")
        return SWITCHES[match_name(switch, SWITCHES, "switch")].does(typed)
