"""Every switch of the command `assistant`: what it does, how it is typed, and its help in the game."""

from __future__ import annotations

from mud_assistant.assistant.config.options import shown_options, web_options
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.service.operations.matching import match_name
from mud_assistant.assistant.worlds.evennia.commands import (
    cards,
    deciding,
    initiative_switches,
    lore,
    making,
    persona,
    placing,
    setting,
    spending,
    thinking,
    watching,
    web,
)
from mud_assistant.assistant.worlds.evennia.console.showing import paragraph, table
from mud_assistant.assistant.worlds.evennia.console.typed_command import Answer, Switch, TypedCommand


def show_help(typed: TypedCommand) -> Answer:
    """Show what a switch does, or what an option means; without either, list all switches."""
    wanted = typed.left.strip().lstrip("/").casefold()
    if not wanted:
        rows = [(f"/{name}", switch.meaning) for name, switch in SWITCHES.items()]
        how = "One of them whole: assistant/help SWITCH. An option: assistant/help OPTION. To begin: help assistant"
        return f"{table(('switch', 'meaning'), rows, typed.width, wraps=True)}\n{paragraph(how, typed.width)}"
    options = {one.name: one for one in shown_options(Config(), {})}
    lasts = {name.rpartition(".")[2]: name for name in reversed(options)}
    if wanted not in SWITCHES and (found := options.get(lasts.get(wanted, wanted))) is not None:
        return setting.option_text(found, "assistant/set NAME/", typed.width)
    if wanted not in SWITCHES and (of_web := [one for one in web_options(Config(), {}) if one.name == wanted]):
        return setting.option_text(of_web[0], "assistant/web ", typed.width)
    name = match_name(wanted, SWITCHES, "switch or option")
    return help_text(name, SWITCHES[name], typed.width)


def help_text(name: str, switch: Switch, width: int) -> str:
    """Describe a switch in full."""
    lines = [
        f"assistant/{name} {switch.usage}".rstrip(),
        switch.meaning,
        f"Without more: {switch.bare}",
        f"Example: {switch.example}",
    ]
    return "\n".join(paragraph(line, width, "  ") for line in lines)


_ONE = "the only assistant there is, if there is one; else you are asked which."
#: All switches by name. A switch may be shortened as long as the beginning fits no other.
SWITCHES: dict[str, Switch] = {
    "create": Switch(
        making.create,
        "NAME [= WHO IT IS, or a CHARACTER]",
        "Makes an AI character where you stand. It lives at once, with the model that the game's settings name. One "
        "word behind the = is a character of the game's folder characters, or one that ships.",
        "you are asked for a name; without = the persona of the game's settings counts.",
        "assistant/create Sage = You keep the library and know its stories.",
    ),
    "list": Switch(
        making.list_all,
        "",
        "Shows every assistant: where it is, how it is, what it thinks with.",
        "the same.",
        "assistant/list",
    ),
    "start": Switch(
        making.start,
        "NAME (or: all)",
        "Lets an assistant live, now and after every restart of the game.",
        _ONE,
        "assistant/start Sage",
    ),
    "stop": Switch(
        making.stop,
        "NAME (or: all = yes)",
        "Stops an assistant until you start it, through restarts too. What it was doing goes on when it is started.",
        _ONE,
        "assistant/stop Sage",
    ),
    "status": Switch(
        watching.status,
        "[NAME]",
        "Shows how an assistant is: what it thinks with, what waits, what is wrong, and how its servers answer.",
        "all assistants, and every server.",
        "assistant/status Sage",
    ),
    "provider": Switch(
        thinking.provider,
        "NAME = PROVIDER [MODEL] [ADDRESS] [KEY]",
        "Lets it think with another model. The model is asked first, and the change is kept when it answers, or with "
        "the word force at the end.",
        "shows what it has, and the providers there are.",
        "assistant/provider Sage = openai gpt-5-mini env:OPENAI_API_KEY",
    ),
    "model": Switch(
        thinking.model,
        "NAME = MODEL",
        "Lets it think with another model of the same provider, which is asked first.",
        "shows what it has.",
        "assistant/model Sage = qwen3:8b",
    ),
    "key": Switch(
        thinking.key,
        "NAME = env:VARIABLE (or file:PATH, keyring:NAME)",
        "Says where the key of its provider is. A key itself is never typed.",
        "shows where it is.",
        "assistant/key Sage = env:OPENAI_API_KEY",
    ),
    "reload": Switch(
        thinking.reload,
        "",
        "Reads the keys of all assistants and of the web again; whoever refused one is asked anew.",
        "the same.",
        "assistant/reload",
    ),
    "set": Switch(
        setting.set_option,
        "NAME/OPTION = VALUE",
        "Changes one option at once. Nothing behind the = takes it back. The option called name renames it.",
        "you are told what to type; assistant/show NAME has the options.",
        "assistant/set Sage/aliases = old one, wizard",
    ),
    "show": Switch(
        setting.show,
        "NAME [PART OF AN OPTION'S NAME]",
        "Shows the options with their values; one or a few with meaning, default, what they may be, and an example.",
        "all options.",
        "assistant/show Sage room_speech",
    ),
    "persona": Switch(
        persona.persona,
        "NAME = CHARACTER (or: who it is, in words)",
        "Lets it play a character of the game's folder characters, or one that ships with mud-assistant, or tells it "
        "in words who it is. Nothing behind the = takes back what was said last.",
        "shows who it is and whom it plays, and the characters there are.",
        "assistant/persona Sage = librarian",
    ),
    "lore": Switch(
        lore.lore,
        "NAME [= NUMBER or WORD], /add NAME = TITLE: KEYS: TEXT, /test NAME = LINE, /delete NAME = NUMBER",
        "Shows what it knows of the world, piece by piece, each brought up by its keys. /add adds a piece, /test says "
        "which pieces a line would bring up, /delete takes one out that was added in the game.",
        "all pieces, with their keys.",
        "assistant/lore/add Sage = The old mill: mill, miller: It burned down in the year of the flood.",
    ),
    "import": Switch(
        cards.import_,
        "FILE [= yes, NAME]",
        "Shows what a character card or a lorebook of the game's folder characters would bring, and imports it with "
        "yes, under another name if you give one. A lorebook is added to the character of that name.",
        "shows it, and imports nothing.",
        "assistant/import mira.png = yes",
    ),
    "export": Switch(
        cards.export,
        "NAME = FILE.json (or: FILE.png)",
        "Writes the character that it plays, or the character of that name, as a card into characters/exported.",
        "you are told what to type.",
        "assistant/export Sage = sage.png",
    ),
    "tools": Switch(
        setting.tools,
        "NAME = +TOOL -TOOL (or: a list, or all)",
        "Grants and withdraws what it may do.",
        "shows what it may do and what not.",
        "assistant/tools Sage = -move +whisper",
    ),
    "web": Switch(
        web.web,
        "[on, off, provider = NAME, reader = NAME, key NAME = KEY, url NAME = ADDRESS, OPTION = VALUE]",
        "Sets how all assistants search and read the web. It counts at once and is kept over restarts.",
        "shows whether the web is on, with what, how much of this hour is left, and the options.",
        "assistant/web provider = duckduckgo",
    ),
    "budget": Switch(
        spending.budget,
        "NAME = 200 calls 100000 tokens 2.50 money (or: none; instead of a name: all, each, player)",
        "Limits what may be used in a day: by one assistant, all of them together, each of them, or each player. "
        "assistant/budget player = 6 a minute limits how often each player is answered.",
        "shows the limits, and what is used of them today.",
        "assistant/budget player = 100 calls, 6 a minute",
    ),
    "usage": Switch(
        spending.usage,
        "[NAME] [DAYS]",
        "Shows what was used on the last days: by day, by assistant, by player.",
        "the last 7 days of all.",
        "assistant/usage Sage 30",
    ),
    "history": Switch(
        watching.history, "NAME [HOW MANY]", "Shows the last of what it has in mind.", _ONE, "assistant/history Sage 20"
    ),
    "trace": Switch(
        watching.trace,
        "NAME",
        "Shows each step of its thinking as it happens, for an hour or until you leave. The same again ends it.",
        _ONE,
        "assistant/trace Sage",
    ),
    "approve": Switch(
        deciding.approve,
        "NAME [NUMBER [hour]]",
        "Allows it once, or for an hour, what it asks leave for, when you could do it yourself.",
        "shows what it asks leave for, literally.",
        "assistant/approve Sage 3",
    ),
    "deny": Switch(
        deciding.deny,
        "NAME [NUMBER]",
        "Refuses what it asks leave for, or ends what was allowed for an hour.",
        "shows what it asks leave for, literally.",
        "assistant/deny Sage 3",
    ),
    "parked": Switch(
        deciding.parked,
        "NAME = retry NUMBER (or: clear NUMBER, retry all, clear all)",
        "Deals with what it heard that was put aside because runs over it crashed: tried again, or cleared.",
        "shows what was put aside: what was said, and why.",
        "assistant/parked Sage = retry 1",
    ),
    **initiative_switches.LIFE_SWITCHES,
    "account": Switch(
        placing.account,
        "NAME = on (or: off, join CHANNEL, leave CHANNEL)",
        "Gives it an account, so that it can be paged and hears channels; nobody can log in to it.",
        "shows whether it has one, and what it listens to.",
        "assistant/account Sage = on",
    ),
    "home": Switch(
        placing.home,
        "NAME [= here]",
        "Makes the room you are in its home, where it goes when it is asked to, or is left alone elsewhere.",
        "shows where it is at home.",
        "assistant/home Sage = here",
    ),
    "summon": Switch(placing.summon, "NAME", "Brings it to the room you are in.", _ONE, "assistant/summon Sage"),
    "reset": Switch(
        making.reset,
        "NAME",
        "Lifts the emergency stop that five crashed runs in a row set.",
        _ONE,
        "assistant/reset Sage",
    ),
    "forget": Switch(
        making.forget,
        "NAME (or: = memories)",
        "Clears what it has in mind, with summaries; it goes on as if it had just come. With memories those go too.",
        _ONE,
        "assistant/forget Sage",
    ),
    "doctor": Switch(
        watching.examine,
        "[NAME]",
        "Looks at the game, the key, the server, the model and the journal, and says what is wrong and what to do.",
        "the game alone, when there are several assistants.",
        "assistant/doctor Sage",
    ),
    "delete": Switch(
        making.delete,
        "NAME = yes (or: yes, forget)",
        "Deletes an assistant for good. Its memory stays in the journal, or goes as well with forget.",
        "you are asked whether you are sure.",
        "assistant/delete Sage = yes",
    ),
    "uninstall": Switch(
        making.uninstall_all,
        "= yes (or: yes, forget)",
        "Takes everything of ours out of the game's database, and says which line of its settings to remove.",
        "you are asked whether you are sure.",
        "assistant/uninstall = yes",
    ),
    "help": Switch(
        show_help,
        "[SWITCH or OPTION]",
        "Shows what a switch does, or what an option means.",
        "all switches, a line each.",
        "assistant/help budget",
    ),
}
