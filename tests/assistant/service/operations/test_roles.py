"""What each role may do to assistants: no less than is said, and no more, whatever runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.service.operations import life, lore_pieces, personas, players
from mud_assistant.assistant.service.operations.operated import KnownAssistant, Operated, SettingsStore
from mud_assistant.assistant.service.operations.operators import NotAllowed, OperationRefused, Operator, VisitorRole
from mud_assistant.tools import Principal
from tests.assistant.living import ANN, SAGE
from tests.assistant.service.lived_service import DEAD, Town
from tests.assistant.service.planned_service import PlannedService

pytestmark = pytest.mark.usefixtures("reactor_baseline")
OPERATOR, OWNER = VisitorRole.OPERATOR, VisitorRole.OWNER
KNOWN = KnownAssistant(SAGE.id, SAGE.name, is_off=True)
Deed = Callable[[Operated, Operator], Any]
#: What is done, with the least role that may do it.
DEEDS: dict[str, tuple[VisitorRole, Deed]] = {
    "stop": (OPERATOR, lambda there, who: life.halt(there, who, [SAGE.id])),
    "start": (OPERATOR, lambda there, who: life.start(there, who, KNOWN)),
    "reset": (OPERATOR, lambda there, who: life.reset(there, who, SAGE.id)),
    "retry": (OPERATOR, lambda there, who: life.retry(there, who, SAGE.id, ["1"])),
    "clear": (OPERATOR, lambda there, who: life.retry(there, who, SAGE.id, ["1"], clear=True)),
    "clear a mind": (OWNER, lambda there, who: life.clear_mind(there, who, SAGE.id, memories=True)),
    "forget": (OWNER, lambda there, who: players.forget_everywhere(there, who, ANN)),
    "add lore": (OWNER, lambda there, who: lore_pieces.add_piece(there, who, SAGE.id, title="a", keys=[], text="b")),
    "delete lore": (OWNER, lambda there, who: lore_pieces.delete_piece(there, who, SAGE.id, 1)),
    "be another": (OWNER, lambda there, who: personas.set_persona(there, who, SAGE.id, "a miller")),
}


class Host:
    """A world whose journal is only looked at."""

    store: SettingsStore | None = None

    def assistants(self) -> Sequence[KnownAssistant]:
        return [KNOWN]


@pytest.mark.parametrize("deed", DEEDS)
async def test_a_deed_takes_its_role_and_no_higher_one(tmp_path: Path, deed: str) -> None:
    needed, do = DEEDS[deed]
    town = Town(tmp_path, PlannedService(None, Counter()), DEAD, {})
    [process] = town.processes
    there = Operated(process.service, Host())
    for role in VisitorRole:
        who = Operator(Principal("player:owner", "Owner", permission=5), role)
        refused = ""
        try:
            done = do(there, who)
            if isinstance(done, Coroutine):
                await town.over(done, deed)
        except NotAllowed as error:
            refused = str(error)
        except (OperationRefused, AssistantError):
            pass  # nobody runs, and nothing can be changed
        assert (refused == f"only an {needed} may do this") is not role.may(needed), (role, refused)
    await town.ends(process, is_patient=True)
