"""Checks the PostgreSQL database of the journal: the server, our place there, and whether it keeps what it accepts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.journal.postgres.facts import ServerFacts, look_at, remembered_keys
from mud_assistant.assistant.journal.postgres.opening import CannotUse
from mud_assistant.assistant.journal.postgres.refusals import (
    NEWEST,
    OLDEST,
    POOLED,
    newer_tables,
    too_old,
    wrong_encoding,
)
from mud_assistant.assistant.journal.postgres.schema import STEPS
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.resilience import DeadlineExceeded
from mud_assistant.resilience.background import in_daemon_thread

T = TypeVar("T")

#: How long the server may take for everything it is asked, in seconds.
SERVER_SECONDS = 30.0
#: A commit that takes longer, in seconds, is felt in every answer.
SLOW_COMMIT = 0.1
#: How many connections a process takes at most.
NEEDED_CONNECTIONS = 4
_LATE = "see the host in journal.url, and what else keeps the server busy"
_MAJOR = 10_000


class PostgresChecks(Struct, frozen=True):
    """The checks of `journal.url`."""

    # Any: the reactor as clock, and for calls from other threads.
    reactor: Any
    config: JournalConfig
    keys: KeySources
    runner: CheckRunner

    async def run(self) -> None:
        """Run the checks. Without an answer of the server there is one line."""
        found: list[ServerFacts] = []

        async def server() -> str:
            found.append(await self._ask(look_at, self.runner.clock.seconds))
            return judge_server(found[0], self.config.url)

        await self.runner.check("journal server", SERVER_SECONDS, server, _LATE)
        judges = {"journal tables": judge_tables, "journal durable": judge_durability, "journal room": judge_room}
        for name, judge in judges.items():
            if found:
                await self.runner.check(name, SERVER_SECONDS, partial(_judged, judge, found[0]))
            else:
                self.runner.skip((name,), "the server did not answer")

    async def bindings(self) -> Collection[KeyBinding]:
        """Return which key the journal remembers for which server; empty when it cannot be read."""
        try:
            return await self._ask(remembered_keys)
        except (Problem, DeadlineExceeded):  # the check of the server will report it
            return ()

    # Any: what the work is given beside the address.
    async def _ask(self, work: Callable[..., T], *more: Any) -> T:
        """Do work in another thread, with the address and the password. Raises Problem and DeadlineExceeded."""
        try:
            password = await resolve_key(self.config.password, self.keys) or None
        except KeyReferenceError as error:
            raise Problem(f"{error} (journal.password)") from error
        try:
            return await in_daemon_thread(self.reactor, SERVER_SECONDS, partial(work, self.config.url, password, *more))
        except CannotUse as error:
            raise Problem(str(error)) from error


async def _judged(judge: Callable[[ServerFacts], str], facts: ServerFacts) -> str:
    return judge(facts)


def judge_server(facts: ServerFacts, url: str) -> str:
    """Say which server answers. Raises Problem, or Unclear for a version that nobody tried."""
    if facts.version < OLDEST * _MAJOR:
        raise Problem(too_old(facts.version))
    if facts.is_pooled:
        raise Problem(POOLED)
    encoding = facts.settings["server_encoding"]
    if encoding != "UTF8":
        raise Problem(wrong_encoding(encoding))
    version = f"PostgreSQL {facts.version // _MAJOR}.{facts.version % _MAJOR}"
    if facts.version // _MAJOR > NEWEST:
        raise Unclear(f"{version} answers, which is newer than {NEWEST}, the last that was tried")
    return f"{version} answers at {url}"


def judge_tables(facts: ServerFacts) -> str:
    """Say whether the tables are there. Raises Problem when they cannot be used or made."""
    if facts.tables > len(STEPS):
        raise Problem(newer_tables(facts.tables, len(STEPS)))
    if not facts.schema:
        raise Problem(
            "the search path of journal.url names no schema that is there: make it with CREATE SCHEMA, or correct "
            "the url"
        )
    if 0 < facts.tables < len(STEPS) and not facts.may_create:
        raise Problem(
            f"this role may not make the tables that are new in this version: as the owner of schema {facts.schema}, "
            f"type GRANT CREATE ON SCHEMA {facts.schema} TO the_role"
        )
    if not facts.tables and not facts.may_create:
        raise Problem(
            f"this role may not make tables in schema {facts.schema}: as the owner of the database, type "
            "CREATE SCHEMA mud AUTHORIZATION the_role, and add ?options=-csearch_path%3Dmud to journal.url"
        )
    state = "the tables are" if facts.tables else "the tables will be made"
    return f"{state} in schema {facts.schema}"


def judge_durability(facts: ServerFacts) -> str:
    """Say how long a commit takes. Raises Problem when one may be lost, Unclear when damage would not be noticed."""
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if facts.settings[name] == "off":
            raise Problem(
                f"{name} is off, so what the server has confirmed may be lost when its machine crashes: set {name} = "
                "on in postgresql.conf, and reload it"
            )
    took = f"a commit takes {facts.commit_seconds * 1000:.1f} ms"
    if facts.commit_seconds > SLOW_COMMIT:
        raise Unclear(f"{took}, which is felt in every answer: see the disk of the server, and the way to it")
    if facts.settings["data_checksums"] != "on":
        raise Unclear(
            f"{took}; the server has no data checksums, so it may not notice a damaged disk: stop it and run "
            "pg_checksums --enable"
        )
    return f"{took}, and is on disk then"


def judge_room(facts: ServerFacts) -> str:
    """Say how many connections are free. Raises Unclear when the next process may find none."""
    if facts.free < NEEDED_CONNECTIONS:
        raise Unclear(
            f"{facts.free} of {facts.connections} connections are free, and a process takes up to "
            f"{NEEDED_CONNECTIONS}: raise max_connections of the server, or end other programs that use it"
        )
    return f"{facts.free} of {facts.connections} connections are free"
