"""Runs the command `mud-assistant game`: makes a game, starts it, says where it is, and stops it.

What makes the talk better is fetched by the game itself, behind the talk.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.errors import AssistantError, GameError, complaint
from mud_assistant.assistant.models import offer
from mud_assistant.assistant.surfaces.agreeing import require_agreement
from mud_assistant.assistant.surfaces.game.folder import LOOPBACK, GameFolder
from mud_assistant.assistant.surfaces.game.making import GameOptions, Maker, remove
from mud_assistant.assistant.surfaces.game.processes import Patience
from mud_assistant.assistant.surfaces.game.running import Running
from mud_assistant.assistant.surfaces.upgrading import upgrade

#: The lines of the Server's log that are shown, without their time and level: how the assistants fare.
_WORTH = re.compile(
    r"\[..\] (?P<told>.* thinks with .*|.* cannot think yet: .*|no assistant can live.*|a model is left out: .*|"
    r"the embedded model: .*|the embedded model is gone: .*|the demo could not be built.*|.* lives in .*|"
    r"in the background: .*)"
)
_FOLLOW_SECONDS = 0.3


class Options(Struct, frozen=True):
    """The options of the command line."""

    folder: Path
    wanted: GameOptions
    fresh: bool = False
    stop: bool = False
    #: Whether a model of a hub may be fetched without asking.
    agreed: bool = False


def game(options: Options, environment: Mapping[str, str], patience: Patience) -> int:
    """Run a game until it is stopped. Return 0 when it has run and was stopped, 2 when an error prevented that. Blocks.

    Ctrl-C, SIGTERM and SIGHUP stop the game, whenever they come. It is not left running when this returns.
    """
    folder = GameFolder(options.folder.absolute())
    maker = Maker(offer.deciding(environment, is_watched=True), _say)
    running = Running(folder, maker.launcher(folder), patience, _say)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, signal.default_int_handler)
    try:
        try:
            if not options.stop:
                require_agreement(options.wanted.model.get("model", ""), environment, agreed=options.agreed)
                _begin(folder, options, maker, running)
                _follow(running)
        except KeyboardInterrupt:
            _say("")
        _stop(running)
    except AssistantError as error:
        _say(complaint(error))
        return 2
    return 0


def _begin(folder: GameFolder, options: Options, maker: Maker, running: Running) -> None:
    """Start the game, making it when there is none, and print where it is. Raises GameError."""
    if options.fresh:
        running.stop()
        remove(folder)
    kept = folder.kept()
    if running.is_up():
        if options.wanted.is_anything:
            raise GameError("the game is running: stop it before it is given other options")
        _say("The game is running already.")
        running.log.to_end()
        _tell(folder)
        return
    running.stop()
    if kept is None:
        maker.make(folder, options.wanted)
    else:
        upgrade(folder.path, _say)
        maker.adapt(folder, kept, options.wanted)
    maker.migrate(folder)
    logged = running.start()
    _tell(folder)
    # The first Server restarts once, and the second logs the same lines.
    for text in dict.fromkeys(_worth(logged)):
        _say(text)


def _tell(folder: GameFolder) -> None:
    """Print where the game is, on standard output."""
    ports, kept = folder.ports(), folder.kept()
    assert kept is not None
    where = (
        f"\n{kept.assistant}'s game is up.\n"
        f"  telnet       telnet {LOOPBACK} {ports.telnet}\n"
        f"  web client   http://{LOOPBACK}:{ports.web}/webclient/ (it takes its scripts from the internet)\n"
        f"  the page     http://{LOOPBACK}:{ports.web}/assistants (what they do and cost; log in as the owner there)\n"
        f"  log in       connect {kept.owner} {folder.password()}\n"
        f"  then         say Hello {kept.assistant}, who are you?\n"
        f"  logs         {folder.server_log}\n"
        f"  settings     {folder.options}\n"
        f"  stop         Ctrl-C\n"
    )
    with suppress(OSError):  # as in _say
        print(where, flush=True)


def _follow(running: Running) -> None:
    """Show the interesting lines of the log until the game is ended from elsewhere."""
    last = ""
    while running.is_there():  # a reload ends and restarts only the Server
        for text in _worth(running.log.lines()):
            if text != last:  # a file that is fetched is logged at every step
                _say(text)
            last = text
        running.patience.sleep(_FOLLOW_SECONDS)
    _say("The game was stopped.")


def _worth(lines: list[str]) -> list[str]:
    """Return the texts of the lines worth showing, in their order."""
    return [found["told"].rstrip() for line in lines if (found := _WORTH.search(line))]


def _stop(running: Running) -> None:
    """End the game, ignoring signals from now on: they would leave a game running. Every wait in it is limited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running.stop()


def _say(text: str) -> None:
    """Print one line on standard error. An OSError is ignored: the reader may be gone, and the game must be stopped."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
