"""`mud-assistant game` from its first line to its last: makes a game, starts it, says where it is, stops it."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistant.game.errors import GameError
from assistant.game.folder import GameFolder
from assistant.game.making import Maker, Wanted, remove
from assistant.game.modelling import with_model
from assistant.game.patience import Patience
from assistant.game.ports import LOOPBACK
from assistant.game.running import Running

#: What of the Server's log is shown, without the time and the level before it: how the assistants fare.
_WORTH = re.compile(
    r"\[..\] (?P<told>.* thinks with .*|.* cannot think yet: .*|no assistant can live.*|a model is left out: .*|"
    r"the embedded model: \w+|the embedded model is gone: .*|the demo could not be built.*|.* lives in .*)"
)
_LOOK_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Options:
    """The words of the command line."""

    folder: Path
    wanted: Wanted
    fresh: bool = False
    stop: bool = False


def game(options: Options, environment: Mapping[str, str], patience: Patience) -> int:
    """The exit status: 0 when the game has run and was stopped, 2 when something kept it from that. Blocks until then.

    Ctrl-C, SIGTERM and SIGHUP stop the game, whenever they come. It is not left running when this returns.
    """
    folder = GameFolder(options.folder.absolute())
    maker = Maker(environment, _say)
    running = Running(folder, maker.launcher(folder), patience, _say)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, signal.default_int_handler)
    try:
        try:
            if not options.stop:
                _begin(folder, options, maker, running)
                _follow(running)
        except KeyboardInterrupt:
            _say("")
        _stop(running)
    except GameError as error:
        _say(f"mud-assistant: {error}")
        return 2
    return 0


def _begin(folder: GameFolder, options: Options, maker: Maker, running: Running) -> None:
    """A game that is up, made when it is not there; then where it is. Raises GameError."""
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
        maker.make(folder, with_model(options.wanted, running.patience.now, _say))
    else:
        maker.adapt(folder, kept, options.wanted)
    maker.migrate(folder)
    logged = running.start()
    _tell(folder)
    # The first Server, which restarts once, and the one behind it tell the same.
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
        f"  log in       connect {kept.owner} {folder.password()}\n"
        f"  then         say Hello {kept.assistant}, who are you?\n"
        f"  logs         {folder.server_log}\n"
        f"  settings     {folder.options}\n"
        f"  stop         Ctrl-C\n"
    )
    with suppress(OSError):  # as in _say
        print(where, flush=True)


def _follow(running: Running) -> None:
    """Show what is worth it of the log, until the game is ended from elsewhere."""
    last = ""
    while running.is_there():  # the Server alone goes away and comes back in a reload
        for text in _worth(running.log.lines()):
            if text != last:  # as when a file is fetched, which is logged at every step
                _say(text)
            last = text
        running.patience.sleep(_LOOK_SECONDS)
    _say("The game was stopped.")


def _worth(lines: list[str]) -> list[str]:
    """What is worth showing, in its order."""
    return [found["told"].rstrip() for line in lines if (found := _WORTH.search(line))]


def _stop(running: Running) -> None:
    """End the game. From now on no signal is obeyed: it would leave a game behind. What is waited for has an end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    running.stop()


def _say(text: str) -> None:
    """One line on standard error. Whoever read it may have left: the game is stopped all the same."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
