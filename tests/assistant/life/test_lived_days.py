"""Characters live their days, as the game's clock goes: real loop, no model."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.characters.day_entries import DayEntry, Days, FreeLife
from mud_assistant.assistant.loop.choosing import triggers_in
from mud_assistant.assistant.runtime.storage import Storage
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.tools import Principal
from tests.assistant.life.lives import HOUR, PACE, Lived, Town, acts, town

pytestmark = pytest.mark.usefixtures("reactor_baseline")
DAYS = Days(
    (
        DayEntry(360, "mill", "opens the sluice.", ("counts sacks.", "sifts flour."), ("Mind the sacks.",)),
        DayEntry(1080, "inn", "shakes flour from a sleeve.", ("watches the stew.",)),
        DayEntry(1320, "mill", rests=True),
    ),
    FreeLife(("yawns.",), 5),
)
MIRA = Lived("Mira", "mill", DAYS)


async def journalled(here: Town, name: str) -> int:
    """Return how many events the character still has to answer or to act on."""
    return len(triggers_in(await here.journals[name].pending()))


async def test_a_stranger_who_stays_ten_minutes_sees_something_that_nobody_asked_for() -> None:
    async with town(MIRA, hour=7) as here:
        here.ann("mill")
        here.pass_by(600)
        seen = acts(here.witness, "Mira")
        assert seen[0] == "Mira opens the sluice."
        assert 3 <= len(seen) <= 6
        assert seen.count("Mira opens the sluice.") == 1
        assert here.witness.steps == []  # no model was asked


async def test_what_it_has_begun_it_does_not_begin_again_in_its_next_life() -> None:
    kept: dict[str, Storage] = {}
    async with town(MIRA, hour=7, kept=kept) as here:
        here.ann("mill")
        here.pass_by(300)
        assert acts(here.witness, "Mira")[0] == "Mira opens the sluice."
    async with town(MIRA, hour=8, kept=kept) as here:
        here.ann("mill")
        here.pass_by(300)
        seen = acts(here.witness, "Mira")
        assert seen
        assert "Mira opens the sluice." not in seen
    async with town(MIRA, hour=18.5, kept=kept) as here:
        here.ann("inn")
        here.pass_by(300)
        assert "Mira shakes flour from a sleeve." in acts(here.witness, "Mira")


async def test_char_is_its_own_name_in_each_line_of_its_day() -> None:
    lines = DayEntry(360, "mill", "sweeps {{char}}'s corner.", ("polishes {{char}}'s bell.",), ("{{CHAR}} is open!",))
    days = Days((lines, DayEntry(660)), FreeLife(("thinks of {{char}}.",), 2))
    async with town(Lived("Mira", "mill", days), hour=7) as here:
        ann = here.ann("mill")
        for _ in range(3):
            here.pass_by(600)
            ann.note_typing()
        here.until(12)
        ann.note_typing()
        here.pass_by(600)
        assert {*acts(here.witness, "Mira")} == {
            "Mira sweeps Mira's corner.", "Mira polishes Mira's bell.", "Mira thinks of Mira.",
            "Mira: Mira is open!",
        }  # fmt: skip


async def test_it_is_where_its_day_wants_it_at_every_hour() -> None:
    async with town(MIRA, hour=7) as here:
        ann = here.ann("road")
        found = []
        for hour in (10, 17.6, 18.3, 21.6, 22.3, 5.6, 6.3, 18.3):
            here.until(hour)
            ann.note_typing()
            here.pass_by(65.0)
            found.append(here.where("Mira"))
        assert found == ["mill", "mill", "inn", "inn", "mill", "mill", "mill", "inn"]


@pytest.mark.parametrize("name", ["mill", next(one.name for one in HAMLET.rooms if one.key == "mill")])
async def test_in_a_quiet_room_nothing_is_shown_and_it_still_goes_to_the_inn(name: str) -> None:
    settings = {"quiet_rooms": ("chapel", name), "impulses": True}
    async with town(Lived("Mira", "mill", DAYS, settings), hour=17) as here:
        ann = here.ann("mill")
        here.pass_by(250)
        assert acts(here.witness, "Mira") == []
        whys = [one.why for one in here.assistants["Mira"].context.memory.reasons.latest]
        assert "its owner wants quiet in this room" in whys
        here.until(18.2)
        ann.note_typing()
        here.pass_by(65.0)
        assert here.where("Mira") == "inn"


async def test_which_entry_counts_is_known_also_while_nobody_plays() -> None:
    async with town(MIRA, hour=23) as here:
        mira = here.assistants["Mira"].initiative
        assert mira.entry_at_time(here.clock.seconds()) == DAYS.entries[2]
        here.until(7)
        assert mira.entry_at_time(here.clock.seconds()) == DAYS.entries[0]


async def test_it_goes_on_where_a_player_stands_alone_and_stops_when_nobody_plays() -> None:
    async with town(MIRA, hour=17) as here:
        here.ann("garden")
        here.until(18.5)
        assert here.where("Mira") == "inn"
        here.until(22.5)  # Ann has typed nothing for twenty-five minutes of hers
        assert here.where("Mira") == "inn"


async def test_nothing_is_done_while_somebody_speaks() -> None:
    async with town(MIRA, hour=17.5) as here:
        ann = here.ann("mill")
        here.world.add(Principal("player:2", "Bea"), "mill")
        here.pass_by(100)
        for _ in range(30):
            await ann.say("It is a fine evening for the time of year.")
            here.pass_by(20)
        assert here.where("Mira") == "mill"
        here.pass_by(120)
        assert here.where("Mira") == "inn"


async def test_while_somebody_waits_for_an_answer_nothing_is_done() -> None:
    async with town(MIRA, hour=7) as here:
        ann, mira = here.ann("mill"), here.assistants["Mira"]
        await mira.tick.stop()
        await ann.say("Mira, how are you?")
        here.pass_by(60)
        for _ in range(3):
            await mira.initiative.look()
        assert await journalled(here, "Mira") == 1
        assert mira.context.memory.reasons.latest[0].why == "somebody waits for an answer"


async def test_a_way_that_is_not_there_is_given_up_and_shown() -> None:
    days = Days((DayEntry(0, "lighthouse"),), FreeLife(("yawns.",), 2))
    async with town(Lived("Tom", "garden", days)) as here:
        here.ann("garden")
        here.pass_by(500)
        reasons = here.assistants["Tom"].context.memory.reasons.latest
        assert any("no way to lighthouse is known from here" in one.why for one in reasons)
        assert "Tom yawns." in acts(here.witness, "Tom")


async def test_an_inn_full_of_characters_is_no_fair() -> None:
    days = Days((DayEntry(0, "inn", does=tuple(f"does {one}." for one in range(5))),))
    async with town(*(Lived(f"No{number}", "inn", days) for number in range(5))) as here:
        here.ann("inn")
        here.pass_by(600)
        seen = [line for line in here.witness.heard if line.startswith("No")]
        assert 5 <= len(seen) <= 600 / 20 + 1


async def test_fifty_characters_in_an_empty_game_do_nothing_in_a_day() -> None:
    everyone = [Lived(f"No{number}", "mill", DAYS, {"impulses": True}) for number in range(50)]
    async with town(*everyone) as here:
        here.pass_by(120)  # they see each other come
        ends = len(here.witness.outcomes)
        here.pass_by(24 * HOUR, 30.0)
        assert all([await journalled(here, one.name) == 0 for one in everyone])
        assert {here.where(one.name) for one in everyone} == {"mill"}
        assert len(here.witness.outcomes) == ends
        assert not any(assistant.context.memory.reasons.latest for assistant in here.assistants.values())


async def test_a_player_who_idles_sees_no_line_after_a_quarter_of_an_hour() -> None:
    everyone = [Lived(f"No{number}", "mill", DAYS) for number in range(50)]
    async with town(*everyone, hour=7) as here:
        here.ann("mill")
        here.pass_by(960, 5.0)
        lines, ends = len(here.witness.heard), len(here.witness.outcomes)
        assert lines > 0
        here.pass_by(7.75 * HOUR, 30.0)
        assert (len(here.witness.heard), len(here.witness.outcomes)) == (lines, ends)


@pytest.mark.parametrize("settings", [{"tools": ["say", "look"]}, {"tools": ["say", "emote", "look"]}])
async def test_what_is_not_granted_is_not_done_and_shown(settings: dict[str, Any]) -> None:
    async with town(Lived("Mira", "library", DAYS, settings), hour=7) as here:
        here.ann("library")
        here.pass_by(400)
        assert here.where("Mira") == "library"
        reasons = [one.why for one in here.assistants["Mira"].context.memory.reasons.latest]
        assert any("it is not granted move" in why for why in reasons)
        assert bool(acts(here.witness, "Mira")) is ("emote" in settings["tools"])


async def test_it_follows_before_it_lives_its_day() -> None:
    async with town(MIRA, hour=17.8) as here:
        ann = here.ann("mill")
        [seen] = (await here.bodies["Mira"].look()).people
        here.assistants["Mira"].context.tools.following.begin(seen, None)
        here.until(18.5)
        assert here.where("Mira") == "mill"
        ann.note_typing()
        here.assistants["Mira"].context.tools.following.end()
        here.pass_by(90)
        assert here.where("Mira") == "inn"


def test_the_clock_of_these_towns_runs_as_they_say() -> None:
    assert 24 * HOUR / PACE == 2 * HOUR
