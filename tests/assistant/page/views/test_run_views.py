"""The list of runs and one run: filters in the address, pages by key, the tree in order."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from lxml import html
from msgspec.structs import replace

from mud_assistant.assistant.page.http.call import PageCall
from mud_assistant.assistant.page.http.errors import parse_body
from mud_assistant.assistant.page.ports import Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery
from mud_assistant.assistant.page.views.runs import routes
from mud_assistant.assistant.page.views.runs.steps import pretty_json
from tests.assistant.page.desk import MemoryDesk, ask, call, visitor
from tests.assistant.page.views.stocked import stocked
from tests.assistant.page.views.stocked_runs import one_run, summary

FILTERS = {
    "assistant": "assistant:12",
    "player": "Mira & co",
    "tool": "web_search",
    "outcome": "failed",
    "text": "rope?",
    "since": "2026-11-01",
    "until": "2026-11-22",
}


def shown(desk: MemoryDesk, asked: PageCall, pattern: str = "/runs") -> html.HtmlElement:
    return html.document_fromstring(ask(routes(desk), asked, pattern).body.decode())


def links(page: html.HtmlElement) -> dict[str, str]:
    return {each.text_content(): each.get("href", "") for each in page.iter("a")}


def asked_of(desk: MemoryDesk) -> RunQuery:
    (query,) = [each[1] for each in desk.done if each[0] == "runs"]
    assert isinstance(query, RunQuery)
    return query


def test_the_filters_of_the_address_reach_the_desk() -> None:
    desk = stocked()
    shown(desk, call("/runs", query={**FILTERS, "before": "run-980"}))
    query = asked_of(desk)
    assert (query.assistant, query.player, query.tool) == ("assistant:12", "Mira & co", "web_search")
    assert (query.outcome, query.text, query.before) == ("failed", "rope?", "run-980")
    assert (query.since, query.until) == (1_793_491_200.0, 1_795_392_000.0)  # the 1st at 0:00, the 23rd at 0:00, UTC


def test_the_filters_stay_in_the_form_and_in_the_link_to_older_runs() -> None:
    page = shown(stocked(), call("/runs", query=FILTERS, prefix="/assistants"))
    (form,) = [each for each in page.forms if each.method == "GET"]
    assert dict(form.fields) == FILTERS
    older = urlsplit(links(page)["Older"])
    assert older.path == "/assistants/runs"
    assert {key: values[0] for key, values in parse_qs(older.query).items()} == {**FILTERS, "before": "run-976"}


def test_the_raw_json_answers_the_same_search() -> None:
    page = shown(stocked(), call("/runs", query=FILTERS))
    raw = urlsplit(links(page)["Raw JSON"])
    fields = {key: values[0] for key, values in parse_qs(raw.query).items()}
    assert raw.path == "/api/v1/runs"
    wanted: dict[str, Any] = {**FILTERS, "since": 1_793_491_200.0, "until": 1_795_392_000.0}
    assert parse_body(RunQuery, fields) == RunQuery(**wanted)


def test_what_cannot_be_used_is_said_and_left_out() -> None:
    desk = stocked()
    page = shown(desk, call("/runs", query={"since": "yesterday", "outcome": "glorious"}))
    assert "yesterday is no day" in page.text_content()
    assert asked_of(desk) == RunQuery()
    assert page.forms[1].fields["since"] == "yesterday"


def test_an_empty_answer_says_why() -> None:
    desk = stocked()
    desk.run_page = RunPage(runs=())
    assert "Nothing was thought yet" in shown(desk, call("/runs")).text_content()
    assert "Take a filter away" in shown(desk, call("/runs", query={"tool": "dig"})).text_content()
    assert "no older runs" in shown(desk, call("/runs", query={"before": "run-1"})).text_content()
    desk.run_page = RunPage(runs=(), next="run-5", is_partial=True)
    partial = shown(desk, call("/runs", query={"tool": "dig"})).text_content()
    assert "before it had looked at everything" in partial
    assert "Nothing was found so far" in partial


def test_a_viewer_cannot_search_for_words() -> None:
    desk = stocked()
    page = shown(desk, call("/runs", who=visitor(VisitorRole.VIEWER), query={"text": "rope", "tool": "say"}))
    assert asked_of(desk) == RunQuery(tool="say")
    assert "text" not in page.forms[0].fields


def test_a_run_is_a_tree_in_order() -> None:
    page = shown(stocked(), call("/runs/run-999", parts={"id": "run-999"}), "/runs/{id}")
    (tree,) = page.find_class("tree")
    names = [each.text_content() for each in tree.find_class("branch-name")]
    call_of = ["Judged", "Result"]
    assert names == [
        *("Heard", "Recalled", "Step 1", "Asked", "Answered", "Called web_search", *call_of),
        *("Called execute_command", *call_of, "Step 2", "Asked", "Answered", "Called say", "Judged", "Said"),
        *("Left out", "Ended"),
    ]
    words = page.text_content()
    assert "You are Berta, who keeps the toll bridge" in words
    assert "The bytes are kept for a day, and this run is older." in words
    assert "Mira may not dig herself" in words
    assert "2 records of this run cannot be read" in words
    assert "mud-assistant replay --run run-999" in words
    assert links(page)["Raw JSON"] == "/api/v1/runs/run-999"


class ThreeRuns(MemoryDesk):
    """A desk with three runs of one assistant, searched as the journal is."""

    async def runs(self, who: Visitor, query: RunQuery) -> RunPage:
        all_runs = [summary(number) for number in (0, 3, 6)]
        times = {each.id: each.opened_at for each in all_runs}
        found = [
            each
            for each in all_runs
            if (query.since is None or each.opened_at >= query.since)
            and (not query.before or each.opened_at < times[query.before])
        ]
        return RunPage(runs=tuple(found[: query.limit]))


def test_a_run_links_to_those_beside_it() -> None:
    desk = ThreeRuns()
    for number, there in ((0, {"before": "run-997"}), (3, {"before": "run-994", "after": "run-1000"})):
        found = summary(number)
        desk.run_views[found.id] = replace(one_run(), summary=found)
        page = shown(desk, call("/", parts={"id": found.id}), "/runs/{id}")
        expected = {f"Run {name}": f"/runs/{run}" for name, run in there.items()}
        beside = {text.strip("\u2190\u2192 "): way for text, way in links(page).items() if "Run " in text}
        assert beside == expected


def test_json_is_shown_whole_or_as_it_is() -> None:
    assert pretty_json('{"b": 1, "a": [2]}') == '{\n  "b": 1,\n  "a": [\n    2\n  ]\n}'
    for text in ('{"a": 1, "a": 2}', "{broken", "Said to the room.", "[" * 5000):
        assert pretty_json(text) == text
