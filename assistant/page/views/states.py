"""How the state of an assistant and the circuit of a server are shown, and what may be done about them."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.values.assistants import AssistantStatus, LeaseHolder
from mud_assistant.assistant.page.values.common import ServerStatus, TroubleNotice
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import duration, money, number, short_number, time_at
from mud_assistant.assistant.page.views.forms import action_form
from mud_assistant.assistant.page.views.parts import Columns, TableColumn, link, notice, path_to, pill, table
from mud_assistant.assistant.page.views.svg import limit_meter
from mud_assistant.resilience import Allowance, Amount

#: What an operator reads for a state, how it looks, and what it means.
_STATES = {
    "off": ("off", "quiet", "It stays off until somebody starts it."),
    "opening": ("opening", "busy", "It is getting ready."),
    "waiting": ("waiting", "quiet", "It listens, and waits for its model or for something to happen."),
    "awake": ("awake", "ok", "It listens and thinks."),
    "stopped": ("stopped", "warn", "It was stopped and does nothing."),
    "lost": ("lost", "danger", "Its character is not in the game any more."),
    "emergency": ("emergency stop", "danger", "Runs of it crashed one after another; a person must lift the stop."),
}
#: The mood of a circuit: the word, how it looks.
_CIRCUITS = {
    "closed": ("calm", "ok"),
    "half_open": ("careful", "warn"),
    "open": ("holding back", "danger"),
    "unknown": ("not asked yet", "quiet"),
}
#: States in which there is nothing to stop.
_RESTING = frozenset({"off", "stopped", "lost"})


def is_awake(status: AssistantStatus) -> bool:
    """Tell whether an assistant can answer now."""
    return status.state == "awake"


def state_pill(state: str) -> Element:
    """Return the state of an assistant as a word."""
    word, tone, _ = _STATES.get(state, (state, "quiet", ""))
    return pill(word, tone)


def state_meaning(state: str) -> str:
    """Return what a state means, in a sentence."""
    return _STATES.get(state, ("", "", ""))[2]


def circuit_pill(circuit: str) -> Element:
    """Return the mood of the circuit of a model's server as a word."""
    return pill(*_CIRCUITS.get(circuit, (circuit, "quiet")))


def holder_line(holder: LeaseHolder) -> Element:
    """Return which process runs an assistant, since when, and how fresh its word is."""
    here = " (here)" if holder.is_here else ""
    renewed = f" (lease renewed {duration(holder.renewed_ago)} ago)"
    return h("span", f"runs on {holder.process}{here} since ", time_at(holder.since), renewed, class_="sub")


def run_buttons(call: PageCall, status: AssistantStatus, *, back: str = "", with_stop: bool = True) -> Element | None:
    """Return the one button that fits the state: stop, start or reset. `back` is the page to return to."""
    path = path_to(call, "a", status.id)
    fields = {"back": back} if back else {}
    name = h("span", f" {status.name}", class_="hidden")
    if status.state == "emergency":
        ask = f"Lift the emergency stop of {status.name}? It then thinks again."
        return action_form(call, path, "reset", ("Reset", name), fields=fields, tone="primary", confirm=ask)
    if status.state in _RESTING:
        ask = f"Start {status.name}? It then listens, speaks and spends."
        return action_form(call, path, "start", ("Start", name), fields=fields, confirm=ask)
    if not with_stop:
        return None
    return action_form(call, path, "stop", ("Stop", name), fields=fields, tone="quiet-danger")


def spent_cell(used: Amount, ceiling: Allowance, *, name: str = "Spent today") -> Element:
    """Return what was spent today with a meter of its ceiling: that of money, else of tokens, else of calls."""
    shown, of, meter = money(used.money), "", None
    if ceiling.money is not None:
        of, meter = f"of {money(ceiling.money)}", limit_meter(name, used.money, ceiling.money)
    elif ceiling.tokens is not None:
        shown, of = f"{short_number(used.tokens)} tokens", f"of {short_number(ceiling.tokens)}"
        meter = limit_meter(name, used.tokens, ceiling.tokens)
    elif ceiling.calls is not None:
        shown, of = f"{number(used.calls)} calls", f"of {number(ceiling.calls)}"
        meter = limit_meter(name, used.calls, ceiling.calls)
    return h("span", h("span", shown, h("span", f" {of}", class_="quiet") if of else None), meter, class_="metered")


def trouble_list(call: PageCall, troubles: tuple[TroubleNotice, ...], *, with_names: bool = True) -> Element | None:
    """Return what a person must see to, each with the way to it; nothing when all is well."""
    if not troubles:
        return None
    items = [
        h(
            "li",
            (link(call, each.name or each.assistant, "a", each.assistant), ": ")
            if with_names and each.assistant
            else None,
            each.sentence,
        )
        for each in troubles
    ]
    what = "One thing needs" if len(troubles) == 1 else f"{len(troubles)} things need"
    return notice(h("strong", f"{what} a person"), h("ul", items, class_="troubles"), tone="warn")


def server_table(servers: tuple[ServerStatus, ...]) -> Element:
    """Return the servers of models: their circuit, and what they do now."""
    rows = [
        (
            (server.origin, h("span", server.sentence, class_="sub") if server.sentence else None),
            (
                circuit_pill(server.circuit),
                h("span", f"asked again in {duration(server.open_for)}", class_="sub") if server.open_for else None,
            ),
            number(server.failures_in_a_row),
            number(server.in_flight),
            number(server.waiting),
        )
        for server in servers
    ]
    columns: Columns = [
        TableColumn("Server", is_wide=True),
        "Circuit",
        *[TableColumn(each, is_number=True) for each in ("Failures", "In flight", "Queued")],
    ]
    return table("Servers of models", columns, rows, empty="No server of a model was asked yet.")
