"""Says in one sentence why a PostgreSQL database cannot be used, with the cure. Pure, and needs no driver.

An error in a session has a code: https://www.postgresql.org/docs/current/errcodes-appendix.html. For an error while
connecting libpq gives only its text, so that is what the second table looks at; a server that speaks another language
than English is quoted as it is.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.errors import AssistantError

#: The oldest and the newest version of the server that the journal was tried with.
OLDEST, NEWEST = 13, 18
#: Shown where the driver is not installed.
NO_DRIVER = "journal.url needs a package that is not here: pip install 'mud-assistant[postgres]'"
#: Shown for a replica.
REPLICA = (
    "the server is a replica, or read-only, and takes no writes: name the primary in journal.url, or all servers with "
    "commas between them, and the primary is found"
)
#: Shown for a pooler that gives every transaction another session.
POOLED = (
    "between here and the server is pgbouncer or the like, which gives each transaction another session, so locks are "
    "lost: set pool_mode = session there for this database, or name the server itself in journal.url"
)
_AT_WORK = "the server is starting or stopping: nothing is lost, and it is tried again until it is back"
_NO_ROOM = "no more connections: raise max_connections of the server, or end other programs that use it"
_CODES = {
    "25006": REPLICA,
    "28000": "the server does not let this user in ({told}): see its pg_hba.conf and the user in journal.url",
    "28P01": "the server refuses the password: see journal.password, or ~/.pgpass",
    "3D000": "there is no such database ({told}): make it with createdb, or name another in journal.url",
    "3F000": (
        "the search path of journal.url names no schema that is there: make it with CREATE SCHEMA, or correct the url"
    ),
    "42501": (
        "the role may not do this ({told}): as the owner of the database, give it a schema with "
        "CREATE SCHEMA mud AUTHORIZATION the_role, and name that in journal.url with ?options=-csearch_path%3Dmud"
    ),
    "53100": "the disk of the server is full: make room there; nothing is accepted until there is",
    "53200": "the server has not enough memory: see its shared_buffers and work_mem, and what else runs there",
    "53300": _NO_ROOM,
    "57P01": _AT_WORK,
    "57P02": _AT_WORK,
    "57P03": _AT_WORK,
    "57014": "the server did not finish in time: see what else keeps it busy, in pg_stat_activity",
    "58030": "the disk of the server reports an input/output error: see the log of the server",
    "XX001": "a table of the server is damaged: see the log of the server, and put a backup back",
    "XX002": "an index of the server is damaged: see the log of the server, then REINDEX the database",
}
#: Patterns of what libpq and servers say while connecting, the more special first: what stays so until somebody changes
#: the settings or the server.
_LASTING = (
    (r'password authentication failed for user "(?P<name>[^"]*)"',
     "the server refuses the password of {name}: see journal.password, or ~/.pgpass"),
    (r"no password supplied",
     'the server wants a password: say where it is with journal.password = "env:NAME", or put it into ~/.pgpass'),
    (r'Peer authentication failed for user "(?P<name>[^"]*)"',
     ("the server's socket lets a user of the machine in only as the role of the same name, not as {name}: run the "
      "program as that user, or name 127.0.0.1 in journal.url and give a password")),
    (r"no pg_hba\.conf entry for (?P<name>.*?no encryption)",
     "the server lets nobody in without TLS ({name}): add sslmode=verify-full to journal.url"),
    (r"pg_hba\.conf rejects connection for (?P<name>[^\n]*)",
     "the server lets no such connection in ({name}): see the line with reject in its pg_hba.conf"),
    (r"no pg_hba\.conf entry for (?P<name>[^\n]*)",
     "the server lets no such connection in ({name}): add a line for it to its pg_hba.conf, and reload it"),
    (r'role "(?P<name>[^"]*)" (?:does not exist|is not permitted)',
     "there is no role {name} that may log in: make it with createuser, or name another in journal.url"),
    (r'database "(?P<name>[^"]*)" does not exist',
     "there is no database {name}: make it with createdb, or name another in journal.url"),
    (r"no such database:? (?P<name>[^\n]*)",
     "the pooler knows no database {name}: add it to its list of databases, or name the server in journal.url"),
    (r"unsupported startup parameter",
     ("the pooler takes no options from journal.url: leave them out, and write ALTER ROLE the_role SET search_path = "
      "the_schema in their place")),
    (r"server does not support SSL|SSL was required",
     ("the server has no TLS: switch it on there, or, where the network between is safe, add sslmode=disable to "
      "journal.url")),
    (r'root certificate file "(?P<name>[^"]*)" does not exist',
     ("it is not known whom to trust, as there is no {name}: add sslrootcert=FILE to journal.url, with the certificate "
      "that signs the server's, or sslrootcert=system")),
    (r"certificate verify failed|does not match host name|certificate is not valid|has expired",
     "the server cannot prove who it is ({told}): see sslrootcert and the host in journal.url, and its certificate"),
    (r"invalid (?:URI|connection option|sslmode|port|integer)|missing \"=\"",
     "libpq cannot read journal.url ({told})"),
)  # fmt: skip
#: The same of what passes by itself, as far as anybody can tell.
_PASSING = (
    (r"too many clients already|remaining connection slots|too many connections|no more connections allowed",
     _NO_ROOM),
    (r"the database system is (?:starting|shutting|in recovery|not yet)", _AT_WORK),
    (r"session is read-only|hot standby mode|server is in recovery", REPLICA),
    (r"[Cc]onnection refused|[Nn]o such file or directory",
     "no server answers there ({told}): start it, or see the host and the port in journal.url"),
    (r"failed to resolve host|could not translate host name|Name or service not known",
     "there is no host of this name ({told}): see journal.url"),
    (r"timeout expired|timed out|connection timeout|[Nn]o route to host|[Nn]etwork is unreachable",
     "the server cannot be reached ({told}): see the host in journal.url, and firewalls between"),
    (r"closed the connection unexpectedly|connection reset|[Cc]onnection is lost|is closed|terminating connection",
     "the connection to the server broke: nothing is lost, and it is tried again until it is back"),
)  # fmt: skip
#: What the system says of a full disk or quota, whatever code the server makes of it.
_FULL = re.compile(r"No space left on device|Disk quota exceeded")
#: Codes of what stays so.
_LASTING_CODES = frozenset({"28000", "28P01", "3D000", "3F000", "42501"})
_LONGEST = 200


def explain(error: BaseException) -> str:
    """Return why the database cannot be used, without a full stop; what is not known is quoted."""
    if isinstance(error, AssistantError):
        return str(error)
    if isinstance(error, ImportError):
        return NO_DRIVER
    said = str(error)
    code = getattr(error, "sqlstate", None) or ""
    if _FULL.search(said):
        code = "53100"
    if sentence := _CODES.get(code):
        return sentence.format(told=_first_line(said))
    for pattern, sentence in (*_LASTING, *_PASSING):
        if found := re.search(pattern, said):
            return sentence.format(told=_around(said, found.start()), name=_short(found.groupdict().get("name") or ""))
    return _first_line(said) or type(error).__name__


def lasts(error: BaseException) -> bool:
    """Tell whether the database cannot be used until somebody changes the settings or the server.

    Of a sentence that is not known, as in another language, it counts that the server asked for a password.
    """
    said, code = str(error), getattr(error, "sqlstate", None)
    if code:
        return code in _LASTING_CODES
    if any(re.search(pattern, said) for pattern, _ in _LASTING):
        return True
    if any(re.search(pattern, said) for pattern, _ in _PASSING):
        return False
    line = getattr(error, "pgconn", None)
    return line is not None and bool(line.needs_password or line.used_password)


def too_old(version: int) -> str:
    """Return what is wrong with a server of this version, as the server counts (130004 is 13.4)."""
    return (
        f"the server is PostgreSQL {version // 10_000}, and {OLDEST} or later is needed: upgrade it with pg_upgrade, "
        "or name another in journal.url"
    )


def wrong_encoding(encoding: str) -> str:
    """Return what is wrong with a database that keeps text in another encoding than UTF-8."""
    return (
        f"the database holds its text as {encoding}, where not every player's words fit: make another with "
        "createdb --encoding=UTF8 --template=template0, take a journal that is there along with mud-assistant journal "
        "copy, and name the new one in journal.url"
    )


def newer_tables(found: int, known: int) -> str:
    """Return what is wrong with tables of a later version than this program knows."""
    return (
        f"its tables were made by a newer mud-assistant (version {found}, this one knows {known}): upgrade this "
        "program, or name another database or schema in journal.url"
    )


def older_tables(found: int, oldest: int) -> str:
    """Return what is wrong with tables so old that this program cannot bring them up to date."""
    return (
        f"its tables are of version {found}, and this program brings them up to date from version {oldest} on: start "
        "the mud-assistant between once, or name another database or schema in journal.url"
    )


def _around(said: str, place: int) -> str:
    """Return the line of a text that has this place, without libpq's introduction."""
    before, after = said[:place].rpartition("\n")[2], said[place:].partition("\n")[0]
    return _short((before + after).replace("connection failed: ", "").replace("connection is bad: ", ""))


def _first_line(said: str) -> str:
    return _short(next((line for line in said.splitlines() if line.strip()), ""))


def _short(text: str) -> str:
    """Return the text in one line, cut off where it is long."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
