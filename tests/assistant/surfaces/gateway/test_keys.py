"""The command that makes keys, through the parser of the whole command."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.command_line import parser
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.gateway.keys import KeyStore
from mud_assistant.assistant.journal import StoredUsage
from mud_assistant.assistant.journal.files import connect, create
from mud_assistant.assistant.journal.place import PostgresPlace
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.service.usage_store import UsageStore
from mud_assistant.assistant.surfaces.gateway.keys import keys_options, run_keys
from mud_assistant.assistant.surfaces.journal.copying import copy_journal
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from tests.assistant.journal.keeping import opened

NOON = 1_795_348_800.0  # 2026-11-22 12:00 UTC


def run(folder: Path, *arguments: str) -> str:
    """What the command prints."""
    settings = folder / "assistant.toml"
    if not settings.exists():
        settings.write_text(
            '[journal]\nfile = "j"\n[gateway]\nkeys = "mine.json"\n[gateway.models.small]\nmodel = "x"\n'
        )
    options = parser().parse_args(["gateway", "keys", *arguments, "--config", str(settings)])
    told: list[str] = []
    assert run_keys(keys_options(options), told.append, NOON) == 0
    return "\n".join(told)


def test_a_key_is_made_listed_shown_and_revoked(tmp_path: Path) -> None:
    assert "There are no keys" in run(tmp_path, "list")
    limits = ("--models", "small", "--money-per-day", "1.50", "--calls-per-month", "900", "--expires", "2027-01-31")
    told = run(tmp_path, "add", "laptop", *limits, "--note", "Ann's", "--at-once", "3")
    (secret,) = re.findall(r"^  (mak_\S+)$", told, re.MULTILINE)
    (key,) = KeyStore(tmp_path / "mine.json").load().keys
    assert key.is_of(secret)
    run(tmp_path, "add", "x")
    assert run(tmp_path, "list").splitlines() == [
        "laptop  in use  1.50 money a day; 900 calls a month; only small; 3 at once; until 2027-01-31  Ann's",
        "x       in use  no limit",
    ]
    assert "made on 2026-11-22" in run(tmp_path, "show", "laptop")
    assert "was revoked: it is not taken" in run(tmp_path, "revoke", "laptop")
    assert "was revoked before" in run(tmp_path, "revoke", "laptop")
    assert run(tmp_path, "list").startswith("laptop  revoked")
    for shown in (run(tmp_path, "list"), run(tmp_path, "show", "laptop"), (tmp_path / "mine.json").read_text()):
        assert secret[-43:] not in shown


def test_a_model_that_is_not_offered_is_pointed_out(tmp_path: Path) -> None:
    assert "has no large; it has: small" in run(tmp_path, "add", "a", "--models", "small,large")


async def test_show_tells_what_was_used_today_and_this_month(tmp_path: Path, reactor: Any) -> None:
    run(tmp_path, "add", "laptop")
    assert "used: nothing yet" in run(tmp_path, "show", "laptop")
    wall = Clock()
    wall.advance(NOON - 3 * 86_400)
    async with opened(tmp_path / "j", reactor) as store:
        ledger = Ledger(wall.seconds, wall.seconds)
        keeping = UsageStore(ledger, StoredUsage(store))
        await keeping.restore()
        for money in (1.0, 0.25):
            account = Account("key:laptop", Allowance())
            ledger.reserve([account], Amount(1)).settle(Amount(1, 100, money))
            await keeping.keep(ledger.export())
            wall.advance(3 * 86_400)
    assert run(tmp_path, "show", "laptop").splitlines()[-2:] == [
        "  used today: 1 calls, 100 tokens, 0.2500 money",
        "  used in 2026-11: 2 calls, 200 tokens, 1.2500 money",
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        ("add",),
        ("add", "x", "--calls-per-day", "-1"),
        ("add", "x", "--calls-per-day", "many"),
        ("add", "x", "--money-per-day", "inf"),
        ("add", "x", "--money-per-month", "nan"),
        ("add", "x", "--at-once", "0"),
        ("add", "x", "--expires", "31.1.2027"),
        ("add", "x", "--models", ","),
        ("rename", "x"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_usage(
    tmp_path: Path, wrong: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["gateway", "keys", *wrong])
    assert "usage: mud-assistant gateway keys" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [("add", "a b"), ("show", "nobody"), ("revoke", "nobody")])
def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path, wrong: tuple[str, ...]) -> None:
    with pytest.raises(AssistantError, match="key"):
        run(tmp_path, *wrong)


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["gateway", "keys", "--help"])
    told = capsys.readouterr().out
    assert "mud-assistant gateway keys add laptop --money-per-day 1.50" in told
    assert "Exit status" in told


async def test_show_reads_what_was_used_from_a_database(tmp_path: Path, postgres_url: str) -> None:
    run(tmp_path, "add", "laptop")
    create(tmp_path / "j", SCHEMA)
    with closing(connect(tmp_path / "j")) as db:
        db.execute("INSERT INTO usage VALUES (?, 'key:laptop', 2, 100, 0.5)", (int(NOON // 86_400),))
    copy_journal(tmp_path / "j", PostgresPlace(postgres_url), NOON)
    settings = (tmp_path / "assistant.toml").read_text().replace('file = "j"', f'url = "{postgres_url}"')
    (tmp_path / "assistant.toml").write_text(settings)
    assert "  used today: 2 calls, 100 tokens, 0.5000 money" in run(tmp_path, "show", "laptop")
