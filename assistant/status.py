"""The state of the outside as text for an operator: servers, limits, budgets."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.journal import Parked, UnknownEffect
from resilience import Amount, Snapshot
from resilience.budget import AccountState
from resilience.snapshot import QuotaState, UpstreamState
from tools.clean import clean_heard

#: Outcomes of a server that are shown, and characters of each cause.
_SHOWN, _SHOWN_CHARS = 5, 160


def status_text(snapshot: Snapshot) -> str:
    """Every server with its circuit, its queue and its last outcomes; what cools down; what was spent today."""
    lines: list[str] = []
    for upstream in snapshot.upstreams:
        lines += _upstream(upstream, snapshot.at)
        lines += [line for quota in snapshot.quotas if quota.origin == upstream.origin and (line := _quota(quota))]
    lines += [_account(account) for account in snapshot.accounts]
    return "\n".join(lines) or "Nothing was asked yet."


def trouble_text(parked: Sequence[Parked], unknown: Sequence[UnknownEffect]) -> str:
    """What an operator must know of the journal; empty when there is nothing."""
    lines = [f"put aside after crashes: event {event.event_id} ({_short(event.reason)})" for event in parked]
    lines += [
        f"outcome unknown: {_short(effect.call.name) if effect.call else 'a call'} of {effect.run_id}: the program "
        "died while it was under way"
        for effect in unknown
    ]
    if len(lines) > _SHOWN:
        lines = [*lines[:_SHOWN], f"and {len(lines) - _SHOWN} more: mud-assistant replay FILE --parked, --unknown"]
    return "\n".join(lines)


def _upstream(upstream: UpstreamState, now: float) -> list[str]:
    state = str(upstream.state).replace("_", " ")
    opened = f" for {upstream.open_for:.0f} s more" if upstream.open_for else ""
    head = (
        f"{upstream.origin}: circuit {state}{opened}, {upstream.in_flight} of {upstream.in_flight_limit} requests on "
        f"their way, {upstream.waiting} waiting"
    )
    recent = [
        f"  {now - ended.at:.0f} s ago: {ended.how}{f', {_short(ended.cause)}' if ended.cause else ''}"
        for ended in upstream.recent[-_SHOWN:]
    ]
    return [head, *recent]


def _quota(quota: QuotaState) -> str:
    """What is special about a limit, empty when nothing is."""
    said = []
    if quota.barred:
        said.append(f"the key was refused ({_short(quota.barred)}); {_again(quota)}")
    if quota.missing:
        said.append(f"not there ({_short(quota.missing)}); {_again(quota)}")
    if quota.cools_for:
        said.append(f"left alone for {quota.cools_for:.0f} s more ({_short(quota.cool_why)})")
    if quota.requests_left is not None:
        said.append(f"{quota.requests_left} requests left")
    if quota.tokens_left is not None:
        said.append(f"{quota.tokens_left} tokens left")
    return f"  {quota.lane}: {', '.join(said)}" if said else ""


def _again(quota: QuotaState) -> str:
    """When what was refused is asked for again."""
    when = f"in {quota.barred_for:.0f} s, or" if quota.barred_for else "with the next call, or"
    return f"it is asked again {when} when settings or key are new"


def _account(account: AccountState) -> str:
    limits = account.allowance
    money = limits.money if limits else None
    parts = [
        _of("calls", account.spent.calls, limits.calls if limits else None),
        _of("tokens", account.spent.tokens, limits.tokens if limits else None),
    ]
    if account.spent.money or money is not None:
        parts.append(_of("money", round(account.spent.money, 4), money))
    held = f", {account.reserved.tokens} tokens set aside" if account.reserved != Amount() else ""
    return f"today {account.name}: {', '.join(parts)}{held}"


def _of(what: str, spent: float, limit: float | None) -> str:
    return f"{spent:.12g} {what}" if limit is None else f"{spent:.12g} of {limit:.12g} {what}"


def _short(text: str) -> str:
    return clean_heard(text, _SHOWN_CHARS)
