"""The desk of the page checks the role by itself, whichever way leads to it: a route, a form, or the API."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.operations.records import JournalRecords
from mud_assistant.assistant.page.operations.sources import Sources
from mud_assistant.assistant.page.ports import NotAllowed, Visitor
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.surfaces.serve.run import JournalHost
from mud_assistant.tools import Principal
from tests.assistant.living import reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
#: What an operator may do and a viewer may not, and what only an owner may. A viewer may do all else.
OPERATORS = {
    *("decide", "revoke", "doctor", "stop", "start", "reset", "retry_parked", "drop_promise", "want_quiet"),
    *("send_away", "plan"),
}
OWNERS = {
    *("change_setting", "set_model", "set_persona", "add_lore", "delete_lore", "create", "cards", "import_card", "say"),
    *("clear_mind", "forget_player", "gateway_keys", "add_gateway_key", "revoke_gateway_key"),
}
VIEWERS = {
    *("overview", "assistant", "runs", "run", "approvals", "standing", "usage", "settings", "character"),
    *("preview_lore", "player"),
}


def refused_to(desk: Desk, name: str, role: VisitorRole) -> str:
    """Return how the desk refuses this to a visitor of a role before it looks at what else it was given."""
    deed: Any = getattr(desk, name)
    given = {
        one.name: Visitor(Principal("player:1", "Ann"), role, "session") if one.name == "who" else None
        for one in inspect.signature(deed).parameters.values()
    }
    work = deed(**given)
    try:
        work.send(None)
    except NotAllowed as error:
        return str(error)
    work.close()
    return ""


async def test_each_deed_takes_its_role(tmp_path: Path) -> None:
    deeds = {name for name, _ in inspect.getmembers(Desk, inspect.iscoroutinefunction)} - {"health"}
    assert deeds == OPERATORS | OWNERS | VIEWERS
    async with village(tmp_path) as here:
        reader = JournalReader(here.service.config.journal, reactor)
        host = JournalHost(reader)
        desk = Desk(Sources(here.service, host, JournalRecords(reader, here.service, host.names), "1", lambda: 0.0))
        for name in sorted(OPERATORS | OWNERS):
            needed = VisitorRole.OPERATOR if name in OPERATORS else VisitorRole.OWNER
            for role in VisitorRole:
                if not role.may(needed):
                    assert refused_to(desk, name, role) == f"only an {needed} may do this", (name, role)
        reader.close()
