"""The page of one assistant: all that is known of it, and what may be done about it."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.values.assistants import AssistantDetail, AssistantStatus, SettingLine
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import number, percent, short_number, time_at
from mud_assistant.assistant.page.views.forms import action_form
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.life_card import act_unasked, life_card
from mud_assistant.assistant.page.views.overview import back_to
from mud_assistant.assistant.page.views.parts import (
    Columns,
    TableColumn,
    card,
    empty_state,
    figure_tile,
    key_values,
    link,
    more_of,
    path_to,
    pill,
    table,
    tiles,
    words,
)
from mud_assistant.assistant.page.views.states import (
    circuit_pill,
    holder_line,
    run_buttons,
    server_table,
    spent_cell,
    state_meaning,
    state_pill,
    trouble_list,
)
from mud_assistant.assistant.page.views.svg import meter, timing_lines


def assistant_routes(desk: Desk) -> list[Route]:
    """Return the routes of the page of one assistant and of its buttons."""

    async def show(call: PageCall) -> Reply:
        return Reply(assistant_page(call, await desk.assistant(call.visitor, call.parts["id"])))

    async def act(call: PageCall) -> Reply:
        who, key, event = call.visitor, call.parts["id"], call.form.get("event", "")
        match call.form.get("do"):
            case "stop":
                done = await desk.stop(who, key)
            case "start":
                done = await desk.start(who, key)
            case "reset":
                done = await desk.reset(who, key)
            case "forget" | "forget_all" as chosen:
                done = await desk.clear_mind(who, key, memories=chosen == "forget_all")
            case "retry" if event:
                done = await desk.retry_parked(who, key, event, clear=False)
            case "clear" if event:
                done = await desk.retry_parked(who, key, event, clear=True)
            case _:
                done = await act_unasked(desk, call)
        return back_to(call, done, "a", key)

    return [Route("GET", "/a/{id}", show), Route("POST", "/a/{id}", act, needs=VisitorRole.OPERATOR)]


def assistant_page(call: PageCall, detail: AssistantDetail) -> bytes:
    """Return all that is known of one assistant as a document."""
    status = detail.status
    links = [("Runs", "runs"), ("Live", "live"), ("Settings", "settings")]
    actions = (
        [h("a", text, href=path_to(call, part, assistant=status.id), class_="button plain") for text, part in links],
        h("a", "Talk", href=path_to(call, "a", status.id, "talk"), class_="button plain")
        if call.visitor.role.may(VisitorRole.OWNER)
        else None,
        h("a", "Model", href=path_to(call, "a", status.id, "model"), class_="button plain"),
        h("a", "Character", href=path_to(call, "a", status.id, "character"), class_="button plain"),
        run_buttons(call, status, with_stop=False),
    )
    main = (
        _now(call, detail),
        life_card(call, detail),
        _parked(call, detail),
        _unknown(call, detail),
        card("How long people waited, last hour", timing_lines("Waiting", detail.timings)) if detail.timings else None,
        _models(detail),
        card("Servers", server_table(detail.servers), id_="servers", live=True) if detail.servers else None,
        _settings(call, detail),
    )
    aside = (_character(call, detail), _rights(detail), _muted(call, detail), _mind(call, status))
    return page(
        call,
        status.name,
        h("div", trouble_list(call, detail.troubles, with_names=False), id="troubles", data_refresh=True),
        _tiles(call, detail),
        h("div", h("div", main, class_="stack"), h("div", aside, class_="stack"), class_="split main"),
        current="overview",
        stop=(status.id, status.name) if status.state not in {"off", "stopped", "lost"} else None,
        lead=" \u00b7 ".join(part for part in (status.place, status.model, status.id) if part),
        actions=h("div", actions, class_="actions"),
        crumbs=[("Overview", path_to(call, ""))],
    )


def _mind(call: PageCall, status: AssistantStatus) -> Element:
    """Return the buttons that clear what it has in mind."""
    path, needs = path_to(call, "a", status.id), VisitorRole.OWNER
    ask = f"Clear what {status.name} has in mind? It goes on as if it had just come. What it remembers of people stays."
    ask_all = f"Clear what {status.name} has in mind, and all that it remembers of anybody? This cannot be undone."
    return card(
        "Forget",
        h("p", "What it has in mind is the talk that it still sees, with summaries of older talk.", class_="quiet"),
        action_form(call, path, "forget", "Clear its mind", tone="danger", confirm=ask, needs=needs),
        action_form(call, path, "forget_all", "And its memories", tone="danger", confirm=ask_all, needs=needs),
    )


def _tiles(call: PageCall, detail: AssistantDetail) -> Element:
    status = detail.status
    part, tokens = status.context_used, status.context_tokens
    context = "\u2013" if part is None else percent(part)
    used = status.used_today
    return tiles(
        figure_tile("State", state_pill(status.state), state_meaning(status.state)),
        figure_tile("Circuit", circuit_pill(status.circuit), "mood of its first model's server"),
        figure_tile("Events waiting", "\u2013" if status.events_waiting is None else number(status.events_waiting)),
        figure_tile(
            "Approvals",
            link(call, number(status.approvals_waiting), "approvals") if status.approvals_waiting else "0",
            "wait for the word of a person",
        ),
        figure_tile(
            "Spent today",
            spent_cell(used, status.ceiling),
            f"{number(used.calls)} calls, {short_number(used.tokens)} tokens",
        ),
        figure_tile(
            "Context in use",
            context,
            (
                f"{number(tokens)} tokens" if tokens is not None else "it does not run" if part is None else None,
                meter("Context window", part) if part is not None else None,
            ),
        ),
        id_="numbers",
    )


def _now(call: PageCall, detail: AssistantDetail) -> Element:
    status = detail.status
    doing = link(call, status.doing or "thinking", "runs", status.run) if status.run else status.doing or None
    said = h("q", words(status.last_words), class_="said") if status.last_words else None
    return card(
        "Now",
        key_values(
            ("Doing", doing or "nothing"),
            ("Said last", said),
            ("Last active", time_at(status.last_at, precise=True)),
            ("Trouble", h("span", status.trouble, class_="trouble") if status.trouble else None),
            ("Process", holder_line(status.holder) if status.holder else None),
        ),
        actions=link(call, "All its runs", "runs", assistant=status.id),
        id_="now",
        live=True,
    )


def _character(call: PageCall, detail: AssistantDetail) -> Element:
    return card(
        "Character",
        h("p", words(detail.persona), class_="persona") if detail.persona else empty_state("It has no persona."),
        key_values(
            ("Plays", detail.character or None),
            ("Lore", f"{number(detail.lore_entries)} pieces"),
            ("Memories", None if detail.memories is None else number(detail.memories)),
        ),
        actions=link(call, "Edit", "a", detail.status.id, "character"),
    )


def _models(detail: AssistantDetail) -> Element:
    rows = [
        ((line.name, h("span", line.provider, class_="sub")), circuit_pill(line.circuit), line.why)
        for line in detail.models
    ]
    columns: Columns = ["Model", "Circuit", TableColumn("Why this one", is_wide=True)]
    background = h("p", f"In the background: {detail.background}", class_="hint") if detail.background else None
    listed = table("Models", columns, rows, empty="No model is set.")
    return card("Models, the first is asked first", listed, background)


def _parked(call: PageCall, detail: AssistantDetail) -> Element | None:
    if not detail.parked:
        return None
    path = path_to(call, "a", detail.status.id)
    rows = [
        (
            words(each.heard) if each.heard else h("span", "not shown to you", class_="quiet"),
            each.reason,
            h(
                "span",
                action_form(call, path, "retry", "Try again", fields={"event": each.event}),
                action_form(
                    call,
                    path,
                    "clear",
                    "Clear",
                    fields={"event": each.event},
                    tone="quiet-danger",
                    confirm="Clear this? It is then never answered.",
                ),
                class_="actions",
            ),
        )
        for each in detail.parked
    ]
    columns: Columns = [TableColumn("Heard", is_wide=True), "Why it was put aside", TableColumn("", is_number=True)]
    return card("Put aside, not tried any more", table("Put aside", columns, rows), id_="parked")


def _unknown(call: PageCall, detail: AssistantDetail) -> Element | None:
    if not detail.unknown:
        return None
    rows = [
        (link(call, each.run, "runs", each.run), number(each.step), words(each.call), time_at(each.at, precise=True))
        for each in detail.unknown
    ]
    columns: Columns = ["Run", TableColumn("Step", is_number=True), TableColumn("Call", is_wide=True), "At"]
    return card("Calls of which it is not known whether they happened", table("Unknown calls", columns, rows))


def _rights(detail: AssistantDetail) -> Element:
    granted = [each for each in detail.tools if each.granted]
    refused = [each for each in detail.tools if not each.granted]
    items = [
        h("li", pill(each.name, "ok"), h("span", each.meaning or each.category, class_="sub"), class_="grant")
        for each in granted
    ]
    others = [
        h("li", pill(each.name, "quiet"), h("span", each.meaning or each.category, class_="sub"), class_="grant")
        for each in refused
    ]
    return card(
        "May do",
        h("ul", items, class_="rows") if items else empty_state("No tool is granted."),
        more_of(f"{len(refused)} not granted", h("ul", others, class_="rows")) if refused else None,
    )


def _muted(call: PageCall, detail: AssistantDetail) -> Element | None:
    if not detail.muted:
        return None
    rows = [(link(call, each.name or each.id, "players", each.id), time_at(each.since)) for each in detail.muted]
    return card("Muted players", table("Muted players", ["Player", "Since"], rows))


def _settings(call: PageCall, detail: AssistantDetail) -> Element:
    own = [line for line in detail.settings if line.set_by != "default"]
    rest = [line for line in detail.settings if line.set_by == "default"]
    return card(
        "Settings",
        _setting_table("Settings that were set", own) if own else h("p", "All are as they come.", class_="quiet"),
        more_of(f"{len(rest)} as they come", _setting_table("Settings as they come", rest)) if rest else None,
        actions=link(call, "Change", "settings", assistant=detail.status.id),
    )


def _setting_table(caption: str, lines: list[SettingLine]) -> Element:
    rows = [((line.name, h("span", line.meaning, class_="sub")), h("code", line.value), line.set_by) for line in lines]
    return table(caption, ["Setting", TableColumn("Value", is_wide=True), "Set by"], rows)
