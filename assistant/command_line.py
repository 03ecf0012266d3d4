"""Defines the arguments of the command `mud-assistant` and its --help.

Imports little else of ours: the providers are read when a help is shown.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from mud_assistant.assistant.surfaces.backup.backup_arguments import BACKUP_EXAMPLES, add_backup
from mud_assistant.assistant.surfaces.characters.arguments import CHARACTER_EXAMPLES, add_character
from mud_assistant.assistant.surfaces.gateway.arguments import GATEWAY_EXAMPLES, add_gateway
from mud_assistant.assistant.surfaces.health_check import HEALTH_EXAMPLES, add_health
from mud_assistant.assistant.surfaces.journal.arguments import JOURNAL_EXAMPLES, add_journal, journal_name
from mud_assistant.assistant.surfaces.parser import PROVIDERS, Parser, supervised
from mud_assistant.assistant.surfaces.play.play_arguments import PLAY_EXAMPLES, add_play
from mud_assistant.assistant.surfaces.replay import LAST_RUNS
from mud_assistant.assistant.surfaces.serve.arguments import SERVE_EXAMPLES, add_page, add_serve, page_port
from mud_assistant.assistant.surfaces.setup.arguments import SETUP_EXAMPLES, add_setup
from mud_assistant.assistant.surfaces.worker.arguments import TELL_EXAMPLES, WORKER_EXAMPLES, add_tell, add_worker

if TYPE_CHECKING:
    # A class that argparse returns and that has no public name.
    Commands = argparse._SubParsersAction[Parser]  # noqa: SLF001

#: The ladder of `mud_assistant.tools.policy.decide`, which the help need not load.
RANKS = ("guest", "player", "helper", "builder", "admin", "developer")
#: Where `game` makes its game, and the lowest and highest first port it accepts.
GAME_FOLDER = Path("mud-assistant-game")
MIN_PORT, MAX_PORT = 1024, 65_529

_TRIAL_EXAMPLES = """  mud-assistant trial
      a local Ollama when one answers, else the small embedded model
  mud-assistant trial --provider ollama --model qwen3:4b
  mud-assistant trial --journal sage.journal
      a character that remembers: the next trial goes on where this one ended, however it ended
  mud-assistant trial --place docs/places/harbour.toml
      your own rooms and character, see docs/characters.md
  mud-assistant trial --url http://127.0.0.1:8080/v1
      any OpenAI-compatible server: llama.cpp, LM Studio, vLLM
  mud-assistant trial --page
      with the operator's page beside it: see it think, see what it costs, stop it
  printf 'Hello Sage\\n' | mud-assistant trial --json
      one JSON object for each step of the assistant's thinking"""

_REPLAY_EXAMPLES = """  mud-assistant replay journal.sqlite
      the last 20 runs as a transcript, also while a game is writing the file
  mud-assistant replay journal.sqlite --run run-12 --run run-13
  mud-assistant replay journal.sqlite --assistant Sage --last 3
  mud-assistant replay journal.sqlite --parked
      the events that are not tried any more, and why
  mud-assistant replay journal.sqlite --unknown
      the calls of which nobody knows whether they happened
  mud-assistant replay postgresql://mud@db.example/mud --password env:MUD_PASSWORD
      a journal in PostgreSQL, also while games write it
  mud-assistant replay journal.sqlite --all --json | jq 'select(.outcome.kind == "failed")'
  mud-assistant replay journal.sqlite --offline --config assistant.toml
      run them again with the recorded answers and the settings of now, without a network:
      exit status 0 when everything comes out as it did, 1 when something does not"""

_DOCTOR_EXAMPLES = """  mud-assistant doctor
      is the model there, does it take the key, does it call tools, is the journal sound?
  mud-assistant doctor --web
      and does each provider of [web] answer?
  mud-assistant doctor --web --page https://docs.python.org/3/
      let the readers read this page instead of example.com
  mud-assistant doctor --before-upgrade
      may a newer version be installed here, and what is to be done first?
  mud-assistant doctor --json | jq 'select(.state == "wrong")'"""

_GAME_EXAMPLES = """  mud-assistant game
      a game in mud-assistant-game, with Sage in the first room; says where it is; Ctrl-C stops it
  mud-assistant game --provider ollama --model qwen3:4b
  mud-assistant game --provider anthropic --model claude-haiku-4-5 --key env:ANTHROPIC_API_KEY
  mud-assistant game --folder games/hamlet --name Mira --fresh
      begin anew, with another character; what is in that folder is deleted
  mud-assistant game --folder games/hamlet --stop
      stop one that was left running"""

_EPILOG = f"""providers:
{PROVIDERS}

examples:
{_TRIAL_EXAMPLES}
{_REPLAY_EXAMPLES}
{_DOCTOR_EXAMPLES}
{SETUP_EXAMPLES}
{_GAME_EXAMPLES}
{SERVE_EXAMPLES}
{PLAY_EXAMPLES}
{WORKER_EXAMPLES}
{TELL_EXAMPLES}
{GATEWAY_EXAMPLES}
{CHARACTER_EXAMPLES}
{JOURNAL_EXAMPLES}
{HEALTH_EXAMPLES}
{BACKUP_EXAMPLES}

Settings are read from assistant.toml in this folder; options come before settings."""


def parser() -> Parser:
    """Return the parser of the whole command; its `command` says which one was asked for."""
    whole = Parser(
        prog="mud-assistant",
        description="AI characters that live inside a text game.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"mud-assistant {version('mud-assistant')}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_trial(commands)
    _add_replay(commands)
    _add_doctor(commands)
    add_setup(commands)
    _add_game(commands)
    _add_model(supervised(add_serve(commands)))
    _add_model(add_play(commands))
    _add_model(supervised(add_worker(commands, page_port)))
    add_tell(commands)
    _add_model(supervised(add_gateway(commands, page_port)))
    add_character(commands)
    add_journal(commands)
    add_health(commands, page_port)
    add_backup(commands)
    _add_upgrade(commands)
    return whole


def _add_trial(commands: Commands) -> None:
    trial = commands.add_parser(
        "trial",
        help="talk to an assistant in a small place, in this terminal",
        epilog=f"providers:\n{PROVIDERS}\n\nexamples:\n{_TRIAL_EXAMPLES}\n\n"
        "Settings are read from assistant.toml in this folder; options come before settings.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_model(trial)
    trial.add_argument("--name", help="what the assistant is called (default: the place's character, or Sage)")
    trial.add_argument(
        "--place",
        type=Path,
        metavar="FILE",
        help="play in your own rooms, with your own character: a TOML or JSON file such as docs/places/harbour.toml",
    )
    trial.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    trial.add_argument(
        "--journal", type=Path, metavar="FILE", help="remember everything in this file (default: nothing outlives it)"
    )
    trial.add_argument(
        "--rank",
        choices=RANKS,
        default="player",
        help="what you may do in the game yourself, and so allow the assistant (default: player)",
    )
    trial.add_argument("--trace", action="store_true", help="show each step of the thinking (as /trace does)")
    trial.add_argument("--json", action="store_true", help="print one JSON object per step instead of the transcript")
    add_page(trial)
    trial.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file; -: to standard error")


def _add_replay(commands: Commands) -> None:
    replay = commands.add_parser(
        "replay",
        help="read a journal: what was heard, thought and done; or run it again without a network",
        description="Shows the runs of a journal, or runs them again with the answers that were recorded. "
        "The file is only read.",
        epilog=f"examples:\n{_REPLAY_EXAMPLES}\n\n"
        "Exit status: 0, 1 when --offline finds a difference, 2 when the file cannot be read or is damaged.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    replay.add_argument("file", type=journal_name, metavar="FILE", help="the journal: a file, or postgresql://...")
    replay.add_argument("--assistant", metavar="NAME", help="only this assistant's")
    which = replay.add_mutually_exclusive_group()
    which.add_argument("--run", action="append", metavar="RUN", help="only this run, such as run-12; may be repeated")
    which.add_argument("--last", type=_count, metavar="N", help=f"only the last N runs (default: {LAST_RUNS})")
    which.add_argument("--all", action="store_true", help="every run")
    what = replay.add_mutually_exclusive_group()
    what.add_argument("--parked", action="store_true", help="the events that are not tried any more, and why")
    what.add_argument("--unknown", action="store_true", help="the calls of which nobody knows whether they happened")
    what.add_argument(
        "--offline", action="store_true", help="run them again with the recorded answers, and say what differs"
    )
    replay.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings for --offline, and whose keys are not shown (default: assistant.toml, if there)",
    )
    replay.add_argument("--json", action="store_true", help="print one JSON object per run, event or call")
    replay.add_argument(
        "--password",
        metavar="REFERENCE",
        default="",
        help="where the password of postgresql://... is: env:NAME, file:PATH or keyring:NAME (default: as in the "
        "settings, for the same address; else PGPASSFILE or ~/.pgpass)",
    )


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="say what stands in an assistant's way: settings, key, model, journal, web",
        description="Makes one check after the other and prints a line for each: what is well, or what is wrong and "
        "what to do. The model is asked one short question, the web one harmless query. No key is shown.",
        epilog=f"examples:\n{_DOCTOR_EXAMPLES}\n\nExit status: 0 when nothing is wrong, 1 when something is, 78 when "
        "the settings cannot be read, 64 for a wrong command line.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    doctor.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    doctor.add_argument("--web", action="store_true", help="ask each provider of searches and pages, too")
    doctor.add_argument("--page", metavar="URL", help="the page to read with --web (default: https://example.com/)")
    doctor.add_argument("--login", action="store_true", help="log the character of [world] into its game, too")
    told = "only say whether this installation may be upgraded: docs/upgrading.md"
    doctor.add_argument("--before-upgrade", action="store_true", help=told)
    supervised(doctor)
    doctor.add_argument("--json", action="store_true", help="print one JSON object for each check")


def _add_upgrade(commands: Commands) -> None:
    upgrade = commands.add_parser(
        "upgrade",
        help="let the files of a game name this version's modules",
        description="Rewrites the Python files of a game that were written for the version before: what they import as "
        "'assistant', 'llm', 'tools' and 'resilience' is in 'mud_assistant' now. Says which files it changed.",
    )
    upgrade.add_argument("folder", type=Path, metavar="FOLDER", help="the game's folder, with server/conf in it")


def _add_game(commands: Commands) -> None:
    game = commands.add_parser(
        "game",
        help="make and start a small Evennia game with an assistant in it",
        description="Makes a game in a folder of its own, with an assistant in the first room, starts it and says "
        "where it is. Only this machine can connect. Called again it starts the same game: its accounts, its ports and "
        "what the assistant remembers stay. It needs Evennia: pip install 'mud-assistant[evennia]'.",
        epilog=f"providers:\n{PROVIDERS}\n\nexamples:\n{_GAME_EXAMPLES}\n\n"
        "Options of the model are written into server/conf/assistant.toml of the game; the assistant.toml of this\n"
        "folder is not read. Exit status: 0 when the game has run and was stopped, 2 when something kept it from that.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    game.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="the game's folder (default: mud-assistant-game)",
        default=GAME_FOLDER,
    )
    _add_model(game)
    game.add_argument("--name", help="what the assistant of a new game is called (default: Sage)")
    game.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help="telnet on N, the web client on N+1, and three more up to N+6 (default: 4010, or the next that are free; "
        "a game of Evennia's own takes 4000)",
    )
    which = game.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="delete the game in that folder and make a new one")
    which.add_argument("--stop", action="store_true", help="stop the game in that folder, and that is all")


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("--provider", help="one of the providers below (default: auto)")
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--model",
        help="the model's name; of the embedded ones: small, better, the path of a GGUF file, or hf:OWNER/REPO:QUANT "
        "for a file of Hugging Face",
    )
    which.add_argument(
        "--small",
        dest="model",
        action="store_const",
        const="small",
        help="the small embedded model, and no better one fetched behind the talk (the same as --model small)",
    )
    command.add_argument("--yes", action="store_true", help="fetch a model of hf:... without asking first")
    command.add_argument("--url", help="the server's address, such as http://127.0.0.1:8080/v1")
    command.add_argument("--key", metavar="WHERE", help="where the key is: env:NAME, file:PATH or keyring:NAME")


def _port(text: str) -> int:
    """Return the first port of a group. argparse explains what it must be when it is not valid."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not MIN_PORT <= number <= MAX_PORT:
        raise argparse.ArgumentTypeError(f"give a number from {MIN_PORT} to {MAX_PORT}")
    return number


def _count(text: str) -> int:
    """Return the number in `text`. argparse explains what it must be when it is not valid."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError("give a number from 1")
    return number
