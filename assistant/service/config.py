"""What a service is made from: its settings, and what the surface that starts it does itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from twisted.logger import Logger

from assistant.config.schema import Config
from assistant.config.web import WebConfig
from assistant.keys.redaction import Secrets
from assistant.service.embedded import MakeServed

#: How the owner of a game gives a key again.
IN_THE_GAME = "name it again with the command that sets keys: {reference}"

_log = Logger()


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The inputs of a service.

    `settings` are those of the whole game: budget, journal and web, and what each assistant begins with. A
    relative path of a key file starts from `folder`. `wall` gives seconds since 1970. Every key that is read is added
    to `secrets`. Without a `journal`, nothing outlives the process.
    """

    settings: Config
    folder: Path
    environment: Mapping[str, str]
    wall: Callable[[], float]
    secrets: Secrets
    journal: Path | None
    #: The settings of the web as the owner has changed them since; None when those of `settings` apply.
    web: WebConfig | None = None


def _log_left_out(why: str) -> None:
    _log.warn("a model is left out: {why}", why=why)


@dataclass(frozen=True, slots=True)
class ServiceHooks:
    """What a surface does itself. The defaults are those of a game, where everything is reported to the log."""

    #: Makes the server of an embedded model; None for the real one, which reports to the log.
    make_served: MakeServed | None = None
    #: Returns the model file for an owner who wants an embedded model and names none; None to use the usual one.
    offer: Callable[[], Awaitable[Path | None]] | None = None
    #: Is told why a model of the settings is left out, in one sentence without a key.
    left_out: Callable[[str], None] = _log_left_out
    #: Says how the owner gives the key of a `{reference}` again.
    key_again: str = IN_THE_GAME
