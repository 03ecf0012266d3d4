"""Words the state of servers, limits, budgets and parked events for an operator."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mud_assistant.assistant.events.events import format_event
from mud_assistant.assistant.journal import Parked, UnknownEffect
from mud_assistant.assistant.loop.spending import AccountKind, kind_of_account
from mud_assistant.resilience import Amount, CircuitState, Snapshot
from mud_assistant.resilience.amounts import Allowance
from mud_assistant.resilience.budget.ledger import AccountState
from mud_assistant.resilience.snapshot import QuotaState, UpstreamState
from mud_assistant.tools.text.clean import clean_heard

#: How many events and effects are shown, and how many characters of each cause.
_SHOWN, _SHOWN_CHARS = 5, 160
#: The least that a call uses. An account without room for it is used up.
_SMALLEST = Amount(calls=1, tokens=1)


def status_text(
    snapshot: Snapshot, origins: Collection[str] | None = None, names: Mapping[str, str] | None = None
) -> str:
    """Return one line for each server, and one for each account that pays, with what it used today.

    `origins`, if given, limits the servers. `names` has the names of accounts by their ids; an account without a name
    is shown with its id.
    """
    lines = servers_text(snapshot, origins)
    lines += [
        account_text(account, snapshot.at, names or {})
        for account in snapshot.accounts
        if kind_of_account(account.name) is not AccountKind.MODEL
    ]
    return "\n".join(lines) or "Nothing was asked yet."


def servers_text(snapshot: Snapshot, origins: Collection[str] | None = None) -> list[str]:
    """Return one line for each server; `origins`, if given, limits them."""
    return [
        _server(upstream, [quota for quota in snapshot.quotas if quota.origin == upstream.origin], snapshot.at)
        for upstream in snapshot.upstreams
        if origins is None or upstream.origin in origins
    ]


def key_refusals(snapshot: Snapshot) -> dict[str, str]:
    """Return why each server refuses its key, empty for a server that does not."""
    return {quota.origin: quota.revoked for quota in sorted(snapshot.quotas, key=lambda quota: bool(quota.revoked))}


def account_text(account: AccountState, now: float, names: Mapping[str, str]) -> str:
    """Return what an account used today, of what limit, and how long it stays used up."""
    limits = account.allowance or Allowance()
    used = f"{_of('call', account.spent.calls, limits.calls)}, {_of('token', account.spent.tokens, limits.tokens)}"
    if account.spent.money or limits.money is not None:
        used += f", {_of('money', round(account.spent.money, 4), limits.money)}"
    if account.reserved != Amount():
        used += f"; {_number(account.reserved.tokens)} tokens are set aside for calls on their way"
    line = f"Used today by {names.get(account.name, account.name)}: {used}"
    return f"{line}; used up for the next {duration(account.resets_at - now)}" if is_used_up(account) else line


def is_used_up(account: AccountState) -> bool:
    """Tell whether the account has no room even for the smallest call."""
    most = account.spent + account.reserved + _SMALLEST
    return account.allowance is not None and account.allowance.exceeded(most) is not None


def trouble_text(
    parked: Sequence[Parked],
    unknown: Sequence[UnknownEffect],
    more: str = "mud-assistant replay FILE --parked, --unknown",
) -> str:
    """Return what an operator must know of the journal, empty when there is nothing.

    `more` names the command that shows what is left out.
    """
    lines = [f"Put aside: {parked_text(event)}" for event in parked]
    lines += [
        f"It is not known whether this happened: {_call(effect)}. The program died while it was under way"
        for effect in unknown
    ]
    if len(lines) > _SHOWN:
        lines = [*lines[:_SHOWN], f"and {len(lines) - _SHOWN} more: {more}"]
    return "\n".join(lines)


def parked_text(parked: Parked) -> str:
    """Describe a parked event: what was heard, and why it is not tried any more."""
    heard = "something that cannot be read" if parked.accepted is None else _short(format_event(parked.accepted.event))
    return f"{heard} ({_short(parked.reason)})"


def duration(seconds: float) -> str:
    """Return a duration as people say it: "20 s", "5 min", "3 h"."""
    if seconds < 100:  # noqa: PLR2004  (100 seconds are still told as seconds)
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"  # noqa: PLR2004  (the same)


def _server(upstream: UpstreamState, quotas: Sequence[QuotaState], now: float) -> str:
    """Return the state of a server in one line, beginning with what is wrong."""
    said = list(dict.fromkeys(filter(None, map(_refusal, quotas))))
    last = next((ended for ended in reversed(upstream.recent) if ended.how != "given back"), None)
    why = f": {_short(last.cause)}" if last is not None and last.cause else ""
    if not said and upstream.open_for:
        said = [f"left alone for {duration(upstream.open_for)}, because it failed{why}"]
    elif not said and upstream.state is CircuitState.HALF_OPEN:
        said = [f"tried again after it failed{why}"]
    elif not said and last is not None and last.how == "failure":
        said = [f"failed {duration(now - last.at)} ago{why}"]
    said = said or ["answers normally" if last is not None else "was not asked yet"]
    said += [left for quota in quotas if (left := _left(quota))]
    if upstream.in_flight:
        said.append(f"{_counted(upstream.in_flight, 'request')} on the way")
    if upstream.waiting:
        said.append(f"{_counted(upstream.waiting, 'request')} waiting for a turn")
    return f"{upstream.origin}: {', '.join(said)}"


def _refusal(quota: QuotaState) -> str:
    """Return why a key or a model is not used now, empty when it is used."""
    if quota.revoked:
        return f"{_alone(quota)}: refused the key ({_short(quota.revoked)})"
    if quota.missing:
        return f"{_alone(quota)}: the model is not there ({_short(quota.missing)})"
    if quota.cools_for:
        return f"left alone for {duration(quota.cools_for)}: {_short(quota.cool_why)}"
    return ""


def _alone(quota: QuotaState) -> str:
    """Return how long a refused key or model is not used. New settings, a new key and `reload` end that at once."""
    if quota.revoked_for:
        return f"left alone for {duration(quota.revoked_for)}, or until its key or settings change"
    return "asked again with the next call"


def _left(quota: QuotaState) -> str:
    counts = [("request", quota.requests_left), ("token", quota.tokens_left)]
    said = [f"{_counted(count, what)} left" for what, count in counts if count is not None]
    return f"{' and '.join(said)} for {quota.lane}" if said else ""


def _call(effect: UnknownEffect) -> str:
    if effect.call is None:
        return "a call that cannot be read"
    arguments = ", ".join(f"{name} {value}" for name, value in effect.call.arguments.items())
    return _short(f"{effect.call.name}{f' ({arguments})' if arguments else ''}")


def _of(what: str, spent: float, limit: float | None) -> str:
    if limit is None:
        return _counted(spent, what)
    return f"{_number(spent)} of {_counted(limit, what)}"


def _counted(count: float, what: str) -> str:
    return f"{_number(count)} {what}{'' if count == 1 or what == 'money' else 's'}"


def _number(count: float) -> str:
    return f"{int(count):,}" if float(count).is_integer() else f"{count:,.4f}".rstrip("0")


def _short(text: str) -> str:
    return clean_heard(text, _SHOWN_CHARS)
