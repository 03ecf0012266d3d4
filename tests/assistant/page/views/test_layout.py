"""The frame of the pages: what was done, static files, fields, times, tables."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from mud_assistant.assistant.page.http.call import Reply
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.views import routes
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import ago, duration, money, number, short_number, time_at
from mud_assistant.assistant.page.views.forms import action_form, choice_field, filter_bar, pager, text_field
from mud_assistant.assistant.page.views.layout import flash, page, static_files
from mud_assistant.assistant.page.views.live import live_routes
from mud_assistant.assistant.page.views.parts import TableColumn, path_to, table
from tests.assistant.page.checks import all_of, check_page, tree_of
from tests.assistant.page.desk import ask, call, visitor
from tests.assistant.page.many import busy_desk


def query_of(reply: Reply) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(dict(reply.headers)["Location"]).query))


def notices(body: bytes) -> list[str]:
    return [each.text_content() for each in all_of(tree_of(body), "//div[contains(@class,'notice')]")]


def test_what_was_done_is_shown_as_text() -> None:
    asked = call()
    query = query_of(flash(asked, "<b>Berta</b> is stopped.", "a", "x"))
    body = page(call(query=query), "A page")
    check_page(body)
    assert notices(body) == ["<b>Berta</b> is stopped."]


@pytest.mark.parametrize("change", [{"done": "Log in again at evil.example"}, {"proof": "0" * 24}, {"proof": "\u00e9"}])
def test_no_link_from_elsewhere_puts_words_on_a_page(change: dict[str, str]) -> None:
    query = query_of(flash(call(), "Berta is stopped."))
    assert notices(page(call(query={**query, **change}), "A page")) == []
    assert notices(page(call(query=query, csrf="token-of-another-session"), "A page")) == []


def test_a_long_sentence_is_cut_and_still_shown() -> None:
    query = query_of(flash(call(), "x" * 5000))
    assert notices(page(call(query=query), "A page")) == ["x" * 400]


def test_static_files_are_named_by_their_content() -> None:
    files = static_files()
    assert {path.partition("-")[0] for path in files} == {"/static/page", "/static/charts", "/static/icon"}
    script = files.find(tuple(files.path("page.js").split("/")[1:]))
    assert script is not None
    assert script.content_type.startswith("text/javascript")
    assert b"EventSource" in script.body
    assert b"innerHTML" not in script.body
    assert b"eval(" not in script.body
    assert b"insertAdjacentHTML" not in script.body
    tree = check_page(page(call(prefix="/assistants"), "A page"), prefix="/assistants")
    for path in [*all_of(tree, "//link/@href"), *all_of(tree, "//script/@src")]:
        assert path.removeprefix("/assistants") in files
    with pytest.raises(LookupError):
        files.path("other.css")


def test_paths_hold_ids_safely() -> None:
    assert path_to(call(prefix="/p"), "a", "x/../y?z#", q="a&b", none="") == "/p/a/x%2F..%2Fy%3Fz%23?q=a%26b"


def test_a_role_that_is_not_enough_sees_why() -> None:
    form = action_form(call(who=visitor(VisitorRole.OPERATOR)), "/x", "delete", "Delete", needs=VisitorRole.OWNER)
    assert "csrf" not in form.render()
    assert "This needs the role owner." in form.render()


def test_a_table_says_its_column_in_each_cell() -> None:
    made = table("Things", ["Name", TableColumn("Count", is_number=True)], [("a", "1")])
    assert '<td class="num" data-label="Count">' in made.render()
    assert "Nothing here" in table("Things", ["Name"], [], empty="Nothing here").render()


def test_fields_have_labels_and_keep_what_they_are_given() -> None:
    bar = filter_bar("/runs", text_field("q", "Words", "<x>"), choice_field("s", "State", [("", "Any")], "odd"))
    body = page(call(), "A page", bar)
    assert all_of(check_page(body), "//select/option[@selected]/@value") == ["odd"]


def test_a_pager_keeps_the_search() -> None:
    made = pager(call(), ["runs"], {"q": "x", "before": "run-9"}, "run-5", shown=50)
    assert isinstance(made, Element)
    assert all_of(tree_of(made.render().encode()), "//a/@href") == ["/runs?q=x", "/runs?q=x&before=run-5"]
    assert pager(call(), ["runs"], {}, "", shown=2) is None


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.34, "340 ms"), (2.44, "2.4 s"), (59.4, "59 s"), (192, "3 min 12 s"), (7500, "2 h 5 min"), (273600, "3 d 4 h")],
)
def test_durations_are_written_as_people_say_them(seconds: float, shown: str) -> None:
    assert duration(seconds).replace("\u00a0", " ") == shown


def test_numbers_and_money() -> None:
    assert [number(12345), short_number(12_340), short_number(950), short_number(4_100_000)] == [
        "12,345",
        "12.3k",
        "950",
        "4.1M",
    ]
    assert [money(12.345), money(0.0042), money(0), money(float("nan"))] == ["12.35", "0.0042", "0.00", "unknown"]
    assert [ago(100, 100.2), ago(0, 7300)] == ["now", "2\u00a0h ago"]


def test_a_time_is_utc_until_the_script_has_run() -> None:
    made = time_at(1_795_372_200.0).render()
    assert 'datetime="2026-11-22T18:30:00.000Z"' in made
    assert ">22 Nov 18:30 UTC<" in made
    assert "unknown time" in time_at(1e30).render()
    assert time_at(None).render() == h("span", "\u2013", class_="quiet").render()


def test_the_live_page_says_what_it_needs_and_keeps_its_filter() -> None:
    body = ask(
        live_routes(busy_desk(4)), call("/live", query={"assistant": "assistant:2", "kind": "heard"}), "/live"
    ).body
    tree = check_page(body)
    assert "needs script" in all_of(tree, "//div[@class='without-script']")[0].text_content()
    assert all_of(tree, "//div[@class='without-script']//a/@href") == ["/runs?assistant=assistant%3A2"]
    (rows,) = all_of(tree, "//ol[@id='live']")
    assert (rows.get("data-stream"), rows.get("data-assistant"), rows.get("data-kind")) == (
        "/api/v1/events",
        "assistant:2",
        "heard",
    )
    assert all_of(tree, "//select/option[@selected]/@value") == ["assistant:2", "heard"]


def test_each_way_in_the_header_leads_to_a_page() -> None:
    patterns = {route.pattern for route in routes(busy_desk(1)) if route.method == "GET"}
    tree = check_page(page(call(), "A page"))
    assert set(all_of(tree, "//header//nav//a/@href")) <= patterns
    assert all(route.needs is not VisitorRole.VIEWER for route in routes(busy_desk(1)) if route.method == "POST")
