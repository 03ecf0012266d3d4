"""The keys of programs that use the gateway: what each may do and what it used. One is made and shown, or revoked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput, PageError
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import money, number
from mud_assistant.assistant.page.views.forms import action_form, post_form, submit, text_field
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.parts import (
    TableColumn,
    card,
    code_block,
    link,
    more_of,
    notice,
    path_to,
    pill,
    table,
)
from mud_assistant.assistant.page.views.shared import failure, html
from mud_assistant.resilience import Allowance, Amount

_WAY = ("money", "keys")
_TONES = {"in use": "ok", "revoked": "quiet", "expired": "warn"}
#: The most digits of a limit.
_MAX_DIGITS = 15
_FIELDS = (
    "name", "note", "models", "money_day", "money_month", "calls_day", "calls_month", "tokens_day", "tokens_month",
    "expires",
)  # fmt: skip


class KeysShown(Struct, frozen=True):
    """What is shown beside the keys: a key just made, or what was typed and why it was refused."""

    made: GatewayKeyMade | None = None
    typed: Mapping[str, str] | None = None
    error: PageError | None = None


def routes(desk: Desk) -> list[Route]:
    """Return the routes of the keys."""

    async def show(call: PageCall) -> Reply | StreamReply:
        return await _answer(desk, call, KeysShown())

    async def change(call: PageCall) -> Reply | StreamReply:
        form = call.form
        try:
            match form.get("do", ""):
                case "add":
                    made = await desk.add_gateway_key(call.visitor, _new_key(form))
                    return await _answer(desk, call, KeysShown(made))
                case "revoke":
                    done = await desk.revoke_gateway_key(call.visitor, form.get("name", ""))
                    return flash(call, done.sentence, *_WAY)
            raise InvalidInput("This form says nothing that can be done. Load the page again.")
        except PageError as error:
            typed = {name: form.get(name, "") for name in _FIELDS} if form.get("do") == "add" else None
            return await _answer(desk, call, KeysShown(None, typed, error))

    return [
        Route("GET", "/money/keys", show, needs=VisitorRole.OWNER),
        Route("POST", "/money/keys", change, needs=VisitorRole.OWNER),
    ]


async def _answer(desk: Desk, call: PageCall, shown: KeysShown) -> Reply:
    """Return the page with the keys as they are now. One just made is shown though they cannot be read."""
    try:
        keys = await desk.gateway_keys(call.visitor)
    except PageError as error:
        return html(keys_page(call, (), KeysShown(shown.made, shown.typed, shown.error or error)), shown.error or error)
    return html(keys_page(call, keys, shown), shown.error)


def _new_key(form: Mapping[str, str]) -> NewGatewayKey:
    """Return the key that a form describes. Raises InvalidInput."""
    per_day, per_month = (
        Allowance(calls=_whole(form, f"calls_{span}"), tokens=_whole(form, f"tokens_{span}"), money=_money(form, span))
        for span in ("day", "month")
    )
    models = (each.strip() for each in form.get("models", "").split(","))
    return NewGatewayKey(
        name=form.get("name", "").strip(),
        models=tuple(dict.fromkeys(model for model in models if model)),
        per_day=per_day,
        per_month=per_month,
        expires=form.get("expires", "").strip(),
        note=form.get("note", "").strip(),
    )


def _whole(form: Mapping[str, str], name: str) -> int | None:
    text = form.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidInput(f"{name.replace('_', ' a ').capitalize()}: give a whole number, or nothing for no limit.")
    return int(text)


def _money(form: Mapping[str, str], span: str) -> float | None:
    text = form.get(f"money_{span}", "").strip()
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < inf:
        raise InvalidInput(f"Money a {span}: give an amount such as 1.50, or nothing for no limit.")
    return amount


def keys_page(call: PageCall, keys: Sequence[GatewayKeyView], shown: KeysShown) -> bytes:
    """Return the page of keys."""
    return page(
        call,
        "Gateway keys",
        failure(shown.error) if shown.error else None,
        _made(shown.made) if shown.made else None,
        card("Keys", _table(call, keys)),
        card("Make a key", _form(call, shown.typed or {})),
        current="money",
        crumbs=(("Money", path_to(call, "money")),),
        lead=(
            "Programs that use the gateway show a key. What they use stands here and ",
            link(call, "among the money, by key", "money", by="key"),
            ". While no key was ever made, programs on this machine need none.",
        ),
    )


def _made(made: GatewayKeyMade) -> Element:
    return card(
        f"The secret of {made.name}",
        notice(made.sentence, tone="ok"),
        code_block(made.secret, f"The secret of {made.name}"),
        h("p", "Copy it now: it is kept nowhere, and this page cannot show it again.", class_="quiet"),
    )


def _table(call: PageCall, keys: Sequence[GatewayKeyView]) -> Element:
    columns = (
        "Key",
        "State",
        TableColumn("May use", is_wide=True),
        TableColumn("Today", is_number=True),
        TableColumn("This month", is_number=True),
        "",
    )
    rows = [
        (
            (h("strong", key.name), h("p", key.note, class_="quiet") if key.note else None),
            pill(key.state, _TONES.get(key.state)),
            key.may,
            _used(key.today),
            _used(key.month),
            _revoke(call, key) if key.revoked is None else None,
        )
        for key in keys
    ]
    return table("Keys of programs", columns, rows, empty="There are no keys.")


def _used(used: Amount | None) -> Element:
    if used is None:
        return h("span", "not known", class_="quiet")
    return h("span", money(used.money), title=f"{number(used.calls)} calls, {number(used.tokens)} tokens")


def _revoke(call: PageCall, key: GatewayKeyView) -> Element:
    return action_form(
        call,
        path_to(call, *_WAY),
        "revoke",
        "Revoke",
        fields={"name": key.name},
        tone="quiet-danger",
        confirm=f"Revoke the key {key.name}? Programs that use it are refused at once, for good.",
        needs=VisitorRole.OWNER,
    )


def _form(call: PageCall, typed: Mapping[str, str]) -> Element:
    def limit(name: str, label: str) -> Element:
        return text_field(name, label, typed.get(name, ""), placeholder="no limit")

    return post_form(
        call,
        path_to(call, *_WAY),
        text_field("name", "Name", typed.get("name", ""), required=True, hint="1 to 40 letters, digits, _ and -"),
        limit("money_day", "Money a day"),
        limit("money_month", "Money a month"),
        more_of(
            "More limits",
            [limit(f"{what}_{span}", f"{what.capitalize()} a {span}") for what in ("calls", "tokens")
             for span in ("day", "month")],
            text_field("models", "Only these models", typed.get("models", ""), hint="With commas; empty for all."),
            text_field("expires", "Last day", typed.get("expires", ""), kind="date", hint="In UTC."),
            text_field("note", "Note", typed.get("note", ""), hint="Whose it is."),
            is_open=any(typed.get(name) for name in _FIELDS[5:] + _FIELDS[1:3]),
        ),
        h("div", submit("Make the key", "primary"), class_="actions"),
        fields={"do": "add"},
    )  # fmt: skip
