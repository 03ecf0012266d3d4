"""Documentation that packages on this machine ship. Which there is differs; each test says what it looked at."""

from __future__ import annotations

import re
from glob import glob
from pathlib import Path

import pytest

from mud_assistant.tools.web.extracting.html import read_html

pytest.importorskip("trafilatura")
pytest.importorskip("html_to_markdown")

PLACES = (
    "/usr/share/doc/nodejs/api/*.html",
    "/usr/lib/node_modules/npm/docs/output/commands/npm-[a-i]*.html",
    "~/.rustup/toolchains/stable-*/share/doc/rust/html/book/ch0*.html",
    "/usr/share/doc/valgrind/html/*-manual.html",
    "/usr/share/doc/libffi*/html/*.html",
    "/usr/share/doc/libxslt1-dev/html/tutorial/*.html",
)
MAX_PAGES = 12
_FENCE = re.compile(r"^[ \t>]*```", re.MULTILINE)
_BLOCK = re.compile(r"<pre[\s>]")


def _found(place: str) -> list[str]:
    return glob(str(Path(place).expanduser()))  # noqa: PTH207  (the pattern begins at the root)


@pytest.mark.parametrize("place", PLACES)
def test_code_blocks_of_real_documentation_are_kept(place: str) -> None:
    pages = [(path, Path(path).read_text(errors="replace")) for path in sorted(_found(place))[:MAX_PAGES]]
    coded = [(path, text, len(_BLOCK.findall(text))) for path, text in pages if len(text) < 2_000_000]
    coded = [(path, text, blocks) for path, text, blocks in coded if blocks >= 2]
    if not coded:
        pytest.skip(f"no documentation at {place}")
    kept = {
        path: (len(_FENCE.findall(read_html(text, "https://h/").markdown)) // 2, blocks) for path, text, blocks in coded
    }
    print(place, kept)  # noqa: T201  (shown with -s)
    assert sum(found for found, _ in kept.values()) >= 0.95 * sum(blocks for _, blocks in kept.values())
