"""What a household is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assistant.config import Config
from assistant.redaction import Secrets
from assistant.web_config import WebConfig


@dataclass(frozen=True, slots=True)
class Home:
    """What a household is made from.

    `config` holds the settings of the whole game: budget, journal and web, and what each member begins with. A
    relative path of a key file starts from `folder`. `wall` gives seconds since 1970. Every key that is read goes into
    `secrets`.
    """

    config: Config
    folder: Path
    environment: Mapping[str, str]
    wall: Callable[[], float]
    secrets: Secrets
    journal: Path
    #: The settings of the web as their owner changed them since; None where those of `config` count.
    web: WebConfig | None = None
