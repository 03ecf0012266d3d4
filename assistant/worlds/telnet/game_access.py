"""Reads from the settings how a character gets into its game: the profile, the address, the account, the password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct
from twisted.internet.interfaces import IStreamClientEndpoint

from mud_assistant.assistant.config.world_config import NAME, WorldConfig, parse_address
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.worlds.telnet.profiles.profile import (
    Profile,
    ProfileError,
    read_profile,
    shipped_profile,
    shipped_profiles,
)
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace
from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from mud_assistant.assistant.worlds.telnet.wire.secured import game_endpoint

_NO_GAME = 'the settings name no game: write telnet = "HOST:PORT" and profile = "diku" under [world] (docs/telnet.md)'


class GameAccess(Struct, frozen=True):
    """How the character called `name` gets into the game of `world`. `password` is a reference to the password."""

    name: str
    world: WorldConfig
    profile: Profile

    @property
    def address(self) -> str:
        """Where the game is, as people write it."""
        host, port, _, channel = parse_address(self.world.telnet)
        return f"{host}:{port}/{channel}" if channel else f"{host}:{port}"

    @property
    def password(self) -> str:
        """The reference to the password, empty for none."""
        return self.world.password.replace(NAME, self.name.casefold())

    def credentials(self, password: str) -> Credentials:
        """Return who logs in."""
        return Credentials(self.name, password, self.world.account.replace(NAME, self.name))

    def place(self, password: str = "", *, hears_only: bool = False) -> GamePlace:
        """Return where the game is, and how it is played."""
        address = parse_address(self.world.telnet)
        return GamePlace(
            address.host,
            self.profile.session,
            self.credentials(password),
            encoding=self.world.encoding,
            permission=self.world.permission,
            may_play_immortal=self.world.immortal,
            hears_only=hears_only,
            channel=address.channel,
        )

    # Any: the reactor as maker of connections.
    def endpoint(self, reactor: Any) -> IStreamClientEndpoint:
        """Return where to connect to."""
        host, port, is_tls, _ = parse_address(self.world.telnet)
        return game_endpoint(reactor, host, port, tls=is_tls, fingerprint=self.world.fingerprint)


def access_of(world: WorldConfig, name: str, folder: Path) -> GameAccess:
    """Return how a character gets into the game of the settings; files are looked for from `folder`. Blocks.

    Raises AssistantError.
    """
    if not world.telnet:
        raise AssistantError(_NO_GAME)
    return GameAccess(name, world, profile_of(world.profile, name, folder))


def profile_of(written: str, name: str, folder: Path) -> Profile:
    """Return a profile that ships or that of a file, for the character of this name. Blocks. Raises AssistantError."""
    try:
        if written in shipped_profiles():
            return shipped_profile(written, name)
        return read_profile(_text_of(folder / written), written, name)
    except ProfileError as error:
        raise AssistantError(f"the profile cannot be used: {error}") from error


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(shipped_profiles())
        raise AssistantError(
            f"there is no profile {path}: write one of {known}, or the path of a file (docs/telnet.md)"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AssistantError(f"the profile {path} cannot be read: it must be a file of UTF-8 text") from error
