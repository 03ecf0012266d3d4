"""Checks the game of `[world]` for the doctor: permission, password, whether it is there, its profile, the log-in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.checks.doctor import WorldCheck
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.world_config import parse_address
from mud_assistant.assistant.errors import AssistantError, KeyReferenceError
from mud_assistant.assistant.http_server.addresses import is_loopback
from mud_assistant.assistant.keys.reference import KEY_SECONDS, KeySources, resolve_key
from mud_assistant.assistant.worlds.telnet.game_access import GameAccess, access_of
from mud_assistant.assistant.worlds.telnet.probing import PATIENCE, Unreachable, look_at
from mud_assistant.assistant.worlds.telnet.session.game_wire import LinkListener
from mud_assistant.assistant.worlds.telnet.session.link import GameLink
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Prompt, WireEvent
from mud_assistant.resilience.background import in_daemon_thread
from mud_assistant.tools.text.clean import one_line

#: Seconds that a log-in may take, and that its prompt may take after it.
LOGIN_SECONDS, PROMPT_SECONDS = 60.0, 3.0
_CONNECT_SECONDS = 35.0


# Any: the reactor has no one interface for time, network and threads.
def game_checks(
    reactor: Any, config: Config, folder: Path, keys: KeySources, *, tries_login: bool
) -> Iterator[WorldCheck]:
    """Yield the checks of the game of the settings, in order: after one that finds something wrong none is made.

    None where they name no game.
    """
    if not config.world.telnet:
        return
    checks = _GameChecks(reactor, config, folder, keys)
    yield WorldCheck("world profile", KEY_SECONDS, checks.profile)
    yield WorldCheck("world permission", 1.0, checks.permission)
    yield WorldCheck("world password", KEY_SECONDS, checks.password)
    yield WorldCheck("world", PATIENCE + _CONNECT_SECONDS, checks.is_there)
    if tries_login:
        yield WorldCheck("world log-in", LOGIN_SECONDS + PROMPT_SECONDS, checks.login)


class _GameChecks:
    def __init__(self, reactor: Any, config: Config, folder: Path, keys: KeySources) -> None:
        self._reactor, self._config, self._folder, self._keys = reactor, config, folder, keys
        self._access: GameAccess | None = None
        self._password = ""

    @property
    def access(self) -> GameAccess:
        """How the character gets in, once the profile was read."""
        assert self._access is not None
        return self._access

    async def profile(self) -> str:
        """Read the profile."""
        read = partial(access_of, self._config.world, self._config.assistant.name, self._folder)
        try:
            self._access = await in_daemon_thread(self._reactor, KEY_SECONDS, read)
        except AssistantError as error:
            raise Problem(str(error)) from error
        return f"the profile {self._config.world.profile} can be used: {self._access.profile.name}"

    async def permission(self) -> str:
        """See whether somebody allowed a character there."""
        host = parse_address(self._config.world.telnet).host
        if is_loopback(host):
            return f"{host} is this machine"
        if not (by := self._config.world.permission.strip()):
            raise Problem(
                f"{host} is somebody else's machine: ask who runs the game whether a character may live there, and "
                "write who said so into permission under [world]"
            )
        return f"a character was allowed at {host} by: {one_line(by)}"

    async def password(self) -> str:
        """Read the password."""
        if not self.access.password:
            raise Unclear("the settings name no password: set password under [world], where the game asks for one")
        try:
            self._password = await resolve_key(self.access.password, self._keys)
        except KeyReferenceError as error:
            raise Problem(str(error)) from error
        return "the password can be read"

    async def is_there(self) -> str:
        """Connect, without logging in, and see whether the profile fits what the game shows first."""
        access = self.access
        try:
            shown = await look_at(self._reactor, access.endpoint(self._reactor))
        except Unreachable as error:
            raise Problem(f"the game at {access.address} cannot be reached: {error}") from error
        by_tls = " over TLS" if parse_address(self._config.world.telnet).is_tls else ""
        codebase = f" ({one_line(shown.codebase)})" if shown.codebase else ""
        said = f"the game at {access.address} is there{by_tls}{codebase}"
        if shown.fits(access.profile):
            return f"{said}, and the profile knows how to log in"
        guess = shown.guess()
        better = f" The profile {guess} may fit." if guess and guess != self._config.world.profile else ""
        raise Problem(
            f"{said}, and the profile {self._config.world.profile} has no answer to what it shows: "
            f"{one_line(shown.last, max_chars=120)!r}.{better} See [login] of the profile (docs/telnet.md)"
        )

    async def login(self) -> str:
        """Log in, see that the prompt is found, and leave."""
        prompts: list[str] = []
        playing: Deferred[None] = Deferred()
        prompted: Deferred[None] = Deferred()

        def entered(state: State, why: str) -> None:
            if playing.called:
                return
            if state is State.PLAYING:
                playing.callback(None)
            elif state is State.CLOSED or link.ended is not None:
                playing.errback(Problem(f"{self.access.name} did not get into the game: {why}"))

        def heard(event: WireEvent) -> None:
            if isinstance(event, Prompt):
                prompts.append(event.text)
                if not prompted.called:
                    prompted.callback(None)

        endpoint, place = self.access.endpoint(self._reactor), self.access.place(self._password, hears_only=True)
        listener = LinkListener(on_event=heard, on_state=entered)
        link = GameLink(endpoint, self._reactor, SystemRandom(), place, listener)
        link.start()
        try:
            await playing
            if link.prompt:
                prompts.append(link.prompt)
            else:
                await prompted.addTimeout(PROMPT_SECONDS, self._reactor, onTimeoutCancel=lambda _result, _seconds: None)
        finally:
            await link.stop()
        if not prompts:
            return f"{self.access.name} was in the game; it showed no prompt, so lines wait for silence"
        return f"{self.access.name} was in the game; its prompt was found: {one_line(prompts[-1], max_chars=80)!r}"
