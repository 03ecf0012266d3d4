"""`python -m mud_assistant.tools.web.testing` as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "mud_assistant.tools.web.testing"]


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The URL of a fake in a process of its own."""
    child = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        yield child.stdout.readline().strip()
    finally:
        child.terminate()
        child.communicate(timeout=10)
    assert child.returncode == 0


def opened(url: str) -> Any:
    return urllib.request.urlopen(url)  # noqa: S310  (a fake's own address)


def test_help_teaches() -> None:
    said = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    for word in ("brave", "month-used-up", "json-off", "keyless-month", "proxy", "curl", "--port"):
        assert word in said


def test_a_fake_answers() -> None:
    with running("searxng", "--port", "0") as url, opened(f"{url}/search?q=well&format=json") as reply:
        assert [hit["title"] for hit in json.load(reply)["results"]][1] == "The well, part 1"


def test_a_fault_and_a_key_are_taken() -> None:
    with running("brave", "--fault", "rate-limit", "--key", "made-up") as url:
        with pytest.raises(urllib.error.HTTPError) as caught:
            opened(f"{url}/web/search?q=well")
        with caught.value as error:
            assert error.code == 429
            assert error.headers["X-RateLimit-Remaining"] == "0, 14523"


def test_an_unknown_fault_is_told() -> None:
    said = subprocess.run([*COMMAND, "tavily", "--fault", "gremlins"], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "plan-used-up" in said.stderr
