"""Reads the address of a PostgreSQL database as owners write it, and refuses one that holds a secret. Pure.

It accepts less than libpq does, so that both always agree where the user, the hosts and the options begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from mud_assistant.assistant.http_server.addresses import is_loopback

#: An example for owners.
EXAMPLE = "postgresql://mud@db.example/mud"
_BEGINNING = re.compile(r"postgres(?:ql)?://")
_WHOLE = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:@/?#]*)@)?(?P<hosts>[^@/?#]*)(?:/(?P<database>[^@/?#]*))?(?:\?(?P<options>[^@#]*))?"
)
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::(?P<port>\d{1,5})?)?")
#: Options of libpq whose value is a secret.
_SECRETS = {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
_LAST_PORT = 65_535
_REMEDY = (
    "a password is never written into the url, which others see: take it out, and say where it is with "
    'password = "env:NAME", "file:PATH" or "keyring:NAME"; libpq also looks into ~/.pgpass'
)


class PostgresUrl(Struct, frozen=True):
    """The address of a database, without any secret. `text` may be shown; libpq is given `for_libpq`."""

    text: str
    user: str
    #: Names, addresses or folders of sockets, without their ports; empty for libpq's own choice.
    hosts: tuple[str, ...]
    database: str
    options: tuple[tuple[str, str], ...]

    def option(self, name: str) -> str:
        """Return the value of an option of libpq, empty when the url does not set it."""
        return next((value for option, value in reversed(self.options) if option == name), "")

    @property
    def is_local(self) -> bool:
        """Whether every host is a socket or a loopback address of this machine. False where the url names none."""
        hosts = self.hosts
        for named in (value for option in ("host", "hostaddr") for name, value in self.options if name == option):
            hosts = tuple(named.split(","))
        return bool(hosts) and all(map(_is_local, hosts))

    @property
    def for_libpq(self) -> str:
        """The url with `sslmode=verify-full`, by which a server elsewhere must prove who it is, unless it sets sslmode.

        libpq asks no proof of a server behind a socket, so where no host is named the option does no harm.
        """
        if self.option("sslmode") or self.option("ssl") or self.is_local:
            return self.text
        return f"{self.text}{'&' if '?' in self.text else '?'}sslmode=verify-full"


def parse_postgres_url(text: str) -> PostgresUrl:
    """Return the parts of a url. Raises ValueError, which never repeats the url: it may hold a password."""
    if not _BEGINNING.match(text):
        raise ValueError(f"give the address of a PostgreSQL database, such as {EXAMPLE}")
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError("an address has no spaces and only plain characters: write others as %20 is written")
    user, at, _ = _BEGINNING.sub("", text, count=1).partition("@")
    if at and ":" in user:
        raise ValueError(_REMEDY)
    found = _WHOLE.fullmatch(text)
    if found is None:
        raise ValueError(f"write it like {EXAMPLE}, and the signs @ / ? # in names as %40 %2F %3F %23")
    options = tuple(_options(found["options"] or ""))
    if _SECRETS & {name for name, _ in options}:
        raise ValueError(_REMEDY)
    hosts = tuple(_hosts(found["hosts"]))
    return PostgresUrl(text, _decoded(found["user"] or ""), hosts, _decoded(found["database"] or ""), options)


def _hosts(written: str) -> Iterator[str]:
    """Yield the hosts of a list. Raises ValueError."""
    for host in written.split(",") if written else ():
        found = _HOST.fullmatch(host)
        if found is None or int(found["port"] or 1) not in range(1, _LAST_PORT + 1):
            raise ValueError(
                f"what follows a host after a colon is a port of at most {_LAST_PORT}, as in db.example:5432"
            )
        yield _decoded(found["name"].strip("[]"))


def _options(written: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the options. Raises ValueError."""
    for option in written.split("&") if written else ():
        name, equals, value = option.partition("=")
        if not (name and equals) or "=" in value:
            raise ValueError(
                "what follows the ? is written as name=value&name=value, with other signs = and & as %3D %26"
            )
        yield _decoded(name), _decoded(value)


def _decoded(written: str) -> str:
    """Return what is written with percent signs. Raises ValueError."""
    try:
        return unquote(written, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("what is written with % is UTF-8, as %C3%A9 for an e with an acute accent") from None


def _is_local(host: str) -> bool:
    """Tell whether a host is a socket or this machine's loopback."""
    return host.startswith(("/", "@")) or is_loopback(host)
