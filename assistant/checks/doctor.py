"""Runs all checks on the settings and files of an assistant, once it is known that no module of ours is hidden."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from msgspec import Struct, field

from mud_assistant.assistant.checks.check_runner import Check, CheckRunner
from mud_assistant.assistant.checks.day_places import DayKeeper, check_days
from mud_assistant.assistant.checks.finding import Finding, FindingState, Show
from mud_assistant.assistant.checks.journal import bindings, durable, room, searchable, sound
from mud_assistant.assistant.checks.model import ModelChecks
from mud_assistant.assistant.checks.web import PAGE, WebChecks
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.keys.reference import key_sources
from mud_assistant.assistant.models.bound_keys import BoundKeys
from mud_assistant.assistant.models.choose import LOOK_SECONDS
from mud_assistant.assistant.runtime.own_tools import OwnTools
from mud_assistant.llm.embedded.fetching.models import default_data_dir
from mud_assistant.resilience import DeadlineExceeded, HttpExchange, Pipeline
from mud_assistant.resilience.background import in_daemon_thread

#: Seconds in which a journal of the largest usual size can be read, on a slow disk too.
JOURNAL_SECONDS = 60.0
#: Exit status when something is wrong.
SOMETHING_WRONG = 1
#: Has the trigram tokenizer of memories that are not in English: https://www.sqlite.org/releaselog/3_34_0.html
OLDEST_SQLITE = (3, 34)
TOO_OLD_SQLITE = "Python brings SQLite {}, and a journal needs 3.34 or later: use another Python, or journal.url"
#: The check of the owner's own tools.
OWN_TOOLS = "own tools"


class WorldCheck(NamedTuple):
    """A check of a game: its name, how many seconds it may take, and what it does."""

    name: str
    seconds: float
    work: Check


class DoctorRequest(Struct, frozen=True):
    """The settings and files to examine. `wall` returns seconds since 1970; `waiting` is called with what is slow."""

    config: Config
    folder: Path
    environment: Mapping[str, str]
    wall: Callable[[], float]
    show: Show
    waiting: Callable[[str], None]
    secrets: Secrets = field(default_factory=Secrets)
    web: bool = False
    page: str = PAGE
    own_tools: OwnTools = OwnTools()
    #: The character whose day is looked at, where it is known where it lives.
    keeper: DayKeeper | None = None
    #: The checks of the game that it lives in, where that is somebody else's.
    world: Sequence[WorldCheck] = ()


# Any: the reactor has no one interface for time, network and threads.
async def examine(reactor: Any, request: DoctorRequest) -> int:
    """Run the checks and return the exit status, 0 when all is well. Cancelling ends them and drops open requests."""
    exchange = HttpExchange(reactor)
    try:
        return await _Checks(reactor, request, exchange).run()
    finally:
        await exchange.close()


def judge_own_tools(own: OwnTools) -> Iterable[Finding]:
    """Return a finding for all that were loaded, and one for each that was left out; none where nothing was named."""
    if own.tools:
        yield Finding(OWN_TOOLS, FindingState.OK, f"loaded: {', '.join(tool.name for tool in own.tools)}")
    for problem in own.problems:
        yield Finding(OWN_TOOLS, FindingState.WRONG, problem)


class _Checks:
    """All checks of a request, in order."""

    def __init__(self, reactor: Any, request: DoctorRequest, exchange: HttpExchange) -> None:
        self._reactor = reactor
        self._request = request
        self._exchange = exchange
        self._runner = CheckRunner(reactor, request.show, request.waiting, request.secrets.scrub)
        self._keys = key_sources(reactor, request.environment, request.folder, request.secrets)

    async def run(self) -> int:
        config = self._request.config
        bound = BoundKeys(await self._bindings(), self._request.folder)
        for finding in judge_own_tools(self._request.own_tools):
            self._runner.note(finding.check, finding.state, finding.sentence)
        for number, model in enumerate((config.model, *config.fallback)):
            place = f"fallback[{number - 1}]" if number else "model"
            await ModelChecks(place, model, self._exchange, self._keys, bound, default_data_dir(), self._runner).run()
        await self._gateway(bound)
        await self._vectors(bound)
        await self._journal()
        await self._telemetry(bound)
        for name, seconds, work in self._request.world:
            if not await self._runner.check(name, seconds, work):
                break
        if self._request.keeper is not None:
            await check_days(self._request.keeper, self._runner)
        if self._request.web:
            from mud_assistant.assistant.web.web import WebProviders  # noqa: PLC0415  (a game that has the web has loaded it)

            make = partial(WebProviders, reactor=self._reactor, exchange=self._exchange)
            await WebChecks(config.web, self._keys, self._runner, self._request.page, make).run()
        return 0 if self._runner.all_is_well else SOMETHING_WRONG

    async def _gateway(self, bound: BoundKeys) -> None:
        request = self._request
        config = request.config.gateway
        for name, offered in config.models.items():
            for number, model in enumerate(offered.chain):
                place = f"gateway.models.{name}" + (f".fallback[{number - 1}]" if number else "")
                await ModelChecks(
                    place, model, self._exchange, self._keys, bound, default_data_dir(), self._runner
                ).run()
        if config.enabled or config.models:
            from mud_assistant.assistant.checks.gateway import given_keys, who_may_ask  # noqa: PLC0415  (only where it is used)

            for check, work in (("gateway keys", given_keys), ("gateway", who_may_ask)):
                look = partial(work, config, request.folder)
                await self._runner.check(check, LOOK_SECONDS, partial(self._off, look))

    async def _vectors(self, bound: BoundKeys) -> None:
        if (memory := self._request.config.memory).vectors == "off":
            return
        from mud_assistant.assistant.checks.memory import VectorChecks  # noqa: PLC0415  (only where vectors are used)
        from mud_assistant.assistant.models.embedding import EmbedderParts, vector_server  # noqa: PLC0415  (the same)

        server = vector_server(self._reactor, self._request.environment)
        pipeline = Pipeline(self._reactor, Random())  # noqa: S311  (jitter is no secret)
        parts = EmbedderParts(self._exchange, pipeline, self._keys, server, bound)
        await VectorChecks(memory, parts, default_data_dir(), self._runner).run()

    async def _telemetry(self, bound: BoundKeys) -> None:
        request = self._request
        if not (request.config.telemetry.metrics or request.config.telemetry.sends(request.environment)):
            return
        from mud_assistant.assistant.checks.telemetry import TelemetryChecks  # noqa: PLC0415  (only where it is switched on)

        parts = (request.environment, request.folder, self._keys, bound, self._exchange, self._runner)
        await TelemetryChecks(request.config.telemetry, *parts).run()

    async def _bindings(self) -> Collection[KeyBinding]:
        """Return which key the journal remembers for which server."""
        if (database := self._database()) is not None:
            found: Collection[KeyBinding] = await database.bindings()
            return found
        file = self._request.config.journal.file
        if not file:
            return ()
        read = partial(bindings, self._request.folder / file, self._request.wall())
        try:
            return await in_daemon_thread(self._reactor, JOURNAL_SECONDS, read)
        except DeadlineExceeded:  # the check of the journal will report it
            return ()

    async def _journal(self) -> None:
        config = self._request.config.journal
        if config.url:
            await self._check_database()
            return
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            self._runner.note("journal", FindingState.WRONG, TOO_OLD_SQLITE.format(sqlite3.sqlite_version))
            return
        if not config.file:
            none = "none is kept: what is remembered is gone with the program (journal.file)"
            self._runner.note("journal", FindingState.OK, none)
            return
        path = self._request.folder / config.file
        for name, work in (
            ("journal", partial(sound, path, self._request.wall())),
            ("journal durable", partial(durable, path)),
            ("journal room", partial(room, path, config)),
            ("memory search", partial(searchable, path)),
        ):
            await self._runner.check(name, JOURNAL_SECONDS, partial(self._off, work))

    async def _check_database(self) -> None:
        if (database := self._database()) is None:
            from mud_assistant.assistant.journal.postgres.refusals import NO_DRIVER  # noqa: PLC0415  (only where it is used)

            self._runner.note("journal server", FindingState.WRONG, NO_DRIVER)
        else:
            await database.run()

    # Any: PostgresChecks, whose module needs the driver.
    def _database(self) -> Any:
        """Return the checks of the journal's database, None when there is none, or no driver for it."""
        config = self._request.config.journal
        if not config.url:
            return None
        try:
            from mud_assistant.assistant.checks.postgres import PostgresChecks  # noqa: PLC0415  (only where it is used)
        except ImportError:
            return None
        return PostgresChecks(self._reactor, config, self._keys, self._runner)

    async def _off(self, work: Callable[[], str]) -> str:
        return await in_daemon_thread(self._reactor, JOURNAL_SECONDS, work)
