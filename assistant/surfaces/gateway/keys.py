"""Runs the command `mud-assistant gateway keys`: makes, lists, shows and revokes the keys of programs."""

from __future__ import annotations

import argparse
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from msgspec import Struct, field

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.settings import DEFAULT_FILE, read_settings
from mud_assistant.assistant.gateway.keys.store import KeyStore, StoredKeys, key_store
from mud_assistant.assistant.gateway.keys.virtual_key import IN_FLIGHT, PER_SECOND, KeyLimits, VirtualKey
from mud_assistant.assistant.gateway.keys.wording import limits_text, made_text, state_text
from mud_assistant.assistant.journal.errors import CannotRead
from mud_assistant.assistant.journal.place import JournalPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.loop.spending import KEY_ACCOUNT
from mud_assistant.assistant.page.reading.money import read_usage
from mud_assistant.assistant.service.usage_store import UsageRow, day_of
from mud_assistant.assistant.surfaces.journal.places import PlaceFinder
from mud_assistant.resilience import Allowance, Amount, Ledger
from mud_assistant.resilience.amounts import add_up


class KeysOptions(Struct, frozen=True):
    """The options of the command line. `limits` are those of a key that is made."""

    action: str
    name: str = ""
    limits: KeyLimits = field(default_factory=KeyLimits)
    config: Path | None = None


def keys_options(options: argparse.Namespace) -> KeysOptions:
    """Return what was parsed."""
    if options.action != "add":
        return KeysOptions(options.action, getattr(options, "name", ""), config=options.config)
    limits = KeyLimits(
        options.models,
        Allowance(options.calls_per_day, options.tokens_per_day, options.money_per_day),
        Allowance(options.calls_per_month, options.tokens_per_month, options.money_per_month),
        options.at_once or IN_FLIGHT,
        options.per_second or PER_SECOND,
        options.expires,
        options.note,
    )
    return KeysOptions("add", options.name, limits, options.config)


def run_keys(
    options: KeysOptions, tell: Callable[[str], None], wall: float, environment: Mapping[str, str] | None = None
) -> int:
    """Do what the options say and return the exit status. `tell` shows a text; `wall` is in seconds since 1970.

    The password of a database may be in the `environment`. Raises AssistantError. Blocks.
    """
    config = read_settings(options.config, {})
    folder = (options.config or DEFAULT_FILE).absolute().parent
    store = key_store(config.gateway, folder)
    match options.action:
        case "add":
            _add(store, options, config, tell, wall)
        case "list":
            tell(_list(store.load(), store.path, wall))
        case "show":
            key = store.load().named(options.name)
            tell(f"{_facts(key, wall)}\n{_usage(key.name, config, folder, environment or {}, wall)}")
        case "revoke":
            was_open = store.revoke(options.name, wall)
            tell(
                f"The key {options.name} was revoked: it is not taken any more, by a gateway that runs within a second."
                if was_open
                else f"The key {options.name} was revoked before."
            )
    return 0


def _add(store: KeyStore, options: KeysOptions, config: Config, tell: Callable[[str], None], wall: float) -> None:
    secret = store.add(options.name, options.limits, wall, secrets.token_bytes)
    tell(f"The key {options.name} was made ({limits_text(options.limits)}). Its secret is shown only now:\n")
    tell(f"  {secret}\n")
    tell("Programs send it as `Authorization: Bearer SECRET` or `x-api-key: SECRET`.")
    offered = config.gateway.models
    if offered and (unknown := [model for model in options.limits.models if model not in offered]):
        tell(f"[gateway.models] of the settings has no {', '.join(unknown)}; it has: {', '.join(offered)}.")


def _list(stored: StoredKeys, path: Path, wall: float) -> str:
    if not stored.keys:
        return f"There are no keys in {path}: programs on this machine may use the gateway without one."
    rows = [(key.name, state_text(key, wall), limits_text(key.limits), key.limits.note) for key in stored.keys]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def _facts(key: VirtualKey, wall: float) -> str:
    lines = [f"{key.name}: {state_text(key, wall)}, {made_text(key)}", f"  may: {limits_text(key.limits)}"]
    if key.limits.note:
        lines.append(f"  note: {key.limits.note}")
    return "\n".join(lines)


def _usage(name: str, config: Config, folder: Path, environment: Mapping[str, str], wall: float) -> str:
    """Return what a key used today and in this month, by the journal of the settings. Raises CannotRead."""
    today = day_of(Ledger(lambda: wall, lambda: wall, config.budget.utc_offset).day)
    place = PlaceFinder(config.journal, folder, environment, Secrets()).of_settings()
    if place is None:
        return "  used: not known, because nothing is kept on disk (journal.file of the settings)"
    if isinstance(place, Path) and not place.exists():
        return "  used: nothing yet"
    rows = [row for row in _rows(place, today, wall) if row.account == f"{KEY_ACCOUNT}{name}"]
    day, month = add_up(row.used for row in rows if row.day == today), add_up(row.used for row in rows)
    return f"  used today: {_amount_text(day)}\n  used in {today:%Y-%m}: {_amount_text(month)}"


def _rows(place: JournalPlace, today: date, wall: float) -> list[UsageRow]:
    with open_for_reading(place, wall) as journal:
        try:
            return read_usage(journal.db, today.replace(day=1), today)
        except sqlite3.Error as error:
            raise CannotRead(f"{place}: what was used cannot be read ({error})") from error


def _amount_text(amount: Amount) -> str:
    return f"{amount.calls} calls, {amount.tokens} tokens, {amount.money:.4f} money"
