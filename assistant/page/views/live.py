"""The live page: a list that the script fills from the stream of events. Nothing is shown without the script."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.values.assistants import Overview
from mud_assistant.assistant.page.values.live import LiveKind
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.forms import choice_field, filter_bar
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.parts import link, notice, path_to

_KINDS = {
    LiveKind.HEARD: "What is heard",
    LiveKind.THINKING: "Thinking, words as they come",
    LiveKind.STEP: "Steps and calls",
    LiveKind.OUTCOME: "How runs end",
    LiveKind.APPROVAL: "Approvals",
    LiveKind.STATE: "States",
    LiveKind.CIRCUIT: "Circuits",
    LiveKind.SPENT: "Money",
}


def live_routes(desk: Desk) -> list[Route]:
    """Return the route of the live page. The stream itself is a route of the API."""

    async def show(call: PageCall) -> Reply:
        return Reply(live_page(call, await desk.overview(call.visitor)))

    return [Route("GET", "/live", show)]


def live_page(call: PageCall, overview: Overview) -> bytes:
    """Return the live page; `assistant` and `kind` of the query say what the script shows of the stream."""
    asked = call.query
    names = sorted(((each.id, each.name) for each in overview.assistants), key=lambda pair: pair[1].casefold())
    filters = filter_bar(
        path_to(call, "live"),
        choice_field("assistant", "Assistant", [("", "All assistants"), *names], asked.get("assistant", "")),
        choice_field(
            "kind",
            "Kind",
            [("", "All but money"), *((kind.value, text) for kind, text in _KINDS.items())],
            asked.get("kind", ""),
        ),
        is_used=bool(asked.get("assistant") or asked.get("kind")),
    )
    no_script = notice(
        "This page needs script, because it grows by itself.",
        h("p", "Without it, ", link(call, "the runs", "runs", assistant=asked.get("assistant", "")), " say the same."),
        tone="warn",
    )
    return page(
        call,
        "Live",
        h("div", no_script, class_="without-script"),
        filters,
        _list(call),
        current="live",
        waiting=overview.approvals_waiting,
        lead="What assistants hear, think and do, as it happens. The newest stands first.",
    )


def _list(call: PageCall) -> Element:
    bar = h(
        "div",
        h("p", "Connecting\u2026", id="live-state", class_="live-state", role="status"),
        h(
            "div",
            h("button", "Pause", type="button", id="live-pause", class_="button plain", aria_pressed="false"),
            h("button", "Clear", type="button", id="live-clear", class_="button link"),
            class_="actions",
        ),
        class_="card-head",
    )
    rows = h(
        "ol",
        id="live",
        class_="live",
        aria_label="What happened, newest first",
        aria_live="off",
        data_stream=path_to(call, "api", "v1", "events"),
        data_assistant=call.query.get("assistant", ""),
        data_kind=call.query.get("kind", ""),
        data_runs=path_to(call, "runs", ""),
        data_page=path_to(call, "a", ""),
        data_approvals=path_to(call, "approvals"),
    )
    said = h("p", id="live-told", class_="hidden", role="status", aria_live="polite")
    quiet = h("p", "Nothing happened since this page was opened.", id="live-empty", class_="empty")
    return h("section", bar, said, quiet, rows, class_="card needs-script", aria_label="Events")
