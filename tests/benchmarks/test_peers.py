"""Peers: every one that is known is pinned for everybody, and there is something that does its work."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from benchmarks.peers import PEERS

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_is_asked_for_and_pinned(name: str) -> None:
    package = PEERS[name].package
    asked = [line.partition("[")[0] for line in (FOLDER / "requirements-peers.in").read_text().splitlines()]
    assert package in asked
    assert re.search(rf"^{package}(\[.*\])?==", (FOLDER / "requirements-peers.txt").read_text(), re.MULTILINE)


def test_the_pins_name_no_address() -> None:
    assert "://" not in (FOLDER / "requirements-peers.txt").read_text()


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_has_somebody_who_makes_its_work(name: str) -> None:
    module, function = PEERS[name].maker
    assert callable(getattr(importlib.import_module(module), function))
