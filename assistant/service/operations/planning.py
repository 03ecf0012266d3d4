"""Estimates what impulses of an assistant would cost in a month, before they are switched on.

Its last days are read from the journal. What it does by its owner's file, and what it promised, asks no model.
"""

from __future__ import annotations

from functools import partial
from random import Random

from msgspec import Struct

from mud_assistant.assistant.journal.tables.lived_log import LivedLog
from mud_assistant.assistant.life.impulse_plan import replay_impulses
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import InvalidInput, Operator, VisitorRole
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.resilience.background import in_daemon_thread

#: The days that are looked at, and those of a month.
DAYS, MONTH = 7, 30
#: The greatest price of a million tokens.
MOST_PRICE = 1_000_000.0
#: How often the days are replayed.
_REPLAYS = 9
_A_DAY, _A_MILLION = 86_400.0, 1_000_000.0
_SECONDS = 10.0


class InitiativePlan(Struct, frozen=True):
    """What impulses would cost in `MONTH` days like the last `DAYS`.

    `tokens` is None when nothing is known of what one would take; `money` is None where no price is known.
    """

    impulses: float
    tokens: int | None
    money: float | None
    sentence: str


async def plan(there: Operated, who: Operator, assistant: str, price: str = "") -> InitiativePlan:
    """Return what impulses of an assistant would cost, at a price of a million tokens if one is given.

    Else the price is what its tokens cost of late, or none. Raises NotFound, InvalidInput and JournalError.
    """
    who.check(VisitorRole.OPERATOR)
    there.check_own()
    name, given = there.find(assistant).name, _price(price)
    parts = there.service.parts
    await parts.ready()
    since = there.service.config.wall() - DAYS * _A_DAY
    log = await parts.journal.lived(assistant, since, parts.ledger.day - DAYS)
    replay = partial(_impulses, log, there.service.pipeline.random)
    impulses = await in_daemon_thread(parts.reactor, _SECONDS, replay) * MONTH / DAYS
    each = log.tokens // log.runs if log.runs and log.tokens else _prompt_tokens(there, assistant)
    tokens = None if each is None else round(impulses * each)
    if given is None and log.money and log.tokens:
        given = log.money / log.tokens * _A_MILLION
    money = None if given is None or tokens is None else tokens * given / _A_MILLION
    unused = why_no_impulses(there.service.runners.get(assistant))
    sentence = f"{_sentence(name, impulses, each, money, has_log=bool(log.heard))} {unused}".rstrip()
    return InitiativePlan(impulses, tokens, money, sentence)


def why_no_impulses(runner: AssistantRunner | None) -> str:
    """Say why an assistant has no impulses whatever is set, empty for one that can have them or does not think yet."""
    is_plain = runner is not None and runner.assistant is not None and runner.assistant.context.is_asked_plainly
    return "The model it thinks with now is asked in plain turns, and never for an impulse." if is_plain else ""


def _impulses(log: LivedLog, dice: Random) -> float:
    """Return how many there would have been, on the average of some throws."""
    return sum(replay_impulses(log.heard, log.acted, dice) for _ in range(_REPLAYS)) / _REPLAYS


def _price(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not 0 <= price <= MOST_PRICE:  # nor a NaN
        raise InvalidInput(f"price: give what a million tokens cost, a number from 0 to {MOST_PRICE:.0f}")
    return price


def _prompt_tokens(there: Operated, assistant: str) -> int | None:
    """Return how many tokens a prompt of now takes, None when it does not run."""
    runner = there.service.runners.get(assistant)
    if runner is None or runner.assistant is None:
        return None
    context = runner.assistant.context
    return context.memory.history.tokens + context.model.window.fixed_tokens()


def _sentence(name: str, impulses: float, each: int | None, money: float | None, *, has_log: bool) -> str:
    if not has_log:
        return f"No player was heard by {name} in the last {DAYS} days, so impulses would cost nothing."
    cost = "" if money is None else f", {money:,.2f} in money"
    tokens = "" if each is None else f" of about {each:,} tokens each: {round(impulses * each):,} tokens{cost}"
    return (
        f"With impulses, in a month like the last {DAYS} days {name} would think of its own accord about "
        f"{impulses:,.0f} times{tokens}. Its day, its free life and its promises ask no model."
    )
