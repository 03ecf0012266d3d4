"""What an operator or owner decides and changes: approvals, money, keys, doctor, settings, players."""

from __future__ import annotations

from mud_assistant.assistant.page.http.call import Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.views.control import (
    approvals,
    character,
    doctor,
    gateway_keys,
    model,
    money,
    new,
    player,
    settings,
    talk,
)


def routes(desk: Desk) -> list[Route]:
    """Return the routes of these pages. Values last as long as the routes: what the doctor found is kept in memory."""
    return [
        route
        for view in (approvals, character, doctor, gateway_keys, model, money, new, player, settings, talk)
        for route in view.routes(desk)
    ]
