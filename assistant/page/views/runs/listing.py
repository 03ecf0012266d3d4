"""The list of runs: a search whose filters live in the address, newest first."""

from __future__ import annotations

from msgspec.structs import asdict

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery, RunSummary
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import duration, money, number, short_number, time_at
from mud_assistant.assistant.page.views.forms import choice_field, filter_bar, pager, text_field
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.parts import TableColumn, empty_state, link, notice, path_to, pill, table
from mud_assistant.assistant.page.views.runs.search import OUTCOMES, RunFilter, filter_from
from mud_assistant.assistant.page.views.shared import Named, html, may_read, named_assistants, spoken

_CUT = 160
_TOOLS_SHOWN = 4
_COLUMNS = (
    TableColumn("When"),
    TableColumn("Assistant"),
    TableColumn("With"),
    TableColumn("Heard and said", is_wide=True),
    TableColumn("Tools"),
    TableColumn("Outcome"),
    TableColumn("Steps", is_number=True),
    TableColumn("Took", is_number=True),
    TableColumn("Tokens", is_number=True),
    TableColumn("Money", is_number=True),
)


def routes(desk: Desk) -> list[Route]:
    """Return the route of the list of runs."""

    async def show(call: PageCall) -> Reply | StreamReply:
        found = filter_from(call.query if may_read(call) else {**call.query, "text": ""})
        runs = await desk.runs(call.visitor, found.query())
        return html(runs_page(call, found, runs, await named_assistants(desk, call.visitor)))

    return [Route("GET", "/runs", show)]


def runs_page(call: PageCall, found: RunFilter, runs: RunPage, assistants: Named) -> bytes:
    """Return the page with the search and what it found."""
    path = path_to(call, "runs")
    return page(
        call,
        "Runs",
        _filters(call, path, found, assistants),
        [notice(sentence, tone="warn") for sentence in found.wrong],
        _partial(runs),
        h(
            "div",
            table("Runs, newest first", _COLUMNS, [_row(call, run) for run in runs.runs], empty=_nothing(found, runs)),
            class_="folding",
        ),
        pager(call, ("runs",), {**found.fields(), "before": found.before}, runs.next, shown=len(runs.runs)),
        current="runs",
        lead="A run is what an assistant did about something that it heard. Newest first.",
        actions=h("a", "Raw JSON", href=_raw(call, found), class_="button link"),
    )


def _filters(call: PageCall, path: str, found: RunFilter, assistants: Named) -> Element:
    return filter_bar(
        path,
        choice_field("assistant", "Assistant", [("", "all"), *assistants], found.assistant),
        text_field("player", "Player", found.player, placeholder="name or id", kind="search"),
        text_field("tool", "Tool", found.tool, placeholder="say", kind="search"),
        choice_field("outcome", "Outcome", [("", "any"), *OUTCOMES.items()], found.outcome),
        text_field("since", "From (UTC)", found.since, kind="date"),
        text_field("until", "To (UTC)", found.until, kind="date"),
        text_field("text", "Words heard or said", found.text, kind="search") if may_read(call) else None,
        is_used=found.narrows,
        label="Search",
        folds=True,
    )


def _raw(call: PageCall, found: RunFilter) -> str:
    """Return where the API answers the same search."""
    asked, unset = asdict(found.query()), asdict(RunQuery())
    return path_to(call, "api", "v1", "runs", **{key: str(one) for key, one in asked.items() if one != unset[key]})


def _partial(runs: RunPage) -> Element | None:
    if not runs.is_partial:
        return None
    return notice(
        "The search ended before it had looked at everything: one search looks at so many runs and no more. "
        + ("Older looks on from there." if runs.next else "Narrow it, by days or by an assistant."),
        tone="warn",
    )


def _nothing(found: RunFilter, runs: RunPage) -> Element:
    if runs.is_partial:
        return empty_state("Nothing was found so far.")
    if found.before:
        return empty_state("There are no older runs.")
    if found.narrows:
        return empty_state("No run is like this. Take a filter away, or look at other days.")
    return empty_state("Nothing was thought yet. Say something to an assistant, and its first run stands here.")


def _row(call: PageCall, run: RunSummary) -> list[object]:
    return [
        h("a", time_at(run.opened_at), href=path_to(call, "runs", run.id)),
        link(call, run.name or run.assistant, "a", run.assistant),
        player_link(call, run),
        _exchange(call, run),
        _tools(run.tools),
        outcome_pill(run),
        number(run.steps),
        took(run),
        h("span", short_number(run.used.tokens), title=f"{number(run.used.tokens)} tokens"),
        money(run.used.money),
    ]


def _exchange(call: PageCall, run: RunSummary) -> Element:
    return h(
        "span",
        h("span", h("span", "Heard: ", class_="hidden"), spoken(call, run.heard, cut=_CUT), class_="heard"),
        h("span", h("span", "Said: ", class_="hidden"), spoken(call, run.said, cut=_CUT, otherwise=""), class_="said")
        if run.said
        else None,
        h("span", run.sentence, class_="quiet") if run.sentence and not run.said and may_read(call) else None,
        class_="exchange",
    )


def _tools(names: tuple[str, ...]) -> object:
    if not names:
        return h("span", "\u2013", class_="quiet")
    more = f" +{len(names) - _TOOLS_SHOWN}" if len(names) > _TOOLS_SHOWN else None
    return [
        [(h("code", name), " ") for name in names[:_TOOLS_SHOWN]],
        h("span", more, title=", ".join(names[_TOOLS_SHOWN:])) if more else None,
    ]


def player_link(call: PageCall, run: RunSummary) -> Element:
    """Return who a run was with, linked where their id is known."""
    if not run.player and not run.player_id:
        return h("span", "\u2013", class_="quiet")
    name = run.player or run.player_id
    return link(call, name, "players", run.player_id) if run.player_id else h("span", name)


def outcome_pill(run: RunSummary) -> Element:
    """Return how a run ended, as a mark."""
    tone = "busy" if run.outcome == "open" else None
    return pill(OUTCOMES.get(run.outcome, run.outcome or "not known"), tone or _TONES.get(run.outcome))


_TONES = {"answered": "ok", "nothing": "quiet", "limit": "warn", "failed": "danger", "cancelled": "warn"}


def took(run: RunSummary) -> str:
    """Say how long a run took, a dash for one that is open."""
    return "\u2013" if run.closed_at is None else duration(run.closed_at - run.opened_at)
