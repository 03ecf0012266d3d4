"""The card of what an assistant does unasked: its promises, its reasons, and the switches that keep it still."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.values.actions import ActionDone
from mud_assistant.assistant.page.values.assistants import AssistantDetail, Overview
from mud_assistant.assistant.page.values.life_view import LifeView, PromiseLine
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import number, time_at
from mud_assistant.assistant.page.views.forms import action_form
from mud_assistant.assistant.page.views.parts import (
    Columns,
    TableColumn,
    card,
    link,
    more_of,
    path_to,
    pill,
    table,
    words,
)

_TONES = {"open": "info", "done": "ok", "withdrawn": "warn"}
_STATES = {"withdrawn": "cannot be kept", "told": "could not be kept"}


def life_card(call: PageCall, detail: AssistantDetail) -> Element:
    """Return the card of what one assistant does unasked."""
    life, key = detail.life, detail.status.id
    return card(
        "Promises and initiative",
        _promises(call, key, life),
        _reasons(life),
        h("p", f"By its day, {life.day}.", class_="quiet") if life.day else None,
        h("p", f"Autonomous: it may {', '.join(life.autonomous)} of its own accord.", class_="quiet")
        if life.autonomous
        else None,
        h("p", f"It does nothing of its own accord: {life.still}.", class_="quiet") if life.still else None,
        h("div", _switches(call, key, life), class_="actions"),
        id_="life",
    )


async def act_unasked(desk: Desk, call: PageCall) -> ActionDone:
    """Do what a button of the card says. Raises InvalidInput for any other."""
    who, key, promise = call.visitor, call.parts["id"], call.form.get("promise", "")
    match call.form.get("do"):
        case "drop" if promise:
            return await desk.drop_promise(who, key, promise)
        case "quiet" | "loud" as chosen:
            return await desk.want_quiet(who, key, on=chosen == "quiet")
        case "away" | "back" as chosen:
            return await desk.send_away(who, key, on=chosen == "away")
        case "plan":
            return ActionDone(sentence=(await desk.plan(who, key)).sentence)
    raise InvalidInput(
        "This page takes stop, start, reset, forget, forget_all, quiet, loud, away, back, plan, drop of a promise, and "
        "retry or clear of an event."
    )


def quiet_all(call: PageCall, overview: Overview) -> Element:
    """Return the button that lets all assistants be quiet, or ends it."""
    if overview.quiet:
        ask = "Let all assistants do things of their own accord again?"
        return action_form(call, path_to(call, ""), "loud", "End quiet", tone="primary", confirm=ask)
    return action_form(call, path_to(call, ""), "quiet", "Quiet all")


def _switches(call: PageCall, key: str, life: LifeView) -> list[Element]:
    path = path_to(call, "a", key)
    quiet = ("loud", "End quiet") if life.quiet else ("quiet", "Keep quiet")
    away = ("back", "Bring back") if life.away else ("away", "Send away")
    buttons = (quiet, away, ("plan", "What would impulses cost?"))
    return [action_form(call, path, do, label) for do, label in buttons]


def _promises(call: PageCall, key: str, life: LifeView) -> Element:
    rows = [
        (
            words(each.text) if each.text else h("span", "not shown to you", class_="quiet"),
            link(call, each.asker, "players", each.asker_id) if each.asker_id else each.asker,
            time_at(each.made_at),
            (pill(_STATES.get(each.state, each.state), _TONES.get(each.state, "quiet")), _why(each)),
            _drop(call, key, each) if each.number else None,
        )
        for each in life.promises
    ]
    columns: Columns = [
        TableColumn("Promised", is_wide=True),
        "To",
        "At",
        "State",
        TableColumn("", is_number=True),
    ]
    return table("Promises", columns, rows, empty="It has promised nothing.")


def _why(promise: PromiseLine) -> Element | None:
    return h("span", promise.why, class_="sub") if promise.why else None


def _drop(call: PageCall, key: str, promise: PromiseLine) -> Element:
    ask = "Drop this? It is then not done."
    fields = {"promise": promise.id}
    return action_form(call, path_to(call, "a", key), "drop", "Drop", fields=fields, tone="quiet-danger", confirm=ask)


def _reasons(life: LifeView) -> Element | None:
    if not life.reasons:
        return None
    rows = [
        (
            time_at(each.at, precise=True),
            words(each.what),
            pill("done", "ok") if each.taken else pill("not done", "quiet"),
            (each.why, h("span", f"{number(each.times)} times", class_="sub") if each.times > 1 else None),
        )
        for each in life.reasons
    ]
    columns: Columns = ["At", TableColumn("What", is_wide=True), "", TableColumn("Why", is_wide=True)]
    shown = table("Why something was done unasked, or was not", columns, rows)
    return more_of(f"Why it did something unasked or did not, the last {len(rows)}", shown)
