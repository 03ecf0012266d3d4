"""Lets a package understand the public names of the version before, for one release."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping


def former_names(module: str, renamed: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of `module`, which gives what had a former name and warns the code that uses it.

    `renamed` holds the new name of each former one. Any other name raises AttributeError, as without it. Assign it
    where a type checker does not look (`if not TYPE_CHECKING`): it would take every name for a valid one.
    """

    def find(name: str) -> object:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = renamed[name]
        warnings.warn(f"{module}.{name} is now called {module}.{new}", DeprecationWarning, stacklevel=2)
        found: object = getattr(sys.modules[module], new)
        return found

    return find
