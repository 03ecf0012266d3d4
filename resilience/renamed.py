"""Former names of public things, which are understood for one release."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping


def former_names(module_name: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for the module that knows the former names and warns who uses one.

    `names` gives the new name for each former one. Hide the result from type checkers, which would take every name
    for a valid one:

        if not TYPE_CHECKING:
            __getattr__ = former_names(__name__, {"Order": "Call"})
    """

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
        new = names[name]
        warnings.warn(
            f"{module_name}.{name} is now called {module_name}.{new}",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module_name], new)

    return find
