"""Provides the command `mud-assistant`: reads the command line and starts the reactor.

It is a composition root: it imports the reactor and hands it to the modules that need one.
"""

from __future__ import annotations

import mud_assistant.assistant.interrupted  # noqa: F401  (first, so that Ctrl-C while the rest loads shows no traceback)

# isort: split
import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from twisted.python.failure import Failure

from mud_assistant.assistant import blocking_commands
from mud_assistant.assistant.blocking_commands import refuse
from mud_assistant.assistant.command_line import RANKS, parser
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.exit_status import ExitStatus, exit_status
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.preparing import prepare, program_options
from mud_assistant.assistant.running import begin_logging, explain, run_reactor
from mud_assistant.assistant.starting import INTERRUPTED, loading
from mud_assistant.assistant.surfaces.doctor import DoctorScreen
from mud_assistant.assistant.surfaces.health_check import run_health


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    A conversation returns 0, or 2 when there is no model or a setting is wrong. The other commands return their own.
    """
    options = parser().parse_args(arguments)
    return _COMMANDS[options.command](options, Secrets())


# Any: the programs take options of their own kinds, and the reactor.
def _standalone(
    options: argparse.Namespace, secrets: Secrets, load: Callable[[], tuple[type[Any], Callable[..., Any]]], **more: Any
) -> int:
    """Run a program outside games until it ends, or Ctrl-C or SIGTERM; return the exit status.

    `load` imports the program, and returns the kind of its options and what runs it. `more` are options of that kind.
    """
    try:
        with loading():
            prepared = prepare(options, secrets)
            kind, run = load()
            reactor = _reactor()
    except AssistantError as error:
        refused = refuse(error)
        return exit_status(error) if more.get("is_supervised") else refused
    wall = time.time  # noqa: TID251  (the composition root)
    wanted = program_options(kind, options, prepared, secrets, wall, **more)
    return run_reactor(reactor, run(reactor, wanted, os.environ), secrets)


# Any: no single interface of the reactor covers time, network, processes and descriptors.
def _reactor() -> Any:
    """Return the reactor, which is chosen by now."""
    from twisted.internet import reactor  # noqa: TID251  (the composition root)

    return reactor


def _trial(options: argparse.Namespace, secrets: Secrets) -> int:
    """Let a visitor talk with an assistant in this terminal, with the page beside it when that is wanted."""
    if sys.stdin is None:
        return refuse(AssistantError("there is no standard input to read lines from"))

    def load() -> tuple[type[Any], Callable[..., Any]]:
        if sys.stdin.isatty() and sys.stdout.isatty() and not options.json:
            from twisted.internet import asyncioreactor  # must be installed before any reactor import

            asyncioreactor.install()
        from mud_assistant.assistant.surfaces.trial.converse import TrialOptions  # after the reactor is chosen

        if options.page is None:
            from mud_assistant.assistant.surfaces.trial.run import run_trial

            return TrialOptions, run_trial
        from mud_assistant.assistant.surfaces.serve.run import run_trial_with_page

        return TrialOptions, run_trial_with_page

    shown = {"as_json": options.json, "tracing": options.trace, "visitor_permission": RANKS.index(options.rank)}
    return _standalone(options, secrets, load, **shown)


def _serve(options: argparse.Namespace, secrets: Secrets) -> int:
    """Run an assistant without a terminal, or show a journal."""

    def load() -> tuple[type[Any], Callable[..., Any]]:
        from mud_assistant.assistant.surfaces.serve.run import ServeOptions, run_serve

        return ServeOptions, run_serve

    return _standalone(options, secrets, load, is_read_only=options.read_only, is_supervised=True)


def _play(options: argparse.Namespace, secrets: Secrets) -> int:
    """Let a character, or the person at the terminal, play somebody else's game; or show a recording."""
    with loading():
        from mud_assistant.assistant.surfaces.play.play_command import play

    def run(work: Callable[[Any], Any]) -> int:
        begin_logging(options.log, secrets)
        return run_reactor(reactor := _reactor(), work(reactor), secrets)

    return play(options, secrets, partial(_standalone, options, secrets), run)


def _worker(options: argparse.Namespace, secrets: Secrets) -> int:
    """Run the assistants of a worker."""

    def load() -> tuple[type[Any], Callable[..., Any]]:
        from mud_assistant.assistant.surfaces.worker.run import WorkerOptions, run_worker

        return WorkerOptions, run_worker

    process = options.process or f"{platform.node() or 'a machine'}:{os.getpid()}"
    more = {"process": process, "names": options.assistants or (), "must_have_page": options.page is not None}
    return _standalone(options, secrets, load, **more, logs_notes=str(options.log) != "-", is_supervised=True)


def _tell(options: argparse.Namespace, secrets: Secrets) -> int:
    """Say something to an assistant of a worker, and return the exit status. Makes no reactor: none is needed."""
    with loading():
        from mud_assistant.assistant.surfaces.game.processes import Patience
        from mud_assistant.assistant.surfaces.worker.tell import TellOptions, TellScreen, run_tell

    begin_logging(None, secrets)
    wanted = TellOptions(**{name: value for name, value in vars(options).items() if name != "command"})
    patience = Patience(time.monotonic, time.sleep)  # noqa: TID251  (the composition root)
    screen = TellScreen(partial(print, flush=True), partial(print, file=sys.stderr, flush=True))
    try:
        return run_tell(wanted, os.environ, secrets, patience, screen)
    except AssistantError as error:
        return refuse(error)
    except KeyboardInterrupt:
        return INTERRUPTED


def _gateway(options: argparse.Namespace, secrets: Secrets) -> int:
    """Let other programs use the models until Ctrl-C, or do what is wanted with a key; return the exit status."""
    if options.part == "keys":
        from mud_assistant.assistant.surfaces.gateway.keys import keys_options, run_keys

        try:
            now = time.time()  # noqa: TID251  (the composition root)
            return run_keys(keys_options(options), print, now, os.environ)
        except AssistantError as error:
            return refuse(error)

    def load() -> tuple[type[Any], Callable[..., Any]]:
        from mud_assistant.assistant.surfaces.gateway.run import run_gateway
        from mud_assistant.assistant.surfaces.standalone import StandaloneOptions

        return StandaloneOptions, run_gateway

    return _standalone(options, secrets, load, is_supervised=True)


def _replay(options: argparse.Namespace, secrets: Secrets) -> int:
    """Read a journal and return the exit status. Makes no reactor: none is needed."""
    with loading():
        from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay

    begin_logging(None, secrets)
    wanted = ReplayOptions(**{name: value for name, value in vars(options).items() if name != "command"})
    try:
        return replay(wanted, time.time, secrets, os.environ)  # noqa: TID251  (the composition root)
    except BrokenPipeError:
        return explain(Failure(), secrets)


def _upgrade(options: argparse.Namespace, _: Secrets) -> int:
    """Let a game's files name this version's modules, and return the exit status."""
    from mud_assistant.assistant.surfaces.upgrading import upgrade

    try:
        if not upgrade(options.folder, print):
            print("Nothing had to be changed.")
    except AssistantError as error:
        return refuse(error)
    return 0


def _doctor(options: argparse.Namespace, secrets: Secrets) -> int:
    """Run the checks and return the exit status.

    That of the settings runs before the reactor is imported.
    """
    screen = DoctorScreen(json=options.json)
    if options.before_upgrade:
        return blocking_commands.doctor_before_upgrade(options, secrets, screen)
    with loading():
        from mud_assistant.assistant.surfaces.examining import examined_settings, run_doctor

    if (config := examined_settings(options, screen)) is None:
        return ExitStatus.SETTINGS
    begin_logging(None, secrets)
    wall, reactor = time.time, _reactor()  # noqa: TID251  (the composition root)
    work = run_doctor(reactor, options, config, os.environ, wall=wall, screen=screen, secrets=secrets)
    return run_reactor(reactor, work, secrets, INTERRUPTED)


def _setup(options: argparse.Namespace, secrets: Secrets) -> int:
    """Run the dialogue that writes the settings, and return the exit status."""
    with loading():
        from mud_assistant.assistant.checks.web import PAGE
        from mud_assistant.assistant.config.settings import DEFAULT_FILE
        from mud_assistant.assistant.surfaces.setup.run import Installation, install

    begin_logging(None, secrets)
    path = (options.config or DEFAULT_FILE).absolute()
    wall, page = time.time, options.page or PAGE  # noqa: TID251  (the composition root)
    installation, reactor = Installation(path, os.environ, wall, secrets, page), _reactor()
    return run_reactor(reactor, install(reactor, installation), secrets, INTERRUPTED)


def _game(options: argparse.Namespace, _: Secrets) -> int:
    """Make and run a game, or stop one, and return the exit status. Reads no key and needs no reactor."""
    from mud_assistant.assistant.keys.reference import anchor
    from mud_assistant.assistant.surfaces.game.command import Options, game
    from mud_assistant.assistant.surfaces.game.making import GameOptions
    from mud_assistant.assistant.surfaces.game.processes import Patience

    model = {name: getattr(options, name) for name in ("provider", "model", "url", "key") if getattr(options, name)}
    if options.key:
        model["key"] = anchor(options.key, Path.cwd())
    wanted = GameOptions(model, options.name, options.port)
    patience = Patience(time.monotonic, time.sleep)  # noqa: TID251  (the composition root)
    return game(Options(options.folder, wanted, options.fresh, options.stop, options.yes), os.environ, patience)


def _character(options: argparse.Namespace, secrets: Secrets) -> int:
    """Import, show, test or export a character, and return the exit status. A reactor runs only to make vectors."""
    from mud_assistant.assistant.surfaces.characters.command import CharacterOptions, run_character

    wanted = CharacterOptions(**{name: value for name, value in vars(options).items() if name != "command"})
    try:
        if options.action == "test":
            from mud_assistant.assistant.surfaces.characters.trying import by_meaning  # only there

            run = partial(run_reactor, reactor := _reactor(), secrets=secrets, cancelled=INTERRUPTED)
            wanted = by_meaning(wanted, os.environ, reactor, run)
        return run_character(wanted, print, input)
    except AssistantError as error:
        return refuse(error)
    except (EOFError, KeyboardInterrupt):
        return INTERRUPTED


#: What does each command.
_COMMANDS: dict[str, Callable[[argparse.Namespace, Secrets], int]] = {
    "trial": _trial,
    "replay": _replay,
    "doctor": _doctor,
    "setup": _setup,
    "game": _game,
    "character": _character,
    "journal": blocking_commands.journal,
    "backup": blocking_commands.backup,
    "restore": blocking_commands.restore,
    "health": partial(run_health, print),
    "serve": _serve,
    "play": _play,
    "worker": _worker,
    "tell": _tell,
    "gateway": _gateway,
    "upgrade": _upgrade,
}


if __name__ == "__main__":
    sys.exit(main())
