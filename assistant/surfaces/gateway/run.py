"""Runs `mud-assistant gateway`: the models of the settings for other programs, without any assistant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mud_assistant.assistant.gateway.running import RunningGateway, ready
from mud_assistant.assistant.surfaces.standalone import Standalone, StandaloneOptions, run_standalone, until_cancelled


# Any: no single interface of the reactor covers time, network, processes and descriptors.
async def run_gateway(reactor: Any, options: StandaloneOptions, environment: Mapping[str, str]) -> int:
    """Serve until it is cancelled, and return the exit status. Nothing that it started is left running."""

    async def answer(program: Standalone) -> int:
        await open_gateway(program, " Ctrl-C ends it.")
        return await until_cancelled()

    return await run_standalone(reactor, options, environment, answer)


async def open_gateway(program: Standalone, more: str = "") -> None:
    """Open the gateway of a program until it ends, and say where it is, and `more`. Raises GatewayNotOpened."""
    gateway = RunningGateway(program.service, program.service.config.settings.gateway)
    program.closing.push_async_callback(gateway.close)
    address = await gateway.open()
    program.progress.note(f"{ready(gateway, address)}{more}")
