"""The picture of hours under load is whole, also where a look into the tables failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from benchmarks.soak_plot import PANELS, draw

_LOOKED = {"wal": 4.0, "told": 9, "answered": 8, "lost": 0, "twice": 0, "unknown": 1}


def test_every_curve_is_drawn_over_the_samples_that_have_it() -> None:
    first: dict[str, Any] = {"at": 30.0, "memory": 100.0, "cpu": 1.0, "wait": None, "longest": None}
    blows = {"kill": 0, "hang": 0, "term": 0, "server": 0}
    samples: list[dict[str, Any]] = [
        {**first, **blows, **_LOOKED},
        {**first, **blows, "at": 60.0, "wait": 0.2, "longest": 1.5},  # the server was away
        {**first, **blows, **_LOOKED, "at": 90.0, "server": 1, "wait": 0.3, "longest": 2.0},
    ]
    picture = ET.fromstring(draw(samples))  # noqa: S314  (made here)
    curves = [one.attrib["points"].split() for one in picture.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(points) for points in curves] == [3, 3, 2, 2, 2, 2, 2, 2, 2, 2]
    assert len(curves) == sum(len(names) for _, names in PANELS)
    told = picture.findtext("{http://www.w3.org/2000/svg}title") or ""
    assert "1 server" in told
    assert "0 lost, 0 twice" in told
