"""What may be spent in a day, and what was: by assistant, by player, by day."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from assistant.config import AllowanceConfig
from assistant.purse import TOTAL
from assistant.spending import UsageRow
from assistant.worlds.evennia import creation, house
from assistant.worlds.evennia.commands.naming import named, named_and_rest
from assistant.worlds.evennia.commands.order import Answer, Order, Refused
from assistant.worlds.evennia.commands.showing import number, table
from assistant.worlds.evennia.game_wide import game_overrides, keep_game_overrides
from resilience.budget import AccountState

USAGE = "assistant/budget NAME (or: all, each, player) = 200 calls 100000 tokens 2.50 money (or: none)"
#: What is limited for the whole game, and where in its settings.
GAME_WIDE = {"all": "total", "each": "assistant", "player": "player"}
_MEANINGS = {"all": "all assistants together", "each": "each assistant", "player": "each player"}
_UNITS = ("calls", "tokens", "money")
_NONE = {"none", "no limit", "unlimited"}
_DAYS, _MOST_DAYS = 7, 366
_AMOUNT = re.compile(r"(\d[\d_]*(?:\.\d+)?)\s*([A-Za-z]+)[\s,;]*")


def budget(order: Order) -> Answer:
    """Show the limits of a day with what is used of them, or set one."""
    if order.right is None:
        return _limits([named(order.left, USAGE)] if order.left else creation.assistants())
    wanted = allowance(order.right)
    if (table_name := GAME_WIDE.get(order.left.casefold())) is not None:
        tables = game_overrides()
        _put(tables, table_name, wanted)
        return _for_the_game(tables, order.left.casefold())
    character = named(order.left, USAGE)
    overrides = creation.settings_of(character)
    _put(overrides, "assistant", wanted)
    creation.change_settings(character, overrides)
    return f"{character.key} may use in a day: {_limit(creation.config_of(character).budget.assistant)}."


def allowance(text: str) -> dict[str, float]:
    """The limits of a text such as "200 calls 2.50 money", without any for "none". Raises Refused."""
    if text.strip().casefold() in _NONE:
        return {}
    found: dict[str, float] = {}
    at = 0
    while match := _AMOUNT.match(text, at):
        units = [unit for unit in _UNITS if unit.startswith(match.group(2).casefold())]
        if not units or units[0] in found:
            break
        amount = float(match.group(1))
        if units[0] != "money" and not amount.is_integer():
            raise Refused(f"Give a whole number of {units[0]}. Type: {USAGE}")
        found[units[0]] = amount if units[0] == "money" else int(amount)
        at = match.end()
    if not found or at < len(text.strip()):
        raise Refused(f"Give numbers, each with calls, tokens or money behind it. Type: {USAGE}")
    return found


def _put(tables: dict[str, Any], name: str, limits: dict[str, float]) -> None:
    """Set one limit in tables of settings. All three are written, so that none of another place shows through."""
    tables["budget"] = {**tables.get("budget", {}), name: {unit: limits.get(unit) for unit in _UNITS}}


def _for_the_game(tables: dict[str, Any], which: str) -> str:
    """Keep limits of the whole game and let them count for everybody at once."""
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
    return f"In a day {_MEANINGS[which]} may use: {_limit(getattr(config.budget, GAME_WIDE[which]))}."


def _limits(characters: Iterable[Any]) -> str:
    """A table of the limits and what is used of them today."""
    used = {account.name: account for account in house.household().pipeline.snapshot().accounts}
    game = creation.config_with({}).budget
    rows = [("all assistants", *_row(game.total, used.get(TOTAL)))]
    for character in characters:
        mine = creation.config_of(character).budget.assistant
        rows.append((character.key, *_row(mine, used.get(house.id_of(character)))))
    rows.append(("each player", *_row(game.player, None)))
    return f"{table(('today', *_UNITS), rows)}\nTo change a limit: {USAGE}"


def _row(limits: AllowanceConfig, used: AccountState | None) -> tuple[str, ...]:
    spent = used.spent.plain() if used is not None else {}
    return tuple(_of(spent.get(unit, 0), getattr(limits, unit)) for unit in _UNITS)


def _of(spent: float, limit: float | None) -> str:
    return number(spent) if limit is None else f"{number(spent)} of {number(limit)}"


def _limit(limits: AllowanceConfig) -> str:
    parts = [f"{number(amount)} {unit}" for unit in _UNITS if (amount := getattr(limits, unit)) is not None]
    return ", ".join(parts) or "as much as it wants"


def usage(order: Order) -> Answer:
    """What was spent on the last days: the assistant's own, or everybody's."""
    text = " ".join(filter(None, (order.left, order.right)))
    days, character = _DAYS, None
    if text.isdigit():
        days = int(text)
    elif text:
        character, rest = named_and_rest(text, "assistant/usage [NAME] [days]")
        if rest and not rest.isdigit():
            raise Refused("Type: assistant/usage [NAME] [days]")
        days = int(rest) if rest else _DAYS
    if not 1 <= days <= _MOST_DAYS:
        raise Refused(f"Give a number of days from 1 to {_MOST_DAYS}.")
    return _usage(character, days)


async def _usage(character: Any, days: int) -> str:
    """The tables of /usage. Raises JournalError."""
    rows = await house.household().usage(days)
    span = "today" if days == 1 else f"the last {days} days"
    if character is not None:
        mine = [row for row in rows if row.account == house.id_of(character)]
        return _by_day(mine, f"{character.key}, {span}")
    total = [row for row in rows if row.account == TOTAL]
    others = [row for row in rows if row.account != TOTAL]
    assistants = [row for row in others if row.account.startswith("assistant:")]
    players = [row for row in others if not row.account.startswith("assistant:")]
    parts = [_by_day(total, f"All assistants, {span}")]
    parts += [_by_account(assistants, "By assistant")] if assistants else []
    parts += [_by_account(players, "By player")] if players else []
    return "\n\n".join(parts)


def _by_day(rows: list[UsageRow], head: str) -> str:
    if not rows:
        return f"{head}: nothing was used."
    shown = [(row.day.isoformat(), number(row.calls), number(row.tokens), number(row.money)) for row in rows]
    return f"{head}:\n{table(('day', *_UNITS), shown)}"


def _by_account(rows: list[UsageRow], head: str) -> str:
    """One line for each account, who used most first."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for row in rows:
        for at, amount in enumerate((row.calls, row.tokens, row.money)):
            sums[row.account][at] += amount
    most_first = sorted(sums.items(), key=lambda one: (-one[1][1], one[0]))
    shown = [(name_of(account), *map(number, amounts)) for account, amounts in most_first]
    return f"{head}:\n{table(('who', *_UNITS), shown)}"


def name_of(account: str) -> str:
    """The name behind an id of the usage rows, the id itself where it is not known any more."""
    kind, _, pk = account.partition(":")
    if not pk.isdigit():
        return account
    model = {"assistant": ObjectDB, "character": ObjectDB, "account": AccountDB}.get(kind)
    found = model.objects.filter(pk=int(pk)).first() if model is not None else None
    return found.key if found is not None else f"{account} (gone)"
