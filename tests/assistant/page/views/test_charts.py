"""The charts: their numbers, and what a reader is told."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.page.values.common import CircuitSpan, TimingPoint
from mud_assistant.assistant.page.views.element import Element
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.svg import (
    RankedBar,
    StackedBar,
    add_up_usage,
    bars_of_usage,
    circuit_strip,
    context_meter,
    day_bars,
    limit_meter,
    ranked_bars,
    ranks_of_usage,
    timing_lines,
)
from mud_assistant.assistant.page.views.svg.frame import LimitLine, scale
from tests.assistant.page.checks import HOSTILE, all_of, check_page, tree_of
from tests.assistant.page.desk import call
from tests.assistant.page.many import busy_usage


def drawn(made: Element | None) -> bytes:
    assert made is not None
    body = page(call(), "Charts", made)
    check_page(body)
    return body


def cells(body: bytes) -> list[list[str]]:
    return [[cell.text_content() for cell in row] for row in all_of(tree_of(body), "//tbody/tr")]


@pytest.mark.parametrize("highest", [0.0003, 0.7, 1, 3.3, 9.99, 10, 123, 4e6])
def test_a_scale_holds_the_highest_in_round_steps(highest: float) -> None:
    ticks = scale(highest)
    assert ticks[0] == 0
    assert ticks[-1] >= highest
    assert ticks[-2] < highest
    assert 3 <= len(ticks) <= 7
    assert float(f"{ticks[1]:.2g}") == pytest.approx(ticks[1])


@pytest.mark.parametrize("highest", [0, -1, math.nan, math.inf])
def test_a_scale_of_nothing_is_still_one(highest: float) -> None:
    assert scale(highest) == [0.0, 1.0]


def test_bars_are_as_high_as_their_numbers() -> None:
    bars = [StackedBar("1 Nov", "1 November", (1.0, 3.0)), StackedBar("2 Nov", "2 November", (2.0, 0.0))]
    body = drawn(day_bars("Money", "By day.", ["a", "b"], bars))
    heights = [float(each) for each in all_of(tree_of(body), "//rect[@class='bar']/@height")]
    assert heights == [42.0, 126.0, 84.0]
    assert cells(body) == [["1 November", "1.00", "3.00", "4.00"], ["2 November", "2.00", "0.00", "2.00"]]


def test_a_limit_near_is_drawn_and_one_far_off_is_said() -> None:
    bars = [StackedBar("1", "1", (4.0,))]
    near = drawn(day_bars("Money", "By day.", ["All"], bars, limit=LimitLine(5.0, "limit of 5.00")))
    far = drawn(day_bars("Money", "By day.", ["All"], bars, limit=LimitLine(500.0, "limit of 500.00")))
    assert all_of(tree_of(near), "//g[@class='limit']")
    assert "far above" not in near.decode()
    assert not all_of(tree_of(far), "//g[@class='limit']")
    assert "The limit of 500.00 is far above these bars." in far.decode()


def test_usage_becomes_bars_that_add_up_and_the_pace_goes_on() -> None:
    usage = busy_usage("player")
    series, bars = bars_of_usage(add_up_usage(usage))
    assert len(series) == 7
    assert series[-1] == "others"
    past, coming = bars[:22], bars[22:]
    assert sum(sum(bar.parts) for bar in past) == pytest.approx(usage.total.money)
    assert len(coming) == 8
    assert all(bar.is_expected for bar in coming)
    assert sum(sum(bar.parts) for bar in bars) == pytest.approx(usage.pace.expected.money)
    assert sum(bar.value for bar in ranks_of_usage(add_up_usage(usage))) == pytest.approx(usage.total.money)
    assert ranks_of_usage(add_up_usage(usage))[-1].name == "6 others"


def test_an_answer_of_another_month_has_no_pace() -> None:
    usage = replace(busy_usage("model"), since="2026-10-01", until="2026-10-31", rows=())
    series, bars = bars_of_usage(add_up_usage(usage))
    assert (series, len(bars)) == (["All"], 31)


def test_ranked_bars_name_everybody_in_the_table() -> None:
    body = drawn(
        ranked_bars("Players", "Most.", [RankedBar("x" * 90, 3.0), RankedBar("Bo", 1.0, "2 calls")], what="Player")
    )
    assert cells(body) == [["x" * 90, "3.00", "75\u00a0%", ""], ["Bo", "1.00", "25\u00a0%", "2 calls"]]
    assert all_of(tree_of(body), "//rect[@class='s1']/@width") == ["100.00%", "33.33%"]


def test_gaps_stay_gaps_in_a_line() -> None:
    points = [TimingPoint(at=60.0 * n, waiting=value, first_sentence=None) for n, value in enumerate([1, None, 2, 1])]
    body = drawn(timing_lines("Waiting", points))
    lines = all_of(tree_of(body), "//path[@class='line l1']/@d")
    assert lines == ["M0.0 50.0h0.1", "M666.7 0.0L1000.0 50.0"]
    assert cells(body)[1] == ["00:01 UTC", "\u2013", "\u2013"]


def test_a_strip_tells_each_state_in_words() -> None:
    spans = [
        CircuitSpan(origin="http://a", circuit="closed", since=0, until=60),
        CircuitSpan(origin="http://a", circuit="open", since=60, until=120),
        CircuitSpan(origin="http://b", circuit="odd", since=0, until=120),
    ]
    body = drawn(circuit_strip("Circuits", spans))
    assert [row[1] for row in cells(body)] == ["working", "not asked, it failed", "unknown"]
    assert all_of(tree_of(body), "//rect[@class='circuit down']/@x") == ["50.00%"]
    assert "2 servers, 1 change of state." in body.decode()


@pytest.mark.parametrize(
    ("part", "tone", "word"),
    [(0.69, "ok", "69"), (0.7, "warn", "filling"), (0.85, "danger", "nearly full"), (1.4, "danger", "140")],
)
def test_the_context_is_fine_filling_or_nearly_full(part: float, tone: str, word: str) -> None:
    made = context_meter(part, 1200).render()
    assert f"level {tone}" in made
    assert word in made


def test_there_is_no_meter_without_a_limit() -> None:
    assert limit_meter("Spent", 1.0, None) is None
    assert limit_meter("Spent", 1.0, 0) is None
    assert "not running" in context_meter(None).render()


def test_nothing_used_is_said() -> None:
    for made in (
        day_bars("A", "a", [], []),
        ranked_bars("B", "b", [], what="x"),
        timing_lines("C", []),
        circuit_strip("D", []),
    ):
        assert 'class="empty"' in made.render()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_text(text: str) -> None:
    drawn(ranked_bars(text, text, [RankedBar(text, 1.0, text)], what=text))
    drawn(day_bars(text, text, [text, text], [StackedBar(text, text, (1.0, 2.0))], limit=LimitLine(3.0, text)))
    drawn(circuit_strip(text, [CircuitSpan(origin=text, circuit=text, since=0, until=1)]))
