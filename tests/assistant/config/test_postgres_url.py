"""The address of a PostgreSQL database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mud_assistant.assistant.config.postgres_url import EXAMPLE, parse_postgres_url
from mud_assistant.assistant.config.settings import SettingsError, read_settings

PASSWORD = "hunter2-and-more"
#: Enough to write every part of an address, and to confuse two readers of it.
_PIECES = (
    "user",
    "h",
    "db",
    "1",
    "5432",
    "host",
    "password",
    "sslmode",
    *":@/?#&=,%[]+",
    "%40",
    "%2F",
    "p%61ssword",
    "::1",
)


def settings(folder: Path, text: str) -> str:
    path = folder / "assistant.toml"
    path.write_text(f"[journal]\n{text}")
    with pytest.raises(SettingsError) as failed:
        read_settings(path, {})
    return str(failed.value)


def test_the_parts_of_an_address() -> None:
    url = parse_postgres_url(
        "postgres://m%40ud@db.example:5433,[::1]/m%2Fud?application_name=a&target_session_attrs=any"
    )
    assert (url.user, url.hosts, url.database) == ("m@ud", ("db.example", "::1"), "m/ud")
    assert url.option("target_session_attrs") == "any"
    assert url.option("sslmode") == ""


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://mud:{PASSWORD}@db.example/mud",
        f"postgresql://:{PASSWORD}@db.example/mud",
        f"postgresql://mud:{PASSWORD}/@db.example/mud",
        f"postgresql://mud:1?sslmode={PASSWORD}@db.example/mud",
        f"postgresql://mud:{PASSWORD}@a@db.example/mud",
        f"postgresql://mud@db.example/mud?password={PASSWORD}",
        f"postgresql://mud@db.example/mud?p%61ssword={PASSWORD}",
        f"postgresql://mud@db.example/mud?sslpassword={PASSWORD}",
    ],
)
def test_a_password_is_refused_with_what_to_do_and_never_repeated(tmp_path: Path, text: str) -> None:
    told = settings(tmp_path, f"url = {json.dumps(text)}")
    assert "journal.url" in told
    assert 'password = "env:NAME"' in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "text",
    [
        f"host=db.example password={PASSWORD}",
        f"mysql://mud:{PASSWORD}@db.example/mud",
        f"postgresql://mud@db.example/mud#{PASSWORD}",
        f"postgresql://db.example:{PASSWORD}/mud",
        f"postgresql://db.example/mud/{PASSWORD}",
        f"postgresql://db.example/mud?{PASSWORD}",
        f"postgresql://db.example/mud?options=-cx={PASSWORD}",
        f"postgresql://db.example/mud {PASSWORD}",
        f"postgresql://db.example/%db{PASSWORD}",
    ],
)
def test_what_is_no_address_is_refused_and_never_repeated(tmp_path: Path, text: str) -> None:
    told = settings(tmp_path, f"url = {json.dumps(text)}")
    assert told.startswith(f"{tmp_path}/assistant.toml, line 2: journal.url: ")
    assert "hunter2" not in told


@pytest.mark.parametrize("port", ["0", "65536", "99999", "x"])
def test_a_port_that_is_none(port: str) -> None:
    with pytest.raises(ValueError, match="a port of at most 65535"):
        parse_postgres_url(f"postgresql://db.example:{port}/mud")


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (EXAMPLE, "verify-full"),
        ("postgresql:///mud", "verify-full"),  # libpq may take the host from PGHOST
        ("postgresql://localhost,db.example/mud", "verify-full"),
        ("postgresql://localhost/mud?host=db.example", "verify-full"),
        ("postgresql://localhost/mud?host=", "verify-full"),
        ("postgresql://localhost/mud?hostaddr=192.0.2.1", "verify-full"),
        (f"{EXAMPLE}?sslmode=require", None),
        (f"{EXAMPLE}?ssl=true", None),
        ("postgresql://mud@localhost:5433/mud", None),
        ("postgresql://127.0.0.1,[::1]/mud", None),
        ("postgresql://%2Frun%2Fpostgresql/mud", None),
        ("postgresql:///mud?host=/run/postgresql", None),
        ("postgresql://db.example/mud?hostaddr=127.0.0.1", None),
    ],
)
def test_a_server_elsewhere_must_prove_who_it_is(text: str, mode: str | None) -> None:
    psycopg = pytest.importorskip("psycopg")
    given, found = (psycopg.conninfo.conninfo_to_dict(url) for url in (text, parse_postgres_url(text).for_libpq))
    assert found == (given | {"sslmode": mode} if mode else given)


def test_a_journal_has_one_place(tmp_path: Path) -> None:
    assert "leave file out to use PostgreSQL" in settings(tmp_path, f'file = "a"\nurl = "{EXAMPLE}"')
    assert "set url as well" in settings(tmp_path, 'file = "a"\npassword = "env:DB"')


def test_a_password_is_given_by_reference(tmp_path: Path) -> None:
    told = settings(tmp_path, f'url = "{EXAMPLE}"\npassword = "{PASSWORD}"')
    assert "line 3: journal.password: a key is given by reference" in told
    assert "hunter2" not in told
    path = tmp_path / "assistant.toml"
    path.write_text(f'[journal]\nurl = "{EXAMPLE}"\npassword = "env:DB"')
    journal = read_settings(path, {}).journal
    assert (journal.url, journal.password, journal.file) == (EXAMPLE, "env:DB", "")


@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
@example("user:1?sslmode=h@host/db")
@example("h/db?%70assword=1")
@example("h/db?host=")
@example("user@h,%2F:1/db?host=h&host=db")
def test_libpq_finds_the_same_in_every_address_that_is_accepted(rest: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    try:
        url = parse_postgres_url(f"postgresql://{rest}")
    except ValueError:
        assume(False)
    try:
        found = psycopg.conninfo.conninfo_to_dict(url.text)
    except psycopg.ProgrammingError:
        return  # it is refused a second time, when it is used
    assert "password" not in found
    ours = {"user": url.user, "dbname": url.database, "host": ",".join(url.hosts)} | dict(url.options)
    assert {name: found.get(name, "") for name in ours} == ours
