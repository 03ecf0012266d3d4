"""Modules of the version before, by the names they had: for this release they go on working, and say the new name.

Only names that games, tools and pages of that version used are here. Imports nothing of ours.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import MappingProxyType, ModuleType
from typing import Any

#: The module that holds the names now, by the module's former name.
MOVED: Mapping[str, str] = MappingProxyType(
    {
        "assistant.bound_keys": "assistant.models.bound_keys",
        "assistant.build": "assistant.runtime.build",
        "assistant.choose_model": "assistant.models.choose",
        "assistant.ears": "assistant.runtime.listener",
        "assistant.redaction": "assistant.keys.redaction",
        "assistant.settings": "assistant.config.settings",
        "assistant.storage": "assistant.runtime.storage",
        "assistant.wiring": "assistant.models.bound_keys",
        "assistant.worlds.hamlet": "assistant.worlds.embedded.hamlet",
        "tools.web.providers": "tools.web.source.protocol",
        "tools.world": "tools.verbs",
    }
)
#: The names that changed with the move, by the former module and the former name; with its module, for a name that is
#: elsewhere than the others.
RENAMED: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("assistant.build", "Surroundings"): "Dependencies",
        ("assistant.choose_model", "NoModelError"): "assistant.errors.NoModelError",
        ("assistant.ears", "AssistantEars"): "AssistantListener",
        ("assistant.wiring", "embedded_model"): "assistant.service.embedded.embedded_model",
        ("assistant.wiring", "key_sources"): "assistant.keys.reference.key_sources",
        ("assistant.wiring", "load_web"): "assistant.web.shared.load_web",
        ("assistant.wiring", "warm"): "assistant.runtime.warming.warm",
    }
)


class FormerModules(MetaPathFinder, Loader):
    """Finds a module by its former name."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for a former name, None for any other."""
        return ModuleSpec(name, self, origin=MOVED[name]) if name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module every name of the one that replaces it."""
        former, now = module.__name__, MOVED[module.__name__]
        found = import_module(now)
        warnings.warn(f"{former} is now called {now}", DeprecationWarning, stacklevel=2)

        # Any: a module's names have any type.
        def named(name: str) -> Any:
            module, _, present = RENAMED.get((former, name), name).rpartition(".")
            return getattr(import_module(module) if module else found, present)

        module.__dict__["__getattr__"] = named


def install() -> None:
    """Let the former names be imported in this process. Calling it again changes nothing."""
    if not any(isinstance(finder, FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(FormerModules())
