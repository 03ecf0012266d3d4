"""The page of keys: usable by everybody, and what others wrote stays text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.page.ports import InvalidInput, NotAllowed
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from mud_assistant.assistant.page.views.control import routes
from mud_assistant.assistant.page.views.control.gateway_keys import KeysShown, keys_page
from mud_assistant.resilience import Allowance, Amount
from tests.assistant.page.checks import HOSTILE, check_page
from tests.assistant.page.desk import MemoryDesk, ask, call, visitor
from tests.assistant.page.views.stocked import stocked

PATH = "/money/keys"


def key(text: str = "laptop", **changes: object) -> GatewayKeyView:
    found = GatewayKeyView(
        name=text, state="in use", may=text, note=text, models=(text,), at_once=64, per_second=100, created=0.0,
        today=Amount(calls=1, tokens=10, money=0.5), month=Amount(calls=9, tokens=90, money=4.5),
    )  # fmt: skip
    return replace(found, **changes)


@pytest.mark.parametrize("prefix", ["", "/assistants"])
def test_it_can_be_used_by_keyboard_and_reader(prefix: str) -> None:
    asked = call(PATH, prefix=prefix)
    keys = (key(), key("old", state="revoked", revoked=5.0), key("new", today=None, month=None))
    made = GatewayKeyMade(name="x", secret="mak_secret", sentence="It was made.")
    for shown in (KeysShown(), KeysShown(made), KeysShown(None, {"name": "x", "expires": "y"}, InvalidInput("No."))):
        check_page(keys_page(asked, keys, shown), prefix=prefix)
    check_page(keys_page(asked, (), KeysShown()), prefix=prefix)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_others_wrote_stays_text(text: str) -> None:
    made = GatewayKeyMade(name=text, secret=text, sentence=text)
    shown = KeysShown(made, {"name": text, "note": text}, InvalidInput(text))
    check_page(keys_page(call(PATH), (key(text), key(text, state=text)), shown), prefix="")


def test_a_form_becomes_a_key() -> None:
    desk = MemoryDesk()
    fields = {
        "do": "add", "name": " school ", "money_day": "1.50", "calls_month": "900", "models": "a, b,,a",
        "expires": "2027-01-31", "note": "Room 3",
    }  # fmt: skip
    reply = ask(routes(desk), call(PATH, form=fields), PATH)
    assert b"mak_of_a_test" in reply.body
    assert desk.done == [
        ("add_gateway_key", NewGatewayKey(
            name="school", models=("a", "b"), per_day=Allowance(money=1.5), per_month=Allowance(calls=900),
            expires="2027-01-31", note="Room 3",
        )),
    ]  # fmt: skip


def test_only_a_key_in_use_can_be_revoked_and_only_by_an_owner() -> None:
    desk = MemoryDesk(key_values=[key(), key("old", state="revoked", revoked=5.0)])
    page = ask(routes(desk), call(PATH), PATH).body.decode()
    assert page.count('value="revoke"') == 1
    reply = ask(routes(desk), call(PATH, form={"do": "revoke", "name": "laptop"}), PATH)
    assert (reply.status, desk.done) == (303, [("revoke_gateway_key", "laptop")])
    with pytest.raises(NotAllowed):
        ask(routes(desk), call(PATH, who=visitor(VisitorRole.OPERATOR)), PATH)
    money = "/money"
    seen = [ask(routes(stocked()), call(money, who=visitor(role)), money).body for role in VisitorRole]
    assert [b"/money/keys" in body for body in seen] == [False, False, True]


def test_the_secret_of_a_key_stands_in_no_log() -> None:
    made = GatewayKeyMade(name="laptop", secret="planted", sentence="It was made.")
    assert ("laptop" in f"{made!r}", "planted" in f"{made!r}") == (True, False)
