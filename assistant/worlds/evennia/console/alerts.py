"""Reports troubles to the accounts that can help, once each: at once if they are online, else when they log in.

The game's database keeps what each account was told, so that a reload repeats nothing and forgets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.server.models import ServerConfig
from evennia.server.signals import SIGNAL_ACCOUNT_POST_LOGIN
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.service.troubles import EVERYBODY, Trouble, TroubleKind
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.console.showing import in_game_words, safe, sentence
from mud_assistant.assistant.worlds.evennia.stored import KEPT_ALERTS, read_stored

#: What can be done in a game, by the kind of trouble.
REMEDIES = {
    TroubleKind.EMERGENCY: "The log of the Server has the cause. To let it think again: assistant/reset {name}",
    TroubleKind.PARKED: "To see what was said, try it again or clear it: assistant/parked {name}",
    TroubleKind.NO_MODEL: "To look closer: assistant/doctor {name}. To use another model: assistant/provider {name}",
    TroubleKind.MODEL: "To look closer: assistant/doctor {name}. For another model or key: assistant/provider {name}",
    TroubleKind.KEY: "To give it another key: assistant/key {name} = env:VARIABLE",
    TroubleKind.BUDGET: "It goes on at midnight. To lift it now: assistant/budget {whose} = none",
    TroubleKind.WORLD: "The log of the Server has the cause.",
    TroubleKind.JOURNAL: "Make room on the disk, or see who may write there: the log of the Server says more.",
}
#: The most records that are kept; the oldest are dropped first.
_MOST = 20

_log = Logger()


def attach() -> None:
    """Listen to the service's troubles and to logins. Call it once for each service."""
    troubles = server.service().troubles
    troubles.restore(_trouble(one) for one in _read_records() if not one["over"])
    if _on_trouble not in troubles.listeners:
        troubles.listeners.append(_on_trouble)
    SIGNAL_ACCOUNT_POST_LOGIN.connect(_on_login, dispatch_uid="mud-assistant alerts")


def may_mend(who: Any) -> bool:
    """Tell whether they have the command `assistant`, and so may see what is wrong."""
    return bool(who.locks.check_lockstring(who, "dummy:perm(Admin)"))


def troubles_of(subject: str | None) -> list[str]:
    """Return the troubles of one assistant and those of all, or every trouble: a line each, with what to do."""
    if not server.is_open():
        return []
    troubles = server.service().troubles
    return [f"Trouble: {_text(one)}" for one in (troubles if subject is None else troubles.of(subject))]


def receivers(trouble: Trouble) -> list[Any]:
    """Return the accounts to be told: those of the setting `alerts`, else the superusers."""
    wanted = _names(trouble.subject)
    found = [account for name in wanted for account in AccountDB.objects.filter(username__iexact=name.strip())]
    return found or list(AccountDB.objects.filter(is_superuser=True))


def _names(subject: str) -> Iterable[str]:
    """Return the setting `alerts` of the assistant that is meant, or of the game."""
    mine = [one for one in creation.assistants() if server.id_of(one) == subject]
    try:
        config = creation.config_of(mine[0]) if mine else creation.config_with({})
    except SettingsError:
        return ()
    return config.assistant.alerts


def _text(trouble: Trouble) -> str:
    """Say what is wrong and what to do, in the words of the game."""
    whose = "all" if trouble.subject == EVERYBODY else trouble.name
    remedy = REMEDIES[trouble.kind].format(name=trouble.name, whose=whose)
    return f"{sentence(in_game_words(trouble.sentence))} {remedy}"


def _on_trouble(trouble: Trouble, over: bool) -> None:
    """Record that a trouble began or is over, and tell the accounts that are online."""
    try:
        records = _read_records()
        if over:
            for record in records:
                if (record["kind"], record["subject"]) == trouble.key:
                    record["over"] = True
        else:
            records = [one for one in records if (one["kind"], one["subject"]) != trouble.key]
            fields = {"kind": trouble.kind.value, "subject": trouble.subject}
            records.append({**fields, "name": trouble.name, "sentence": trouble.sentence, "over": False, "told": {}})
        for account in receivers(trouble):
            if account.sessions.count():
                _tell(account, records)
        _store_records(records)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border: reporting a trouble must not cause another one)
        _log.failure("nobody could be told of a trouble: {what}", what=trouble.sentence)


def _on_login(sender: Any = None, **_: Any) -> None:
    """Tell an account that has just logged in what it has not been told."""
    try:
        records = _read_records()
        if records and sender is not None:
            _tell(sender, records)
            _store_records(records)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border: a fault here must keep no player from logging in)
        _log.failure("{name} could not be told of a trouble", name=getattr(sender, "key", "somebody"))


def _tell(account: Any, records: list[dict[str, Any]]) -> None:
    """Tell an account what it has not been told of these records, and record that it was told."""
    for record in records:
        trouble, told = _trouble(record), record["told"].get(account.pk, "")
        now = "over" if record["over"] else "there"
        if told == now or account not in receivers(trouble):
            continue
        record["told"][account.pk] = now
        if now == "there":
            text = f"Trouble: {_text(trouble)}"
        elif told:
            text = f"This is over: {in_game_words(trouble.sentence)}."
        else:
            text = f"This happened while you were away, and is over: {in_game_words(trouble.sentence)}."
        account.msg(safe(server.SECRETS.scrub(f"[AI characters] {text}")))


def _trouble(record: Mapping[str, Any]) -> Trouble:
    return Trouble(TroubleKind(record["kind"]), record["subject"], record["name"], record["sentence"])


def _read_records() -> list[dict[str, Any]]:
    """Return the stored records, without those of kinds that only another version knows."""
    kept = read_stored(KEPT_ALERTS)
    known = {kind.value for kind in TroubleKind}
    return [one for one in kept if one.get("kind") in known] if isinstance(kept, list) else []


def _store_records(records: list[dict[str, Any]]) -> None:
    """Store the records. One that is over is dropped when every receiver has been told."""
    left = [
        one
        for one in records
        if not one["over"] or any(one["told"].get(who.pk) != "over" for who in receivers(_trouble(one)))
    ][-_MOST:]
    if left:
        ServerConfig.objects.conf(KEPT_ALERTS, left)
    elif ServerConfig.objects.conf(KEPT_ALERTS) is not None:
        ServerConfig.objects.conf(KEPT_ALERTS, delete=True)
