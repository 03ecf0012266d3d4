"""The settings and other inputs from which a household is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assistant.config.schema import Config
from assistant.config.web import WebConfig
from assistant.keys.redaction import Secrets


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The inputs of a household.

    `config` holds the settings of the whole game: budget, journal and web, and what each member begins with. A
    relative path of a key file starts from `folder`. `wall` gives seconds since 1970. Every key that is read is added
    to `secrets`.
    """

    config: Config
    folder: Path
    environment: Mapping[str, str]
    wall: Callable[[], float]
    secrets: Secrets
    journal: Path
    #: The settings of the web as the owner has changed them since; None when those of `config` apply.
    web: WebConfig | None = None
