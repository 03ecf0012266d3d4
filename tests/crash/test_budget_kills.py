"""A budget spent by processes that are killed at any moment: no more reached the server than was allowed."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from twisted.internet.utils import getProcessOutputAndValue

from mud_assistant.llm.testing import FakeChat, Reply, serve
from tests.assistant.journal.keeping import rows

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).with_name("spending_child.py")
KILLS = 24
#: Enough that most lives are killed before it is used up, however fast the machine is.
LIMIT = 3000


async def test_a_budget_is_not_overspent_by_processes_that_are_killed(tmp_path: Path, reactor: Any) -> None:
    fake = FakeChat(reactor, lambda _: Reply("Hello.", usage=(9, 1)))
    async with serve(fake, reactor) as url:
        arguments = [str(CHILD), str(tmp_path / "j"), url, str(LIMIT), str(KILLS), "1"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        out, errors, status = await getProcessOutputAndValue(sys.executable, arguments, environment, reactor=reactor)
    assert status == 0, errors.decode()
    killed, last = map(int, out.split())
    assert (errors, last) == (b"", 0)
    assert killed > KILLS / 2, "the budget was used up before anybody could be killed"
    requests: Counter[int] = Counter()
    believed: dict[int, int] = {}
    for request in fake.chats:
        told = re.search(r"life (\d+) believes (\d+)", str(request.messages))
        assert told is not None
        requests[int(told[1])] += 1
        believed[int(told[1])] = int(told[2])
    print(f"{len(fake.chats)} requests of {LIMIT} allowed, over {KILLS} kills: {sorted(requests.items())}")  # noqa: T201
    assert len(requests) > KILLS / 2, "hardly any life had time to ask"
    assert len(fake.chats) <= LIMIT
    for life, spent in believed.items():
        assert sum(requests[earlier] for earlier in range(1, life)) <= spent, f"life {life} forgot what was spent"
    assert rows(tmp_path / "j", "SELECT calls FROM usage WHERE account NOT LIKE 'model:%'") == [(LIMIT,)]
