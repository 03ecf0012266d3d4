"""Names that settings had in the version before. They are understood for one release, and the owner is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: By table: the former name of a setting, and its name now.
FORMER_NAMES: Mapping[str, Mapping[str, str]] = {
    "assistant": {
        "excuse": "fallback_line",
        "excuse_every_seconds": "fallback_every_seconds",
        "budget_excuse": "budget_line",
        "rate_excuse": "rate_line",
        "waking": "waking_line",
        "needs": "required_permission",
    },
}


def with_new_names(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables with each setting under its present name. Where both names are set, the present one counts."""
    renamed = dict(tables)
    for table, names in FORMER_NAMES.items():
        if isinstance(values := tables.get(table), Mapping) and not names.keys().isdisjoint(values):
            now = {names[name]: value for name, value in values.items() if name in names}
            renamed[table] = now | {name: value for name, value in values.items() if name not in names}
    return renamed


def list_renamed(tables: Mapping[str, Any]) -> list[str]:
    """Return a sentence, without a full stop, for each setting of these tables that has its former name."""
    return [
        is_now_called(table, name)
        for table, names in FORMER_NAMES.items()
        if isinstance(values := tables.get(table), Mapping)
        for name in names
        if name in values
    ]


def present_name(table: str, name: str) -> str:
    """Return the present name of a setting of this table, which may be the one given."""
    return FORMER_NAMES.get(table, {}).get(name, name)


def is_now_called(table: str, former: str) -> str:
    """Say what the setting with this former name is called now, without a full stop."""
    return f"{table}.{former} is now called {table}.{FORMER_NAMES[table][former]}"
