"""What pages that are built to cost a parser much cost the process of the reactor, in a process that shows all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mud_assistant.tools.web.extracting.process import worker_environment

for package in ("trafilatura", "html_to_markdown", "pypdf"):
    pytest.importorskip(package)

ROOT = Path(__file__).parents[4]
#: How each must end.
ENDS = {
    "20,000 attributes in a tag": "attributes",
    "300,000 attributes in a tag": "is larger than",
    "160,000 paragraphs": "over 100,000 tags",
    "1,000 nested tags": "nested over 256 deep",
    "1 MB of unclosed tags": "nested over 256 deep",
    "entities of entities in XML": "characters",
    "a PDF that unpacks to 60 MB of operators": "the page at bomb.example (application/pdf, 92 kB)",
    "a PDF packed twice, to 1 GB": "cannot be read",
    "90,000 paragraphs, which the pre-scan lets through": "",
    "2 million less-than signs": "",
    "a JSON of 900,000 levels": "900000 characters",
}


@pytest.mark.slow  # each bomb may take its five seconds, and a new worker
def test_no_bomb_is_parsed_where_the_reactor_runs_and_each_ends_clearly() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.web.extracting.bombs"],
        env=worker_environment(os.environ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    *records, last = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        print("{page}: {s:.2f} s; here {whole_ms:.1f} ms, {turn_ms:.1f} ms at once; {ended}".format(**record))  # noqa: T201  (shown with -s)
    assert [record["page"] for record in records] == ["a page", *ENDS], done.stderr
    for record in records[1:]:
        assert ENDS[record["page"]] in record["ended"]
        assert (
            record["ended"].startswith(("parse: the page at", "timeout: the page at"))
            or "characters" in record["ended"]
        )
        assert record["s"] < 30  # 5 s and a start; a busy machine may need more
    assert last["started"] <= 1 + last["killed"]
    assert set(last["modules"]).isdisjoint({"lxml", "trafilatura", "html_to_markdown", "pypdf"})
