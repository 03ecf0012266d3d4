"""The picture of the tree in docs/architecture.md: `python -m tests.architecture` draws it anew.

Each package and each room of it is one line: its name, and the first sentence of its `__init__`. Rooms stand in the
order of the import contract, top first; those without a place in it follow by name.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
PACKAGES = ("assistant", "tools", "llm", "resilience")
#: What stands round the picture on the page.
START, END = "<!-- the tree: python -m tests.architecture -->\n```\n", "```\n<!-- end of the tree -->"


def picture() -> str:
    """Return the picture of the tree as it is."""
    lines = [line for package in PACKAGES for line in _package(package)]
    width = max(len(name) for name, _ in lines) + 2
    return "".join(f"{name:<{width}}{said}\n" for name, said in lines)


def drawn() -> str:
    """Return the picture on the page."""
    return PAGE.read_text().split(START)[1].split(END)[0]


def draw() -> None:
    """Put the picture of the tree on the page."""
    before, rest = PAGE.read_text().split(START)
    PAGE.write_text(before + START + picture() + END + rest.split(END)[1])


def _package(package: str) -> Iterator[tuple[str, str]]:
    yield f"{package}/", first_sentence(ROOT / package)
    ranks = _ranks()
    rooms = [path.parent for path in (ROOT / package).glob("*/__init__.py")]
    for room in sorted(rooms, key=lambda room: (ranks.get(f"{package}.{room.name}", len(ranks)), room.name)):
        yield f"  {room.name}/", first_sentence(room)


def first_sentence(folder: Path) -> str:
    """Return the first sentence of a folder's docstring, without what follows it or stands in brackets."""
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert told, f"{folder.relative_to(ROOT)}/__init__.py does not say what the folder is for"
    return re.split(r"(?<=\.)\s", " ".join(told.split("\n\n")[0].split()))[0]


def _ranks() -> dict[str, int]:
    """Return the place of each module in the layers of the import contract."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    ranks: dict[str, int] = {}
    for contract in settings["tool"]["importlinter"]["contracts"]:
        for prefix in contract.get("containers", [""]):
            for layer in contract.get("layers", []):
                for name in re.findall(r"[\w.]+", layer):
                    ranks.setdefault(f"{prefix}.{name}".removeprefix("mud_assistant."), len(ranks))
    return ranks


if __name__ == "__main__":
    draw()
