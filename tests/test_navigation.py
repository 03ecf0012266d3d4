"""The site's navigation and links, without building it: `make site` does that, and checks the rest strictly."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from scripts.site.hosts import fetched_from_other_hosts
from scripts.site.staging import FRONT, LinkError, Staging, navigation, pages

ROOT = Path(__file__).parents[1]
#: Reached by the list of decisions, which the site makes of the folder.
DECISION = re.compile(r"docs/decisions/\d{4}-.*\.md")


def test_the_navigation_names_each_page_once() -> None:
    entries = [entry for section in navigation((ROOT / FRONT).read_text()).values() for entry in section]
    named = [os.path.normpath(Path(FRONT).parent / target) for _, target in entries]
    expected = [page for page in pages(ROOT) if page != FRONT and not DECISION.fullmatch(page)]
    assert sorted(named) == sorted(expected), f"one line of a section in {FRONT} for each page"
    assert all(navigation((ROOT / FRONT).read_text()).values()), "a section without a page"
    texts = [text for text, _ in entries]
    assert sorted(texts) == sorted(set(texts))


def test_all_pages_can_be_laid_out(tmp_path: Path) -> None:
    count = Staging(ROOT, tmp_path / "pages").fill()
    assert count == len(list((tmp_path / "pages").rglob("*.md")))
    assert "../" not in (tmp_path / "pages/index.md").read_text()
    assert "mermaid" not in (tmp_path / "pages/machines.md").read_text()


def project(root: Path, page: str) -> Path:
    """Make a repository with one page besides the front, and a source file."""
    (root / "docs/decisions").mkdir(parents=True)
    (root / "code").mkdir()
    (root / "code/file.py").touch()
    (root / "CODE_OF_CONDUCT.md").write_text("# Conduct\n")
    (root / "docs/example.toml").touch()
    (root / "docs/decisions/index.md").write_text("# Decisions\n")
    (root / "docs/index.md").write_text("# Front\n\n## Readers\n\n- [Page](page.md): a page.\n")
    (root / "docs/page.md").write_text(page)
    return root


@pytest.mark.parametrize(
    ("link", "plain", "linked"),
    [
        ("[`code/file.py`](../code/file.py)", "`code/file.py`", "[`code/file.py`](https://x/blob/main/code/file.py)"),
        ("[the file](../code/file.py)", "the file (`code/file.py`)", "[the file](https://x/blob/main/code/file.py)"),
        ("[the folder](../code)", "the folder (`code`)", "[the folder](https://x/tree/main/code)"),
        ("[us](../CODE_OF_CONDUCT.md#a)", "[us](code-of-conduct.md#a)", "[us](code-of-conduct.md#a)"),
        ("[why](decisions/)", "[why](decisions/index.md)", "[why](decisions/index.md)"),
        ("[file](example.toml)", "[file](example.toml)", "[file](example.toml)"),
        ("[out](https://example.org)", "[out](https://example.org)", "[out](https://example.org)"),
        ("`[code](nowhere.md)`", "`[code](nowhere.md)`", "`[code](nowhere.md)`"),
    ],
)
def test_a_link_is_right_on_the_site(link: str, plain: str, linked: str, tmp_path: Path) -> None:
    root = project(tmp_path / "project", link)
    for repository, expected in (("", plain), ("https://x/", linked)):
        Staging(root, tmp_path / "pages", repository).fill()
        assert (tmp_path / "pages/page.md").read_text() == expected


def test_a_link_to_nothing_is_told_with_its_line(tmp_path: Path) -> None:
    root = project(tmp_path / "project", "# Page\n\n[gone](gone.md)\n")
    with pytest.raises(LinkError, match=re.escape("docs/page.md:3: gone.md is not there")):
        Staging(root, tmp_path / "pages").fill()


def test_a_front_page_gets_its_tables_of_contents(tmp_path: Path) -> None:
    Staging(project(tmp_path / "project", "# Page\n"), tmp_path / "pages").fill()
    assert ":caption: Readers\n\nPage <page>\n" in (tmp_path / "pages/index.md").read_text()


def test_what_is_fetched_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="https://a.example">a</a><link rel="canonical" href="https://b.example"><img src="own.png">'
        '<script src="//c.example/x.js"></script><style>@import "https://d.example/x.css";</style>'
    )
    (tmp_path / "style.css").write_text("a { background: url(https://e.example/x.png) } b { src: url(own.woff) }")
    assert list(fetched_from_other_hosts(tmp_path)) == [
        "page.html: https://d.example/x.css",
        "page.html: //c.example/x.js",
        "style.css: https://e.example/x.png",
    ]


def test_the_recording_stands_alone() -> None:
    text = (ROOT / "docs/pictures/two-minutes.svg").read_text()
    assert len(text.encode()) < 150_000
    assert "<script" not in text
    assert "@font-face" not in text
    assert not re.findall(r"(?:href|src)=|url\(|@import", text)
    assert "prefers-reduced-motion" in text
    header, *events = map(json.loads, (ROOT / "docs/pictures/two-minutes.cast").read_text().splitlines())
    assert set(header) == {"version", "width", "height", "title", "idle_time_limit"}
    whole = "".join(text for _, _, text in events)
    assert not re.findall(r"/(?:root|home|work|tmp|Users)/", whole)
