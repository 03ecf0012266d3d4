"""Lists, makes and revokes the virtual keys of the gateway."""

from __future__ import annotations

import secrets
from datetime import date
from math import isfinite

from mud_assistant.assistant.gateway.keys import GatewayKeyError, KeyLimits, KeyStore, VirtualKey
from mud_assistant.assistant.gateway.keys.wording import limits_text, state_text
from mud_assistant.assistant.page.operations.sources import Sources, off_reactor
from mud_assistant.assistant.page.ports import InvalidInput, NotAllowed, NotFound, PageError, Unavailable, Visitor
from mud_assistant.assistant.page.values.actions import ActionDone
from mud_assistant.assistant.page.values.keys import GatewayKeyMade, GatewayKeyView, NewGatewayKey
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.resilience.amounts import add_up


async def keys(sources: Sources) -> list[GatewayKeyView]:
    """Return all keys, those that were revoked last. Raises Unavailable when their file cannot be read."""
    store = _store(sources)
    try:
        stored = await off_reactor(sources.service, store.load)
    except GatewayKeyError as error:
        raise Unavailable(error.sentence) from error
    used = await _used(sources)
    found = [_view(key, sources.wall(), used) for key in stored.keys]
    return sorted(found, key=lambda one: (one.revoked is not None, one.name.casefold()))


async def add(sources: Sources, who: Visitor, new: NewGatewayKey) -> GatewayKeyMade:
    """Make a key. Its secret is in what is returned and nowhere else. Raises InvalidInput and GatewayKeyError."""
    limits, store, wall = _limits(new), _store(sources), sources.wall()
    secret = await off_reactor(sources.service, lambda: store.add(new.name, limits, wall, secrets.token_bytes))
    who.log(f"makes the key {new.name} of the gateway")
    said = f"The key {new.name} was made ({limits_text(limits)}). Its secret is shown only now."
    return GatewayKeyMade(name=new.name, secret=secret, sentence=said)


async def revoke(sources: Sources, who: Visitor, name: str) -> ActionDone:
    """Let a key not be taken any more. Raises NotFound and GatewayKeyError."""
    store, wall = _store(sources), sources.wall()
    if all(key.name != name for key in (await off_reactor(sources.service, store.load)).keys):
        raise NotFound("there is no key of this name")
    was_open = await off_reactor(sources.service, lambda: store.revoke(name, wall))
    if not was_open:
        return ActionDone(sentence=f"The key {name} was revoked before.")
    who.log(f"revokes the key {name} of the gateway")
    return ActionDone(sentence=f"The key {name} was revoked: within a second the gateway does not take it any more.")


def _store(sources: Sources) -> KeyStore:
    if sources.keys is None:
        raise NotAllowed("a journal is only looked at here: the keys of a gateway are shown where assistants run")
    return sources.keys


async def _used(sources: Sources) -> UsageAnswer | None:
    """Return what keys used this month, None when it cannot be read."""
    try:
        return await sources.records.usage("key", "", "")
    except PageError:
        return None


def _view(key: VirtualKey, wall: float, used: UsageAnswer | None) -> GatewayKeyView:
    limits = key.limits
    rows = [row for row in used.rows if row.key == key.name] if used else []
    return GatewayKeyView(
        name=key.name,
        state=state_text(key, wall),
        may=limits_text(limits),
        models=limits.models,
        per_day=limits.day,
        per_month=limits.month,
        at_once=limits.in_flight,
        per_second=limits.per_second,
        expires=limits.expires.isoformat() if limits.expires else "",
        note=limits.note,
        created=key.created,
        revoked=key.revoked,
        today=add_up(row.used for row in rows if row.day == used.until) if used else None,
        month=add_up(row.used for row in rows) if used else None,
    )


def _limits(new: NewGatewayKey) -> KeyLimits:
    """Return the limits of a new key. Raises InvalidInput."""
    try:
        expires = date.fromisoformat(new.expires) if new.expires else None
    except ValueError:
        raise InvalidInput("expires: give a day such as 2027-01-31") from None
    for span, limit in (("day", new.per_day.money), ("month", new.per_month.money)):
        if limit is not None and not isfinite(limit):
            raise InvalidInput(f"money a {span}: give a number from 0, or nothing for no limit")
    return KeyLimits(new.models, new.per_day, new.per_month, new.at_once, new.per_second, expires, new.note)
