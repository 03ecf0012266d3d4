"""The first page: how all assistants are, what they cost today, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.values.actions import ActionDone
from mud_assistant.assistant.page.values.assistants import AssistantStatus, LeaseHolder, Overview
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import duration, money, number, short_number, time_at
from mud_assistant.assistant.page.views.forms import choice_field, filter_bar, text_field
from mud_assistant.assistant.page.views.layout import flash, page
from mud_assistant.assistant.page.views.life_card import quiet_all
from mud_assistant.assistant.page.views.parts import (
    Columns,
    TableColumn,
    TableRow,
    card,
    empty_state,
    figure_tile,
    link,
    path_to,
    table,
    tiles,
    words,
)
from mud_assistant.assistant.page.views.states import (
    circuit_pill,
    holder_line,
    is_awake,
    run_buttons,
    server_table,
    spent_cell,
    state_pill,
    trouble_list,
)
from mud_assistant.assistant.page.views.svg import circuit_strip, context_meter, limit_meter, timing_lines

#: A reactor that is so late (seconds) is noticed by players.
_LATE, _VERY_LATE = 0.05, 0.25
#: Those that need a person stand first.
_FIRST = ("emergency", "lost")
_FILTERS = (("", "Any state"), ("awake", "Awake"), ("busy", "Doing something"), ("off", "Off or stopped"))


def overview_routes(desk: Desk) -> list[Route]:
    """Return the routes of the overview, and of "Stop all", which every page posts here."""

    async def show(call: PageCall) -> Reply:
        return Reply(overview_page(call, await desk.overview(call.visitor)))

    async def act(call: PageCall) -> Reply:
        match call.form.get("do"):
            case _ if call.form.get("assistant"):
                raise InvalidInput("This page does something for all assistants only.")
            case "stop":
                done = await desk.stop(call.visitor, "")
            case "quiet" | "loud" as chosen:
                done = await desk.want_quiet(call.visitor, "", on=chosen == "quiet")
            case _:
                raise InvalidInput('This page takes "stop", "quiet" and "loud" for all assistants.')
        return flash(call, told(done), "")

    return [Route("GET", "/", show), Route("POST", "/", act, needs=VisitorRole.OPERATOR)]


def told(done: ActionDone) -> str:
    """Return what came of an action as one line, with what was going on."""
    return done.sentence if not done.was else f"{done.sentence} It was: {'; '.join(done.was)}."


def back_to(call: PageCall, done: ActionDone, *parts: str) -> Reply:
    """Tell what was done on the page that the form asks to go back to: the overview, else the page of `parts`."""
    return flash(call, told(done), *(("",) if call.form.get("back") == "overview" else parts))


def overview_page(call: PageCall, overview: Overview) -> bytes:
    """Return the overview as a document. `q` and `state` of the query narrow the list."""
    shown = _chosen(overview.assistants, call.query.get("q", ""), call.query.get("state", ""))
    names = sum(map(is_awake, overview.assistants))
    of = len(overview.assistants)
    awake = f"{names} of {of} assistants awake" if of else "No assistant yet"
    list_title = "Assistants" if len(shown) == of else f"Assistants ({len(shown)} of {of})"
    filters = _filters(call) if of > 1 else None
    return page(
        call,
        "Overview",
        h("div", trouble_list(call, overview.troubles), id="troubles", data_refresh=True, class_="troubles-box"),
        _tiles(call, overview),
        card(list_title, _table(call, shown, of), actions=filters, id_="assistants", live=True),
        _elsewhere(overview.elsewhere),
        h(
            "div",
            h(
                "div",
                card("Servers", server_table(overview.servers), id_="servers", live=True),
                card("Circuits, last hour", circuit_strip("Circuits, last hour", overview.circuits)),
                class_="stack",
            ),
            card("How long people waited, last hour", timing_lines("Waiting in the last hour", overview.timings)),
            class_="split",
        ),
        current="overview",
        waiting=overview.approvals_waiting,
        lead=h("span", awake, ", at ", time_at(overview.at, precise=True), id="lead", data_refresh=True),
        actions=h(
            "div",
            quiet_all(call, overview),
            h("a", "New assistant", href=path_to(call, "new"), class_="button plain")
            if call.visitor.role.may(VisitorRole.OWNER)
            else None,
            class_="actions",
        ),
    )


def _tiles(call: PageCall, overview: Overview) -> Element:
    used, ceiling, lag = overview.used_today, overview.ceiling, overview.reactor_lag
    queued = sum(each.events_waiting or 0 for each in overview.assistants)
    busy = sum(bool(each.run) for each in overview.assistants)
    late = "danger" if (lag or 0) >= _VERY_LATE else "warn" if (lag or 0) >= _LATE else ""
    spent = h("span", limit_meter("Spent today of the limit", used.money, ceiling.money))
    of = f"of {money(ceiling.money)} a day" if ceiling.money is not None else "no limit of money"
    return tiles(
        figure_tile("Thinking now", number(busy), "1 event waits" if queued == 1 else f"{number(queued)} events wait"),
        figure_tile(
            "Approvals",
            link(call, number(overview.approvals_waiting), "approvals") if overview.approvals_waiting else "0",
            "wait for your word" if overview.approvals_waiting else "nothing waits for you",
            "attention" if overview.approvals_waiting else "",
        ),
        figure_tile("Spent today", money(used.money), (of, spent)),
        figure_tile("Tokens today", short_number(used.tokens), f"{number(used.calls)} calls"),
        figure_tile("Server lag", "\u2013" if lag is None else duration(lag), "worst delay of the last minute", late),
        figure_tile("Watching live", number(overview.watchers), f"version {overview.version}"),
        id_="numbers",
    )


def _filters(call: PageCall) -> Element:
    asked = call.query
    return filter_bar(
        path_to(call, ""),
        text_field("q", "Name, place or model", asked.get("q", ""), kind="search", placeholder="Name, place or model"),
        choice_field("state", "State", _FILTERS, asked.get("state", "")),
        is_used=bool(asked.get("q") or asked.get("state")),
    )


def _chosen(assistants: Iterable[AssistantStatus], text: str, state: str) -> list[AssistantStatus]:
    sought = text.casefold().strip()
    found = [
        each
        for each in assistants
        if sought in f"{each.name} {each.place} {each.model} {each.id}".casefold() and _is_in(each, state)
    ]
    return sorted(found, key=lambda each: (each.state not in _FIRST, each.name.casefold(), each.id))


def _is_in(status: AssistantStatus, state: str) -> bool:
    match state:
        case "busy":
            return bool(status.run)
        case "off":
            return status.state in {"off", "stopped", *_FIRST}
        case "":
            return True
        case _:
            return status.state == state


def _table(call: PageCall, shown: Sequence[AssistantStatus], of: int) -> Element:
    nobody = "No assistant is like that." if of else "There is no assistant yet. Make one, here or in the game."
    columns: Columns = [
        "Assistant",
        "State",
        TableColumn("Doing, last words", is_wide=True),
        TableColumn("Waiting", is_number=True),
        "Spent today",
        "Context",
        TableColumn("Last", is_number=True),
        TableColumn("", is_number=True),
    ]
    return table("Assistants", columns, [_row(call, each) for each in shown], empty=empty_state(nobody))


def _elsewhere(holders: Sequence[LeaseHolder]) -> Element | None:
    """Return the assistants that only other processes know; None where there are none."""
    if not holders:
        return None
    columns: Columns = ["Assistant", TableColumn("Where", is_wide=True)]
    rows = [
        TableRow(((holder.name, h("span", holder.assistant, class_="sub")), holder_line(holder))) for holder in holders
    ]
    return card("In other worlds of this journal", table("Elsewhere", columns, rows), id_="elsewhere", live=True)


def _row(call: PageCall, status: AssistantStatus) -> TableRow:
    where = " \u00b7 ".join(part for part in (status.place, status.model) if part)
    doing = link(call, status.doing or "thinking", "runs", status.run) if status.run else status.doing
    approvals = status.approvals_waiting
    cells = (
        (
            link(call, status.name, "a", status.id),
            h("span", where, class_="sub") if where else None,
            holder_line(status.holder) if status.holder else None,
        ),
        (
            state_pill(status.state),
            circuit_pill(status.circuit) if status.circuit not in {"closed", "unknown"} else None,
        ),
        (
            h("span", status.trouble, class_="trouble") if status.trouble else None,
            h("span", doing, class_="doing") if doing else None,
            h("span", words(status.last_words), class_="sub clip said") if status.last_words else None,
        ),
        (
            "\u2013" if status.events_waiting is None else number(status.events_waiting),
            h("span", link(call, f"{approvals} to decide", "approvals"), class_="sub") if approvals else None,
        ),
        spent_cell(status.used_today, status.ceiling),
        context_meter(status.context_used, status.context_tokens) if status.context_used is not None else "\u2013",
        time_at(status.last_at),
        run_buttons(call, status, back="overview"),
    )
    return TableRow(cells, class_="alarm" if status.state in _FIRST else None)
