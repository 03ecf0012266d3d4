"""Chooses the local model of a new game when its owner names none and no Ollama answers."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

from assistant.config.known_providers import AUTO, EMBEDDED, LOOKED_FOR
from assistant.models import offer
from assistant.surfaces.game.making import GameOptions
from llm import get_provider

#: How long to wait for a connection to a local Ollama, in seconds.
LOOK_SECONDS = 1.0


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
