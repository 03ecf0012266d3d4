"""Lets a character play in somebody else's game, and shows in the terminal what it hears, thinks and types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.events.events import Event, format_event
from mud_assistant.assistant.surfaces.guest_home import GuestHome
from mud_assistant.assistant.surfaces.play.asked_first import TYPED
from mud_assistant.assistant.surfaces.standalone import (
    Standalone,
    StandaloneOptions,
    principal_of,
    run_standalone,
    until_cancelled,
)
from mud_assistant.assistant.surfaces.trial.piped import DiscreetScreen, PlainScreen
from mud_assistant.assistant.surfaces.trial.watching import TrialObserver
from mud_assistant.assistant.surfaces.worker.members import Member
from mud_assistant.assistant.worlds.telnet.guest_life import Watching
from mud_assistant.assistant.worlds.telnet.wire.telnet_codec import PlainText, TelnetCodec
from mud_assistant.tools.text.clean import one_line


class PlayOptions(StandaloneOptions, frozen=True):
    """The options of play. `typed_password` was typed at the terminal, empty where the settings say where it is."""

    is_dry: bool = False
    tracing: bool = False
    typed_password: str = ""


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_play(reactor: Any, options: PlayOptions, environment: Mapping[str, str]) -> int:
    """Let the character play until it is cancelled, and return the exit status."""
    if options.typed_password:
        environment = {**environment, TYPED: options.typed_password}

    async def live(program: Standalone) -> int:
        screen = DiscreetScreen(PlainScreen(quiet=False), options.secrets)
        me = principal_of(options.config.assistant)
        watching = Watching(
            note=lambda sentence: screen.remark(f"({sentence})"),
            on_bytes=lambda by_server, data: None if by_server else _show_typed(screen, data),
            heard=partial(_show_heard, screen),
            would_type=(lambda line: screen.show(f"would type> {line}")) if options.is_dry else None,
        )
        home = GuestHome(program, [Member(me, options.config, options.file)], watching)
        runner = home.begin(me.id, options.config, options.entered_key)
        runner.observers.add(
            TrialObserver(
                screen,
                me.name,
                program.service.troubles,
                as_json=False,
                tracing=options.tracing,
                scrub=options.secrets.scrub,
            )
        )
        try:
            await runner.first_attempt()
        except AssistantError as error:
            screen.remark(f"({complaint(error).rstrip('.')}. It is tried again by itself.)")
        else:
            screen.remark(f"({me.name} thinks with {runner.models[0].why}. Ctrl-C ends this.)")
        return await until_cancelled()

    return await run_standalone(reactor, options, environment, live)


def _show_heard(screen: DiscreetScreen, event: Event) -> None:
    screen.show(f"  {format_event(event)}")


def _show_typed(screen: DiscreetScreen, data: bytes) -> None:
    """Show a line that was typed; what only negotiates is no line."""
    codec = TelnetCodec()
    codec.put(data)
    typed = b"".join(piece.data for piece in iter(codec.take, None) if isinstance(piece, PlainText))
    if typed.strip():
        screen.show(f"> {one_line(typed.decode('utf-8', 'replace'), max_chars=500)}")
