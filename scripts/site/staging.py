"""Lays the pages of this repository out as one folder that the generator reads.

A page of `docs/` keeps its path, a page beside the README comes into the same folder. A link to a page follows it
there; one to a file that is no page becomes a download where the file stands in `docs/`, else a link to the
repository, or the file's name where no address of the repository is given. A state machine that a forge draws becomes
a table of its changes: what draws it in a browser is three megabytes of script.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

#: The page that the navigation is read from: a heading is a section, an item that begins with a link is a page.
FRONT = "docs/index.md"
_DECISIONS = "docs/decisions/index.md"
_FENCE = re.compile(r"^\s*(```|~~~)")
#: Code, which is left alone, or a link or picture.
_LINK = re.compile(r"`+[^`]*`+|\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_EDGE = re.compile(r"^\s*(\S+) --> (\S+?)(?:: (.+))?$")
_ITEM = re.compile(r"^- \[(?P<text>[^\]]+)\]\((?P<target>[^)]+)\)")


class LinkError(Exception):
    """Pages link to what is not there. Its text has a line for each such link."""


def pages(root: Path) -> dict[str, str]:
    """Return the path of each page in the repository, with its path on the site."""
    beside = (path for path in sorted(root.glob("*.md")) if path.name != "README.md")
    below = (path for path in sorted((root / "docs").rglob("*.md")))
    named = {path.name: path.name.lower().replace("_", "-") for path in beside}
    return named | {path.relative_to(root).as_posix(): path.relative_to(root / "docs").as_posix() for path in below}


def navigation(front: str) -> dict[str, list[tuple[str, str]]]:
    """Return the sections of a front page, each with the text and the target of its items."""
    sections: dict[str, list[tuple[str, str]]] = {}
    entries: list[tuple[str, str]] = []
    for line in front.splitlines():
        if line.startswith("## "):
            entries = sections.setdefault(line[3:].strip(), [])
        elif item := _ITEM.match(line):
            entries.append((item["text"], item["target"]))
    return sections


class Staging:
    """Copies of all pages in `folder`, their links fitted to it. `repository` is its address on a forge, or empty."""

    def __init__(self, root: Path, folder: Path, repository: str = "") -> None:
        self._root = root
        self._folder = folder
        self._repository = repository.rstrip("/")
        self._pages = pages(root)
        self._broken: list[str] = []

    def fill(self) -> int:
        """Write the folder anew and return the number of pages. Raises LinkError."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for source, page in self._pages.items():
            text = "".join(self._lines(source))
            if source == FRONT:
                text += _contents(text)
            elif source == _DECISIONS:
                text += "\n```{toctree}\n:maxdepth: 1\n:glob:\n\n0*\n```\n"
            self._write(page, text)
        if self._broken:
            raise LinkError("\n".join(self._broken))
        return len(self._pages)

    def _lines(self, source: str) -> Iterator[str]:
        """Give the lines of a page as they are right on the site."""
        is_code = is_drawing = False
        for number, line in enumerate((self._root / source).read_text().splitlines(keepends=True), 1):
            if _FENCE.match(line):
                is_code = not is_code
                starts_drawing = is_code and line.strip() == "```mermaid"
                if not (starts_drawing or is_drawing):
                    yield line
                elif starts_drawing:
                    yield "| from | to | when |\n|---|---|---|\n"
                is_drawing = starts_drawing
            elif is_drawing:
                yield _row(line)
            elif is_code:
                yield line
            else:
                yield _LINK.sub(partial(self._fitted, source, number), line)

    def _fitted(self, source: str, number: int, found: re.Match[str]) -> str:
        """Return a link of a page as it is right on the site."""
        target = found["target"]
        if target is None or re.match(r"#|[a-z]+:", target):
            return found[0]
        name, mark, anchor = target.partition("#")
        path = os.path.normpath(PurePosixPath(source).parent / name)
        if (self._root / path / "index.md").exists():
            path = f"{path}/index.md"
        if not (self._root / path).exists():
            self._broken.append(f"{source}:{number}: {target} is not there")
            return found[0]
        text, here = found["text"], PurePosixPath(self._pages[source]).parent
        if path in self._pages:
            return f"[{text}]({os.path.relpath(self._pages[path], here)}{mark}{anchor})"
        if path.startswith("docs/") and (self._root / path).is_file():
            copied = path.removeprefix("docs/")
            self._copy(path, copied)
            return f"[{text}]({os.path.relpath(copied, here)})"
        if self._repository:
            kind = "tree" if (self._root / path).is_dir() else "blob"
            return f"[{text}]({self._repository}/{kind}/main/{path}{mark}{anchor})"
        return f"`{path}`" if text.strip("`") in path else f"{text} (`{path}`)"

    def _copy(self, path: str, copied: str) -> None:
        (self._folder / copied).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._root / path, self._folder / copied)

    def _write(self, page: str, text: str) -> None:
        (self._folder / page).parent.mkdir(parents=True, exist_ok=True)
        (self._folder / page).write_text(text)


def _row(line: str) -> str:
    """Return a row of a table for a line of a drawn state machine, nothing for one that is no change of state."""
    if not (edge := _EDGE.match(line)):
        return ""
    begin, end, reason = edge.groups(default="")
    return f"| {'start' if begin == '[*]' else f'`{begin}`'} | `{end}` | {reason} |\n"


def _contents(front: str) -> str:
    """Return the tables of contents that the generator makes its sidebar from."""
    tables = []
    for section, entries in navigation(front).items():
        lines = "\n".join(f"{text} <{target.removesuffix('.md')}>" for text, target in entries)
        tables.append(f"\n```{{toctree}}\n:hidden:\n:caption: {section}\n\n{lines}\n```\n")
    return "".join(tables)
