"""One run as a tree of nested lists: heard, recalled, each step, how it ended."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.values.runs import HeardInRun, RunQuery, RunSummary, RunView
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import money, number, time_at
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.parts import (
    card,
    code_block,
    figure_tile,
    link,
    more_of,
    notice,
    path_to,
    pill,
    tiles,
)
from mud_assistant.assistant.page.views.runs.listing import outcome_pill, player_link, took
from mud_assistant.assistant.page.views.runs.steps import branch, step_branch
from mud_assistant.assistant.page.views.shared import HIDDEN, html, spoken

#: How many runs one search for the following run looks at, and the hour it is narrowed to when there are more.
_LOOKED_AT, _HOUR = 200, 3600.0
_RECALLED_SHOWN = 3


def routes(desk: Desk) -> list[Route]:
    """Return the route of one run."""

    async def show(call: PageCall) -> Reply | StreamReply:
        run = await desk.run(call.visitor, call.parts["id"])
        older = await _older(desk, call, run.summary)
        return html(run_page(call, run, older=older, newer=await _newer(desk, call, run.summary)))

    return [Route("GET", "/runs/{id}", show)]


async def _older(desk: Desk, call: PageCall, run: RunSummary) -> str:
    """Return the id of the assistant's run before this one, empty for none."""
    found = await desk.runs(call.visitor, RunQuery(assistant=run.assistant, before=run.id, limit=1))
    return found.runs[0].id if found.runs else ""


async def _newer(desk: Desk, call: PageCall, run: RunSummary) -> str:
    """Return the id of the assistant's run after this one, empty for none and where too many came since."""
    for until in (None, run.opened_at + _HOUR):
        query = RunQuery(assistant=run.assistant, since=run.opened_at, until=until, limit=_LOOKED_AT)
        found = await desk.runs(call.visitor, query)
        if not found.next:
            ids = [each.id for each in found.runs]
            place = ids.index(run.id) if run.id in ids else 0
            return ids[place - 1] if place else ""
    return ""


def run_page(call: PageCall, run: RunView, *, older: str = "", newer: str = "") -> bytes:
    """Return the page of one run. `older` and `newer` are the ids of the assistant's runs beside it."""
    summary = run.summary
    return page(
        call,
        f"Run of {summary.name or summary.assistant}",
        _figures(run),
        _notices(run),
        card("What happened", h("ol", _branches(call, run), class_="tree", aria_label="What happened, in order")),
        _again(run),
        _beside(call, older, newer),
        current="runs",
        lead=(time_at(summary.opened_at, precise=True), " with ", player_link(call, summary), " \u00b7 ", summary.id),
        actions=(
            link(call, "All of its runs", "runs", assistant=summary.assistant),
            h("a", "Raw JSON", href=path_to(call, "api", "v1", "runs", summary.id), class_="button link"),
        ),
        stop=(summary.assistant, summary.name or summary.assistant),
        crumbs=(("Runs", path_to(call, "runs")),),
    )


def _figures(run: RunView) -> Element:
    summary = run.summary
    return tiles(
        figure_tile("Outcome", outcome_pill(summary)),
        figure_tile("Took", took(summary)),
        figure_tile("Steps", number(summary.steps), ", ".join(summary.models) or None),
        figure_tile("Tokens", number(summary.used.tokens), f"{number(summary.used.calls)} requests to a model"),
        figure_tile("Money", money(summary.used.money)),
    )


def _notices(run: RunView) -> list[Element]:
    found = []
    if run.is_hidden:
        found.append(notice("The words of this run are hidden: you are a viewer. An operator may read them."))
    if run.unreadable:
        found.append(
            notice(f"{number(run.unreadable)} records of this run cannot be read, and are left out.", tone="warn")
        )
    return found


def _branches(call: PageCall, run: RunView) -> list[Element | None]:
    left = run.steps_left_out
    return [
        _heard(call, run),
        _recalled(run),
        *[step_branch(call, run, step) for step in run.steps],
        branch("Left out", h("p", f"{number(left)} more steps are not shown here. The raw JSON says which."))
        if left
        else None,
        _ended(call, run),
    ]


def _heard(call: PageCall, run: RunView) -> Element:
    if not run.heard:
        what = HIDDEN if run.is_hidden else "Nothing: it woke by its timer, or what it heard is not kept any more."
        return branch("Heard", h("p", what, class_="quiet"))
    return branch("Heard", h("ol", [_heard_line(call, line) for line in run.heard], class_="lines"))


def _heard_line(call: PageCall, line: HeardInRun) -> Element:
    who = link(call, line.who or line.who_id, "players", line.who_id) if line.who_id else h("span", line.who)
    return h(
        "li",
        h(
            "p",
            h("strong", who),
            h("span", f" {line.kind} ", class_="quiet"),
            pill("in private", "warn") if line.is_private else None,
            pill(line.verdict, "busy" if line.verdict == "trigger" else "quiet"),
            h("span", f" importance {line.importance} \u00b7 ", time_at(line.at, precise=True), class_="quiet"),
            class_="meta",
        ),
        h("p", spoken(call, line.text, otherwise="not kept any more")),
    )


def _recalled(run: RunView) -> Element | None:
    if not run.recalled:
        return None
    lines = [h("li", h("span", text, class_="words", dir="auto")) for text in run.recalled]
    if len(lines) <= _RECALLED_SHOWN:
        return branch("Recalled", h("ul", lines))
    return branch("Recalled", more_of(f"{len(lines)} memories", h("ul", lines)))


def _ended(call: PageCall, run: RunView) -> Element:
    summary = run.summary
    if summary.closed_at is None:
        return branch("Still open", h("p", "It has not ended. Load the page again to see what came since."))
    said = h("p", "It said: ", spoken(call, summary.said)) if summary.said else None
    told = h("p", summary.sentence) if summary.sentence else None
    return branch("Ended", said, told, beside=(outcome_pill(summary), " ", time_at(summary.closed_at, precise=True)))


def _again(run: RunView) -> Element | None:
    if not run.replay and not run.test:
        return None
    return card(
        "Look at it again",
        h("p", "This command shows the run in a terminal, from the journal:") if run.replay else None,
        code_block(run.replay, "Command that replays the run") if run.replay else None,
        more_of("As a test that runs it again", code_block(run.test, "The run as a test")) if run.test else None,
    )


def _beside(call: PageCall, older: str, newer: str) -> Element | None:
    if not older and not newer:
        return None
    return h(
        "nav",
        h("a", "\u2190 Run before", href=path_to(call, "runs", older), class_="button plain", rel="prev")
        if older
        else None,
        h("a", "Run after \u2192", href=path_to(call, "runs", newer), class_="button plain", rel="next")
        if newer
        else None,
        class_="pager",
        aria_label="Runs of this assistant beside this one",
    )
