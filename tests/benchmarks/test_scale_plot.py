"""The picture of turns by processes holds the figures, and no more than plain SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from benchmarks.scale_plot import HEIGHT, TOP, WIDTH, draw, ticks

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(("most", "last"), [(0.5, 1), (3, 3), (112, 150), (488, 500), (700, 800), (9_999, 10_000)])
def test_marks_are_round_and_reach_over_the_greatest(most: float, last: float) -> None:
    marks = ticks(most)
    assert marks[0] == 0
    assert marks[-1] == last
    assert 2 <= len(marks) <= 7


def test_every_figure_stands_at_its_point() -> None:
    root = ET.fromstring(draw([(1, 310.4), (2, 502.0), (4, 498.6)], "Turns & more", "below"))  # noqa: S314
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"310", "502", "499", "1", "2", "4", "turns a second", "Turns & more"} <= set(words)
    circles = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in root.iter(f"{SVG}circle")]
    assert [x for x, _ in circles] == sorted(x for x, _ in circles)
    first, second, third = (y for _, y in circles)
    assert second < third < first, "more is higher"
    assert all(0 < x < WIDTH and TOP <= y < HEIGHT for x, y in circles)
