"""Runs the command `mud-assistant game`: makes a game, starts it, says where it is, and stops it.

A new game whose owner names no model gets a local one, chosen here, when no Ollama answers.
"""

from __future__ import annotations

import re
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from assistant.config.known_providers import AUTO, EMBEDDED, LOOKED_FOR
from assistant.errors import GameError, complaint
from assistant.models import offer
from assistant.surfaces.game.folder import LOOPBACK, GameFolder
from assistant.surfaces.game.making import GameOptions, Maker, remove
from assistant.surfaces.game.processes import Patience
from assistant.surfaces.game.running import Running
from llm import get_provider

#: How long to wait for a connection to a local Ollama, in seconds.
LOOK_SECONDS = 1.0
#: The lines of the Server's log that are shown, without their time and level: how the assistants fare.
_WORTH = re.compile(
    r"\[..\] (?P<told>.* thinks with .*|.* cannot think yet: .*|no assistant can live.*|a model is left out: .*|"
    r"the embedded model: \w+|the embedded model is gone: .*|the demo could not be built.*|.* lives in .*)"
)
_FOLLOW_SECONDS = 0.3


class Options(Struct, frozen=True):
    """The options of the command line."""

    folder: Path
    wanted: GameOptions
    fresh: bool = False
    stop: bool = False


def game(options: Options, environment: Mapping[str, str], patience: Patience) -> int:
    """Run a game until it is stopped. Return 0 when it has run and was stopped, 2 when an error prevented that. Blocks.

    Ctrl-C, SIGTERM and SIGHUP stop the game, whenever they come. It is not left running when this returns.
    """
    folder = GameFolder(options.folder.absolute())
    maker = Maker(environment, _say)
    running = Running(folder, maker.launcher(folder), patience, _say)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
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
        maker.make(folder, with_model(options.wanted, running.patience.now, _say))
    else:
        maker.adapt(folder, kept, options.wanted)
    maker.migrate(folder)
    logged = running.start()
    _tell(folder)
    # The first Server restarts once, and the second logs the same lines.
    for text in dict.fromkeys(_worth(logged)):
        _say(text)


def with_model(wanted: GameOptions, now: Callable[[], float], say: Callable[[str], None]) -> GameOptions:
    """Add the better local model to what is wanted when it is the one on this machine, or the owner chooses it.

    `now` gives seconds. Blocks for a third of a second, and until the owner has answered.
    """
    given, provider = wanted.model, wanted.model.get("provider", AUTO)
    if provider not in {AUTO, EMBEDDED} or given.get("model") or given.get("url"):
        return wanted
    if provider == AUTO and _is_there(get_provider(LOOKED_FOR).api_url):
        return wanted
    names, machine = offer.needed(now)
    if machine is None:
        chosen = names[0]
    elif machine.is_for_better and sys.stdin.isatty() and sys.stderr.isatty():
        say(offer.question(machine))
        chosen = _asked(say)
    else:
        say(offer.hint())
        return wanted
    better = {**given, "provider": EMBEDDED, "model": offer.BETTER}
    return replace(wanted, model=better) if chosen == offer.BETTER else wanted


def _asked(say: Callable[[str], None]) -> str:
    """Ask for a model until the owner names one, and return it.

    An empty line means the better one; the end of the input means the small one.
    """
    while True:
        say(f"Which one? ({offer.SMALL}, {offer.BETTER}) [{offer.BETTER}]:")
        line = sys.stdin.readline()
        answer = line.strip() or offer.BETTER
        if not line:
            return offer.SMALL
        if answer in {offer.SMALL, offer.BETTER}:
            return answer


def _is_there(url: str) -> bool:
    """Tell whether something answers at the address."""
    parts = urlsplit(url)
    try:
        with closing(socket.create_connection((parts.hostname, parts.port or 80), LOOK_SECONDS)):
            return True
    except OSError:
        return False


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
