"""Shows and sets what may be spent in a day, and shows what was spent by assistant, by player and by day."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from mud_assistant.assistant.config.schema import AllowanceConfig, BudgetConfig
from mud_assistant.assistant.loop.spending import INITIATIVE_ACCOUNT, TOTAL, AccountKind, kind_of_account
from mud_assistant.assistant.service.usage_store import UsageRow
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.console.showing import count_of, number, paragraph, table
from mud_assistant.assistant.worlds.evennia.console.typed_command import (
    Answer,
    CommandRefused,
    TypedCommand,
    find_assistant,
    split_assistant,
)
from mud_assistant.assistant.worlds.evennia.stored import game_overrides, keep_game_overrides
from mud_assistant.resilience import Allowance
from mud_assistant.resilience.budget.ledger import AccountState

USAGE = "assistant/budget NAME (or: all, each, player) = 200 calls 100000 tokens 2.50 money (or: none)"
MINUTE_USAGE = "assistant/budget player = 6 a minute"
#: The limits of the whole game, and their names in its settings.
GAME_WIDE = {"all": "total", "each": "assistant", "player": "player"}
_MEANINGS = {"all": "all assistants together", "each": "each assistant", "player": "each player"}
UNITS = ("calls", "tokens", "money")
_NONE = {"none", "no limit", "unlimited"}
_DAYS, _MOST_DAYS = 7, 366
_PLAYER, _PER_MINUTE = "player", "player_per_minute"
_MOST_A_MINUTE = 1000
#: So many players are shown by name: those who used most.
_MOST_PLAYERS = 10
_A_MINUTE = re.compile(r"\b([1-9]\d{0,2})\s*(?:times\s*)?(?:a|an|per|each|/)\s*min(?:ute)?\b", re.IGNORECASE)
_AMOUNT = re.compile(r"(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z]+)[\s,;]*")


def budget(typed: TypedCommand) -> Answer:
    """Show the limits of a day with what is used of them, or set one."""
    if typed.right is None and (not typed.left or typed.left.casefold() in GAME_WIDE):
        return _limits(typed, creation.assistants())
    if typed.right is None:
        return _limits(typed, [find_assistant(typed.left, USAGE)])
    if typed.left.casefold() in GAME_WIDE:
        return limit_game(typed.left.casefold(), typed.right)
    allowance(typed.right)
    return limit_assistant(find_assistant(typed.left, USAGE), typed.right)


def limit_game(which: str, text: str) -> str:
    """Set what `which` of GAME_WIDE may use in a day, and say so. Raises CommandRefused and SettingsError."""
    if which == _PLAYER:
        return _player(text)
    tables = game_overrides()
    _put(tables, GAME_WIDE[which], allowance(text))
    return _for_the_game(tables, which)


def limit_assistant(character: Any, text: str) -> str:
    """Set what one assistant may use in a day, and say so; an empty text takes its own limit back.

    Raises CommandRefused and SettingsError.
    """
    overrides = creation.settings_of(character)
    if text:
        _put(overrides, "assistant", allowance(text))
    else:
        overrides.get("budget", {}).pop("assistant", None)
    creation.change_settings(character, overrides)
    return f"{character.key} may use in a day: {limit_text(creation.config_of(character).budget.assistant)}."


def allowance(text: str) -> dict[str, float]:
    """Read the limits of a text such as "200 calls 2.50 money"; "none" means no limits. Raises CommandRefused."""
    if text.strip().casefold() in _NONE:
        return {}
    found: dict[str, float] = {}
    at = 0
    while match := _AMOUNT.match(text, at):
        units = [unit for unit in UNITS if unit.startswith(match.group(2).casefold())]
        if not units or units[0] in found:
            break
        amount = float(match.group(1))
        if units[0] != "money" and not amount.is_integer():
            raise CommandRefused(f"Give a whole number of {units[0]}. Type: {USAGE}")
        found[units[0]] = amount if units[0] == "money" else int(amount)
        at = match.end()
    if not found or at < len(text.strip()):
        raise CommandRefused(f"Give numbers, each with calls, tokens or money behind it. Type: {USAGE}")
    return found


def _put(tables: dict[str, Any], name: str, limits: dict[str, float]) -> None:
    """Set one limit in tables of settings. All three units are written, so that none of a lower table applies."""
    tables["budget"] = {**tables.get("budget", {}), name: {unit: limits.get(unit) for unit in UNITS}}


def _for_the_game(tables: dict[str, Any], which: str) -> str:
    """Store limits of the whole game and apply them to all assistants at once."""
    before = game_overrides()
    keep_game_overrides(tables)
    try:
        config = creation.config_with({})
        for character in creation.assistants():
            creation.config_of(character)
    except ValueError:
        keep_game_overrides(before)
        raise
    creation.restart_all()
    minute = f" In a minute they are answered {_per_minute(config.budget)}." if which == _PLAYER else ""
    limit = limit_text(getattr(config.budget, GAME_WIDE[which])).replace("it wants", "they want")
    return f"In a day {_MEANINGS[which]} may use: {limit}.{minute}"


def limit_minute(text: str) -> str:
    """Set how often each player is answered in a minute, a number or none, and say so. Raises CommandRefused."""
    most = text.strip().casefold()
    if most and most not in _NONE and not (most.isascii() and most.isdigit() and 0 < int(most[:9]) < _MOST_A_MINUTE):
        raise CommandRefused(f"Give a whole number from 1 to {_MOST_A_MINUTE - 1}, or none.")
    tables = game_overrides()
    tables.setdefault("budget", {})[_PER_MINUTE] = int(most) if most.isdigit() else None
    return _for_the_game(tables, _PLAYER)


def _player(text: str) -> str:
    """Store what each player may use in a day, in a minute, or both; what is not named stays as it is."""
    tables = game_overrides()
    found = _A_MINUTE.search(text)
    rest = " ".join(_A_MINUTE.sub(" ", text).split()).strip(" ,;")
    if text.strip().casefold() in _NONE or rest:
        _put(tables, _PLAYER, allowance(rest))
    if found is not None:
        tables.setdefault("budget", {})[_PER_MINUTE] = int(found.group(1))
    elif text.strip().casefold() in _NONE:
        tables.setdefault("budget", {})[_PER_MINUTE] = None
    return _for_the_game(tables, _PLAYER)


def _limits(typed: TypedCommand, characters: Iterable[Any]) -> str:
    """Format a table of the limits and what is used of them today."""
    used = {account.name: account for account in server.service().pipeline.snapshot().accounts}
    game = creation.config_with({}).budget
    rows = [("all assistants", *_row(game.total, used.get(TOTAL)))]
    for character in characters:
        mine = creation.config_of(character).budget.assistant
        rows.append((character.key, *_row(mine, used.get(server.id_of(character)))))
        if (own := used.get(f"{INITIATIVE_ACCOUNT}{character.key}")) is not None:
            rows.append((f"  {INITIATIVE_ACCOUNT}{character.key}", *_row(own.allowance or mine, own)))
    rows.append(("each player", *_row(game.player, None, is_used=False)))
    players = [account for name, account in used.items() if kind_of_account(name) is AccountKind.PLAYER]
    players.sort(key=lambda account: (-account.spent.calls, account.name))
    rows += [(f"player {name_of(account.name)}", *_row(game.player, account)) for account in players[:_MOST_PLAYERS]]
    lines = [table(("today", *UNITS), rows, typed.width)]
    if len(players) > _MOST_PLAYERS:
        lines.append(f"and {count_of(len(players) - _MOST_PLAYERS, 'more player')} who used less: assistant/usage 1")
    lines.append(paragraph(f"In a minute, each player is answered {_per_minute(game)}.", typed.width))
    lines.append(paragraph(f"To change a limit: {USAGE}; {MINUTE_USAGE}", typed.width))
    return "\n".join(lines)


def _per_minute(budget: BudgetConfig) -> str:
    most = budget.player_per_minute
    return "as often as they ask" if most is None else f"{count_of(most, 'time')} at most"


def _row(limits: AllowanceConfig | Allowance, used: AccountState | None, *, is_used: bool = True) -> tuple[str, ...]:
    """Return the cells of one line; only the limits when `is_used` is false."""
    if not is_used:
        most = [getattr(limits, unit) for unit in UNITS]
        return tuple("no limit" if one is None else f"up to {number(one)}" for one in most)
    spent = used.spent.plain() if used is not None else {}
    return tuple(_of(spent.get(unit, 0), getattr(limits, unit)) for unit in UNITS)


def _of(spent: float, limit: float | None) -> str:
    return number(spent) if limit is None else f"{number(spent)} of {number(limit)}"


def limit_text(limits: AllowanceConfig) -> str:
    """Say what may be used in a day."""
    parts = [
        f"{number(amount)} {unit.removesuffix('s') if amount == 1 else unit}"
        for unit in UNITS
        if (amount := getattr(limits, unit)) is not None
    ]
    return ", ".join(parts) or "as much as it wants"


def usage(typed: TypedCommand) -> Answer:
    """Show what was spent in the last days, by one assistant or by all."""
    text = " ".join(filter(None, (typed.left, typed.right)))
    days, character = _DAYS, None
    if text.isdigit():
        days = int(text)
    elif text:
        character, rest = split_assistant(text, "assistant/usage [NAME] [days]")
        if rest and not rest.isdigit():
            raise CommandRefused("Type: assistant/usage [NAME] [days]")
        days = int(rest) if rest else _DAYS
    if not 1 <= days <= _MOST_DAYS:
        raise CommandRefused(f"Give a number of days from 1 to {_MOST_DAYS}.")
    return _usage(typed, character, days)


async def _usage(typed: TypedCommand, character: Any, days: int) -> str:
    """Format the tables of /usage. Raises JournalError."""
    rows = await server.service().usage(days)
    span = "today" if days == 1 else f"the last {days} days"
    if character is not None:
        mine = [row for row in rows if row.account == server.id_of(character)]
        return _by_day(typed, mine, f"{character.key}, {span}")
    total = [row for row in rows if row.account == TOTAL]
    assistants = [row for row in rows if kind_of_account(row.account) is AccountKind.ASSISTANT]
    players = [row for row in rows if kind_of_account(row.account) is AccountKind.PLAYER]
    parts = [_by_day(typed, total, f"All assistants, {span}")]
    parts += [_by_account(typed, assistants, "By assistant")] if assistants else []
    parts += [_by_account(typed, players, "By player")] if players else []
    return "\n\n".join(parts)


def _by_day(typed: TypedCommand, rows: list[UsageRow], head: str) -> str:
    if not rows:
        return f"{head}: nothing was used."
    shown = [(row.day.isoformat(), number(row.calls), number(row.tokens), number(row.money)) for row in rows]
    return f"{head}:\n{table(('day', *UNITS), shown, typed.width)}"


def _by_account(typed: TypedCommand, rows: list[UsageRow], head: str) -> str:
    """Format one line for each account, those who used most first."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for row in rows:
        for at, amount in enumerate((row.calls, row.tokens, row.money)):
            sums[row.account][at] += amount
    most_first = sorted(sums.items(), key=lambda one: (-one[1][1], one[0]))
    shown = [(name_of(account), *map(number, amounts)) for account, amounts in most_first]
    return f"{head}:\n{table(('who', *UNITS), shown, typed.width)}"


def name_of(account: str) -> str:
    """Return the name for an id of the usage rows; the id itself, with "(gone)", when it is not known any more."""
    kind, _, pk = account.partition(":")
    if not pk.isdigit():
        return account
    model = {"assistant": ObjectDB, "character": ObjectDB, "account": AccountDB}.get(kind)
    found = model.objects.filter(pk=int(pk)).first() if model is not None else None
    return found.key if found is not None else f"{account} (gone)"
