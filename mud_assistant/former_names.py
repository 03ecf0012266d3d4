"""Understands the names under which the version before was imported: `tools.verbs` for `mud_assistant.tools.verbs`.

Files that owners wrote, such as tools of their own, go on working so for one release. A package of somebody else's that
has such a name is theirs: it is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

#: What could be imported without `mud_assistant.` before.
NAMES = ("assistant", "llm", "resilience", "tools")


class FormerNames(MetaPathFinder, Loader):
    """Finds our packages by their former names, and gives the same modules, never a second copy."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module by its former name, None for a name that is another's or no former one."""
        first, _, rest = fullname.partition(".")
        if first not in NAMES or (_is_anothers(first) if not rest else not _is_ours(sys.modules.get(first))):
            return None
        return spec_from_loader(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put our module in the place of the one that was made, and log once what a package is called now."""
        name = module.__name__
        sys.modules[name] = import_module(f"mud_assistant.{name}")
        if "." not in name:
            from twisted.logger import Logger  # noqa: PLC0415  (nobody who uses the present names needs it)

            Logger().warn(
                "'{name}' is imported as 'mud_assistant.{name}' now; the next release does not know the short name. "
                "mud-assistant upgrade FOLDER rewrites it",
                name=name,
            )


def _is_ours(module: ModuleType | None) -> bool:
    return module is not None and module.__name__.startswith("mud_assistant.")


def _is_anothers(name: str) -> bool:
    """Tell whether Python finds a package or module of this name that is not the folder that ours is linked to."""
    spec, ours = PathFinder.find_spec(name), Path(__file__).with_name(name).resolve()
    return spec is not None and ours not in [Path(place).resolve() for place in spec.submodule_search_locations or ()]


def understand() -> None:
    """Understand the former names from now on. A second call changes nothing."""
    if not any(isinstance(finder, FormerNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, FormerNames())
