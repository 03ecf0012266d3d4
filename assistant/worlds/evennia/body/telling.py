"""Tells a player of the game, outside the story, in one sentence that an assistant did not do what they asked for."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from assistant.worlds.evennia.body.speech import escape_for_game
from tools import Principal
from tools.text.clean import one_line

#: The longest sentence, in characters.
_MAX_CHARS = 1200

_log = Logger()


def tell(who: Principal, sentence: str) -> None:
    """Show the sentence to this character or account if a player is connected to it. Never raises."""
    try:
        receiver = _object_of(who)
        if receiver is not None and receiver.sessions.count():
            receiver.msg(escape_for_game(one_line(sentence, max_chars=_MAX_CHARS)))
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001  (the border to the game: nothing depends on the sentence)
        _log.failure("{who} could not be told", who=who.id)


def _object_of(who: Principal) -> Any:
    """Return the character or the account that the principal is; None for anything else."""
    from evennia.accounts.models import AccountDB  # noqa: PLC0415  (only where Django is set up)
    from evennia.objects.models import ObjectDB  # noqa: PLC0415

    kind, _, number = who.id.partition(":")
    model = {"character": ObjectDB, "account": AccountDB}.get(kind)
    if model is None or not number.isdigit():
        return None
    return model.objects.filter(pk=int(number)).first()
