"""What impulses would cost is estimated from the days that the journal holds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.life.impulse_plan import replay_impulses
from mud_assistant.assistant.life.impulses import LEFT_IN_PEACE
from mud_assistant.assistant.life.presence import PRESENT_SECONDS
from mud_assistant.assistant.runtime.storage import KeptJournal
from mud_assistant.assistant.service.operations.operators import InvalidInput
from mud_assistant.assistant.service.operations.planning import DAYS, MONTH, plan
from tests.assistant.living import ANN, SAGE
from tests.assistant.service.test_quiet import OWNER, there
from tests.assistant.service.village import village
from tests.chance import Sure

pytestmark = pytest.mark.usefixtures("reactor_baseline")
NOW, HOUR = 1_000_000.0, 3600.0
MINUTES = [minute * 60.0 for minute in range(0, 180, 10)]


def test_nobody_has_impulses_before_nobody() -> None:
    assert replay_impulses((), (), Sure()) == 0


def test_a_player_who_leaves_is_met_by_one_impulse_at_most() -> None:
    assert PRESENT_SECONDS < 2 * 600.0
    assert replay_impulses((0.0,), (), Sure()) == 1
    assert replay_impulses((0.0,), (0.0,), Sure()) == 1  # it acted, and waits for ten minutes
    assert replay_impulses((0.0,), (110.0, 400.0), Sure()) == 0  # ten minutes later nobody is present any more


def test_who_speaks_all_the_time_leaves_no_room_for_impulses() -> None:
    always = [at * LEFT_IN_PEACE / 2 for at in range(100)]
    assert replay_impulses(always, (), Sure()) == 1  # once they are silent


def test_the_same_days_give_the_same_number() -> None:
    found = [replay_impulses(MINUTES, (), Random(3)) for _ in range(2)]  # noqa: S311
    assert found[0] == found[1]
    assert 1 <= found[0] <= len(MINUTES)


def fill(db: Database) -> None:
    """Ann was there for three hours of a day, long ago too, and so were another assistant and the world."""
    put = "INSERT INTO events (assistant, id, payload, verdict, importance, addressed, accepted_at, state, who)"
    rows = [(f"e{at}", NOW - 2 * 24 * HOUR + at, ANN.id) for at in MINUTES]
    rows += [(f"old{at}", NOW - 20 * 24 * HOUR + at, ANN.id) for at in MINUTES]
    rows += [(f"w{at}", NOW - 5 * 24 * HOUR + at, who) for at, who in ((1.0, "world"), (2.0, ""), (3.0, "assistant:9"))]
    rows += [("goal:g.0:0", NOW - 4 * 24 * HOUR, ANN.id)]
    for id_, at, who in rows:
        db.execute(f"{put} VALUES (?, ?, X'00', 'context', 1, 0, ?, 'done', ?)", (SAGE.id, id_, at, who))
    for number in range(10):
        run = "INSERT INTO runs (seq, assistant, token, opened_at) VALUES (?, ?, 0, ?)"
        db.execute(run, (number + 1, SAGE.id, NOW - HOUR))
        if number < 8:
            db.execute("INSERT INTO responses VALUES (?, ?, 1, X'00')", (number + 1, SAGE.id))
    db.execute("INSERT INTO usage VALUES (?, ?, 8, 16000, 0.04)", (int(NOW // (24 * HOUR)), SAGE.id))
    db.execute("INSERT INTO usage VALUES (?, ?, 8, 99000, 9.0)", (0, SAGE.id))


async def test_a_month_is_estimated_from_the_last_days(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        journal = here.service.parts.journal
        assert isinstance(journal, KeptJournal)
        await here.service.parts.ready()
        assert "cost nothing" in (await plan(there(here), OWNER, SAGE.id)).sentence
        await journal.store.write(fill)
        log = await journal.lived(SAGE.id, NOW - DAYS * 24 * HOUR, 5)
        assert (len(log.heard), log.runs, log.tokens) == (len(MINUTES), 8, 16000)
        found = await plan(there(here), OWNER, SAGE.id)
        most = replay_impulses(log.heard, (), Sure()) * MONTH / DAYS
        assert most / 3 < found.impulses <= most
        assert "of about 2,000 tokens each" in found.sentence
        assert found.tokens == round(found.impulses * 2000)
        assert found.money == pytest.approx(found.tokens * 2.5 / 1_000_000)
        dearer = await plan(there(here), OWNER, SAGE.id, "5")
        assert dearer.tokens is not None
        assert dearer.money == pytest.approx(dearer.tokens * 5 / 1_000_000)
        for price in ("-1", "nan", "much"):
            with pytest.raises(InvalidInput):
                await plan(there(here), OWNER, SAGE.id, price)
