"""Rewrites the names of modules in the files of a game that were written for the version before.

What was imported as `assistant` is `mud_assistant.assistant` now, and so on (`mud_assistant/former_names.py`). The line
in a game's settings comes before anything of ours is loaded, so nothing but a change of the file can make it work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mud_assistant.assistant.durable import write_whole
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.former_names import NAMES

_OURS = Path(__file__).parents[2]
_NAME = "|".join(NAMES)
_IMPORT = re.compile(rf"^([ \t]*(?:from|import) )((?:{_NAME})(?:\.\w+)*)(?=[ ,;\n]|$)", re.MULTILINE)
_QUOTED = re.compile(rf"(?<=[\"'])((?:{_NAME})(?:\.\w+)+)(?=[\"'])")
#: Folders in which nothing is the owner's own writing.
_NOT_WRITTEN = frozenset({"__pycache__", "node_modules", "site-packages"})


def renamed(text: str, own: frozenset[str] = frozenset()) -> str:
    """Return a Python file with our modules called by their present names. `own` are packages of the game's own."""

    def present(path: str) -> str:
        first, _, rest = path.partition(".")
        room = _OURS / first / rest.partition(".")[0]
        is_ours = first not in own and (room.is_dir() or room.with_suffix(".py").exists())
        return f"mud_assistant.{path}" if is_ours else path

    text = _IMPORT.sub(lambda found: found[1] + present(found[2]), text)
    return _QUOTED.sub(lambda found: present(found[1]), text)


def upgrade(folder: Path, say: Callable[[str], None]) -> int:
    """Rewrite the Python files of a game that name our modules as the version before did; return how many. Blocks.

    `say` gets a line for each. A second call finds nothing to do. Raises AssistantError when there is no such folder,
    or a file cannot be written.
    """
    if not folder.is_dir():
        raise AssistantError(f"there is no folder {folder}")
    count = 0
    for path, new in to_rewrite(folder):
        try:
            write_whole(path, new.encode(), path.stat().st_mode & 0o777)
        except OSError as error:
            raise AssistantError(f"{path} cannot be rewritten: {error.strerror}") from error
        count += 1
        say(f"{path.relative_to(folder)} names mud_assistant now")
    return count


def to_rewrite(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each Python file of a game that names our modules as the version before did, with its new text. Blocks.

    Raises AssistantError for a file that cannot be read.
    """
    own = frozenset(name for name in NAMES if (folder / name).is_dir())
    for path in _written(folder):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        except OSError as error:
            raise AssistantError(f"{path} cannot be read: {error.strerror}") from error
        if (new := renamed(text, own)) != text:
            yield path, new


def _written(folder: Path) -> Iterator[Path]:
    """Yield the Python files in a folder, but for those of environments and caches."""
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        if not _NOT_WRITTEN & set(inside) and not any(part.startswith((".", "venv")) for part in inside):
            yield path
