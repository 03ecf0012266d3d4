"""What this repository measures: `python -m tests.limits` prints it beside `limits.toml`.

The numbers are those by which a stranger meets the house: how much there is, how often one name stands for two things,
how much one value carries. Test doubles that are shipped (`llm/testing` and the like) count as lines, not as names.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from shutil import which
from typing import Any

from pydantic import BaseModel

from mud_assistant.assistant.config.schema import Config
from tests.architecture import PACKAGES, ROOT

FILE = "limits.toml"
#: Folders whose files are one thing each, however short: a provider, a verb, a reader.
_ONE_EACH = frozenset({"providers", "verbs", "readers", "search", "read"})
_DOUBLES = frozenset({"testing", "fakes", "faults"})
LONG_FILE, LONG_FUNCTION, SHORT_FILE, FULL_FOLDER = 300, 50, 40, 14
_BROAD = re.compile(r"except\s*(?:Exception|BaseException)?\s*(?:as \w+)?:")
_IGNORED = re.compile(r"#\s*(?:type: ignore|noqa|pragma: no cover)")


class Source:
    """The files of the packages, read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts = {path: path.read_text() for name in PACKAGES for path in sorted((root / name).rglob("*.py"))}
        self.texts |= {path: path.read_text() for path in sorted((root / "mud_assistant").glob("*.py"))}
        self.tests = [path.read_text() for path in (root / "tests").rglob("*.py")]

    @cached_property
    def trees(self) -> dict[Path, ast.Module]:
        """The syntax trees of the files."""
        return {path: ast.parse(text) for path, text in self.texts.items()}

    @cached_property
    def lines(self) -> dict[Path, int]:
        """The number of lines of each file."""
        return {path: text.count("\n") for path, text in self.texts.items()}

    def functions(self) -> list[int]:
        """Return the number of lines of each function."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = (node for tree in self.trees.values() for node in ast.walk(tree) if isinstance(node, kinds))
        return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes]

    def classes(self) -> list[ast.ClassDef]:
        """Return the public classes of the product."""
        product = [
            tree for path, tree in self.trees.items() if not {*path.relative_to(self.root).parts, path.stem} & _DOUBLES
        ]
        nodes = (node for tree in product for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        return [node for node in nodes if not node.name.startswith("_")]

    def fields(self, name: str) -> int:
        """Return the number of fields of the class with this name."""
        [found] = (node for node in self.classes() if node.name == name)
        return sum(isinstance(each, ast.AnnAssign) for each in found.body)

    def circles(self) -> int:
        """Return 1 when files import each other in a circle, else 0."""
        modules = {".".join(path.relative_to(self.root).with_suffix("").parts): path for path in self.texts}
        arrows = {name: set(_imported(self.trees[path])) & modules.keys() - {name} for name, path in modules.items()}
        try:
            TopologicalSorter(arrows).prepare()
        except CycleError:
            return 1
        return 0


def measured(source: Source) -> dict[str, int]:
    """Return all numbers that the text of the repository tells, by their names in `limits.toml`."""
    lines, functions = source.lines, source.functions()
    folders = Counter(path.parent for path in lines)
    stems = Counter(path.stem for path in lines if path.stem != "__init__")
    short = [path for path, count in lines.items() if count < SHORT_FILE and path.stem != "__init__"]
    whole = "".join(source.texts.values())
    return {
        "source_lines": sum(lines.values()),
        "source_files": len(lines),
        "files_over_300_lines": sum(count > LONG_FILE for count in lines.values()),
        "functions_over_50_lines": sum(count > LONG_FUNCTION for count in functions),
        "files_under_40_lines": sum(not _ONE_EACH & set(path.parts) for path in short),
        "folders_over_14_files": sum(count > FULL_FOLDER for count in folders.values()),
        "file_names_twice": _twice(stems),
        "class_names_twice": _twice(Counter(node.name for node in source.classes())),
        "import_circles": source.circles(),
        "fields_of_run_context": source.fields("RunContext"),
        "fields_of_run": source.fields("Run"),
        "settings": _settings(Config),
        "broad_excepts": len(_BROAD.findall(whole)),
        "ignores": len(_IGNORED.findall(whole)),
        "test_lines_per_100_source_lines": 100 * sum(text.count("\n") for text in source.tests) // sum(lines.values()),
    }


def limits(text: str) -> dict[str, dict[str, int]]:
    """Return the tables of a `limits.toml`."""
    tables: dict[str, dict[str, int]] = tomllib.loads(text)
    return tables


def loosened(before: Mapping[str, Mapping[str, int]], now: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Return the names of the limits that allow more than they did, or are gone."""
    most, least = now.get("most", {}), now.get("least", {})
    risen = {name for name, limit in before.get("most", {}).items() if name not in most or most[name] > limit}
    return risen | {name for name, limit in before.get("least", {}).items() if name not in least or least[name] < limit}


def text_before(root: Path) -> str | None:
    """Return `limits.toml` as it was in the commit before, None where git cannot tell. Blocks."""
    if (git := which("git")) is None:
        return None
    is_changed = subprocess.run([git, "diff", "--quiet", "HEAD", "--", FILE], cwd=root, check=False).returncode
    commit = "HEAD" if is_changed else "HEAD~1"
    shown = subprocess.run([git, "show", f"{commit}:{FILE}"], cwd=root, check=False, capture_output=True, text=True)
    return shown.stdout if shown.returncode == 0 else None


def _twice(names: Counter[str]) -> int:
    return sum(count > 1 for count in names.values())


def _settings(model: type[BaseModel]) -> int:
    """Return how many settings the tables of a model have, those of tables in it among them."""
    tables = {name: info.annotation for name, info in model.model_fields.items()}
    inner = [kind for kind in tables.values() if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return len(tables) - len(inner) + sum(map(_settings, inner))


def _imported(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            module = node.module.removeprefix("mud_assistant.")
            yield from (module, *(f"{module}.{alias.name}" for alias in node.names))


def main() -> None:
    """Print each number with its limit."""
    tables: dict[str, Any] = limits((ROOT / FILE).read_text())
    known = {**tables["most"], **tables["least"]}
    for name, number in measured(Source(ROOT)).items():
        sys.stdout.write(f"{name:32} {number:>8} {known.get(name, '-'):>8}\n")


if __name__ == "__main__":
    main()
