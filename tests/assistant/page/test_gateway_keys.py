"""Keys of programs on the page and over the API: an owner's alone, and a secret is shown once."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from mud_assistant.assistant.gateway.keys import KeyStore
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.operations.records import JournalRecords
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import NotAllowed
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.page.values.keys import NewGatewayKey
from mud_assistant.assistant.surfaces.serve.run import JournalHost
from mud_assistant.resilience import Account, Allowance, Amount
from tests.assistant.living import reactor
from tests.assistant.page.desk import visitor
from tests.assistant.page.served import Served, served
from tests.assistant.page.test_leaks import everything, leaks, logged

pytestmark = pytest.mark.usefixtures("reactor_baseline")
NEW = {"name": "laptop", "per_day": {"money": 1.5}, "models": ["small"], "expires": "2037-01-31", "note": "Ann's"}
SECRET = re.compile(r"mak_[0-9a-f]{12}_[\w-]{43}")


def files(folder: Path) -> dict[str, bytes]:
    """Every file there, the journal too."""
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


async def made(page: Served, new: dict[str, Any]) -> str:
    got = await page.api("owner", "POST", "/gateway/keys", new)
    assert got.status == 200, got
    secret: str = orjson.loads(got.body)["secret"]
    return secret


async def test_a_program_of_the_owner_makes_lists_and_revokes_keys(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        assert await page.values("owner", "/gateway/keys") == []
        secret = await made(page, NEW)
        store = KeyStore(page.here.service.config.folder / "gateway-keys.json")
        assert store.load().named("laptop").is_of(secret)
        ledger = page.here.service.parts.ledger
        ledger.reserve([Account("key:laptop", Allowance())], Amount(1)).settle(Amount(1, 100, 0.25))
        (key,) = await page.values("owner", "/gateway/keys")
        assert (key["name"], key["state"], key["note"], key["today"]) == (
            "laptop", "in use", "Ann's", {"calls": 1, "tokens": 100, "money": 0.25},
        )  # fmt: skip
        assert key["may"] == "1.50 money a day; only small; until 2037-01-31"
        assert key["month"] == key["today"]
        assert (await page.api("owner", "DELETE", "/gateway/keys/laptop")).status == 200
        assert store.load().named("laptop").revoked is not None
        assert (await page.values("owner", "/gateway/keys"))[0]["state"] == "revoked"
        assert (await page.api("owner", "DELETE", "/gateway/keys/other")).status == 404
        rows = (await page.values("viewer", "/usage?by=key"))["rows"]
        assert [(row["key"], row["used"]["money"]) for row in rows if row["key"]] == [("laptop", 0.25)]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"name": "a b"},
        {"name": "anyone"},
        {"name": "x", "per_day": {"money": -1}},
        {"name": "x", "per_month": {"calls": -1}},
        {"name": "x", "per_month": {"cals": 1}},
        {"name": "x", "at_once": 0},
        {"name": "x", "expires": "soon"},
        {"name": "x", "models": [""]},
        {"name": "x", "more": 1},
    ],
)
async def test_a_key_that_cannot_be_is_not_made(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with served(tmp_path) as page:
        assert (await page.api("owner", "POST", "/gateway/keys", wrong)).status == 422
        assert await page.values("owner", "/gateway/keys") == []


async def test_only_an_owner_sees_and_changes_keys(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await made(page, NEW)
        for role in ("viewer", "operator"):
            for method, path in (("GET", ""), ("POST", ""), ("DELETE", "/laptop")):
                assert (await page.api(role, method, f"/gateway/keys{path}", NEW)).status == 403
        assert (await page.values("owner", "/gateway/keys"))[0]["state"] == "in use"


async def test_a_person_makes_a_key_by_a_form_that_shows_its_secret_once_and_revokes_it(tmp_path: Path) -> None:
    with logged() as log:
        async with served(tmp_path) as page:
            await page.log_in()
            assert "/money/keys" in (await page.visiting.get("/money")).text
            fields = {"do": "add", "name": "laptop", "money_day": "1.50", "tokens_month": "9000", "models": "a, b"}
            got = await page.visiting.submit("/money/keys", fields)
            assert got.status == 200, got
            assert got.headers["cache-control"] == "no-store"
            (secret,) = SECRET.findall(got.text)
            store = KeyStore(page.here.service.config.folder / "gateway-keys.json")
            key = store.load().named("laptop")
            assert key.is_of(secret)
            assert (key.limits.day, key.limits.month) == (Allowance(money=1.5), Allowance(tokens=9000))
            assert key.limits.models == ("a", "b")
            again = await page.visiting.submit("/money/keys", fields)
            assert again.status == 422
            assert "there is a key laptop already" in html.unescape(again.text)
            assert 'value="1.50"' in again.text
            shown = await everything(page)
            assert b"laptop" in shown["/money/keys"]
            done = await page.visiting.submit("/money/keys", {"do": "revoke", "name": "laptop"})
            assert done.status == 303
            assert store.load().named("laptop").revoked is not None
            shown["again"] = again.body
            await page.here.service.pipeline.write_ledger()
        shown["log"] = log.getvalue().encode()
    assert b"makes the key laptop" in shown["log"]
    assert leaks({**shown, **files(tmp_path)}, secret[17:].encode()) == {}


async def test_a_form_without_the_token_of_the_session_makes_no_key(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await page.log_in()
        page.visiting.csrf = "forged"
        got = await page.visiting.submit("/money/keys", {"do": "add", "name": "laptop"})
        assert got.status == 403
        assert await page.values("owner", "/gateway/keys") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"do": "add", "name": "x", "money_day": "much"},
        {"do": "add", "name": "x", "money_day": "nan"},
        {"do": "add", "name": "x", "calls_month": "-1"},
        {"do": "add", "name": "x", "money_day": "-1"},
        {"do": "add", "name": "x", "money_day": "inf"},
        {"do": "add", "name": "x", "expires": "2037-13-01"},
        {"do": "add"},
        {"do": "rename", "name": "x"},
    ],
)
async def test_a_form_that_cannot_be_meant_is_explained(tmp_path: Path, fields: dict[str, str]) -> None:
    async with served(tmp_path) as page:
        await page.log_in()
        got = await page.visiting.submit("/money/keys", fields)
        assert got.status == 422, got
        assert SECRET.search(got.text) is None


async def test_a_broken_file_of_keys_is_told_and_left_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        file = page.here.service.config.folder / "gateway-keys.json"
        file.write_bytes(b"broken")
        await page.log_in()
        got = await page.visiting.get("/money/keys")
        assert got.status == 503
        assert "is not a file of keys" in got.text
        assert (await page.visiting.submit("/money/keys", {"do": "add", "name": "x"})).status == 422
        assert file.read_bytes() == b"broken"


async def test_where_a_journal_is_only_looked_at_no_key_is_shown_or_made(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        service = page.here.service
        reader = JournalReader(service.config.journal, reactor)
        host = JournalHost(reader)
        desk = Desk(Sources(service, host, JournalRecords(reader, service, host.names), "1", lambda: 0.0))
        with pytest.raises(NotAllowed, match="only looked at"):
            await desk.gateway_keys(visitor())
        with pytest.raises(NotAllowed, match="only looked at"):
            await desk.add_gateway_key(visitor(), NewGatewayKey(name="x"))
        reader.close()
    assert not any("gateway-keys" in file for file in files(tmp_path))
