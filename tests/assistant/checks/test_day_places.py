"""What the doctor says of a day that cannot be kept: a tool, a room or a way that is not there; and the clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.characters import CharacterError
from mud_assistant.assistant.characters.day_entries import NO_DAYS, DayEntry, Days, FreeLife
from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.day_places import CLOCK, PLACES, TOOLS, DayKeeper, check_days
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.surfaces.examining import keeper_in_trial
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, Place, Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm.testing import FakeOllama, Reply, serve
from mud_assistant.tools.game import GameTime
from tests.assistant.living import SAGE, reactor
from tests.assistant.service.village import village

MORNING = DayEntry(360, "mill", "opens the sluice.", ("sifts flour.",), ("Mind the sacks.",))
DAYS = Days((MORNING, DayEntry(1080, "inn"), DayEntry(1320, "mill", rests=True)), FreeLife(("yawns.",)))
#: A room that no exit leads to.
VAULT = Place((*HAMLET.rooms, Room("vault", "The Sunken Vault", "It is dark.", ())))


class Mute:
    """A world that does not know its rooms, as one of an author's own may be."""

    def __init__(self, body: EmbeddedBody) -> None:
        self.look, self.route = body.look, body.route


def findings(days: Days | CharacterError, world: object = None, tools: tuple[str, ...] | None = None) -> list[Finding]:
    """What is found of a day; in the library of a place with a vault, unless another world is given."""
    shown: list[Finding] = []

    async def read() -> Days:
        if isinstance(days, CharacterError):
            raise days
        return days

    lives = world if world is not None else EmbeddedWorld(VAULT, lambda: GameTime(27_000.0, 12.0)).add(SAGE)
    keeper = DayKeeper("Bran", read, lives, tools)  # type: ignore[arg-type]  # a world may lack what came later
    Deferred.fromCoroutine(check_days(keeper, CheckRunner(Clock(), shown.append, lambda _: None)))
    return shown


def only(check: str, found: list[Finding]) -> Finding:
    (one,) = [finding for finding in found if finding.check == check]
    return one


def test_a_day_that_can_be_kept_is_well() -> None:
    found = findings(DAYS)
    assert [(one.check, one.state) for one in found] == [(one, FindingState.OK) for one in (TOOLS, PLACES, CLOCK)]
    assert "which shows 07:30; a day takes 2 hours" in found[-1].sentence


def test_of_a_character_without_days_nothing_is_said() -> None:
    assert findings(NO_DAYS) == []


def test_a_file_that_cannot_be_read_is_named() -> None:
    assert findings(CharacterError("no file bran")) == [Finding(TOOLS, FindingState.WRONG, "no file bran")]


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("move", "so it walks to no place of the entries 06:00, 18:00, 22:00: add move to the setting tools"),
        ("emote", "so it makes no pose of the entries 06:00 and of its free life: add emote to the setting tools"),
        ("say", "so it says nothing of the entries 06:00: add say to the setting tools"),
    ],
)
def test_a_tool_that_is_not_granted_is_named_with_what_it_costs(lacks: str, said: str) -> None:
    found = findings(DAYS, tools=tuple(tool for tool in ("move", "emote", "say") if tool != lacks))
    told = only(TOOLS, found)
    assert (told.state, told.sentence) == (FindingState.WRONG, f"Bran is not granted {lacks}, {said}")
    assert any(one.check == PLACES for one in found) is (lacks != "move")


def test_a_tool_that_the_day_does_not_need_is_not_missed() -> None:
    days = Days((DayEntry(360, "mill"),))
    assert all(one.state is FindingState.OK for one in findings(days, tools=("move",)))


def test_a_room_that_no_name_fits_is_told_from_one_without_a_way() -> None:
    days = Days((replace(MORNING, place="sunken vault"), DayEntry(1080, "green dragon"), DayEntry(1200, "mill")))
    told = only(PLACES, findings(days))
    assert told.state is FindingState.WRONG
    assert '"sunken vault" (06:00): there is The Sunken Vault, and no way that Bran may pass' in told.sentence
    assert '"green dragon" (18:00): no room of the game has such a name; write the name' in told.sentence
    assert '"mill"' not in told.sentence


def test_a_world_that_knows_neither_its_rooms_nor_a_clock_is_looked_at_all_the_same() -> None:
    days = Days((DayEntry(360, "mill"), DayEntry(1080, "green dragon")))
    found = findings(days, Mute(EmbeddedWorld().add(SAGE)))
    assert "no way to green dragon is known from here; name a room as it is called" in only(PLACES, found).sentence
    clock = only(CLOCK, found)
    assert (clock.state, "the wall clock counts, moved by [budget] utc_offset" in clock.sentence) == (
        FindingState.OK,
        True,
    )


@pytest.mark.usefixtures("reactor_baseline")
async def test_the_doctor_of_a_trial_looks_in_its_own_place(tmp_path: Path) -> None:
    folder = tmp_path / "characters"
    folder.mkdir()
    (folder / "bran.toml").write_text('name = "Bran"\n[[day]]\nfrom = "06:00"\nplace = "smithy"\n')
    keeper = keeper_in_trial(reactor, AssistantConfig(character="bran"), tmp_path, lambda: 1e9)
    assert (await keeper.days()).entries == (DayEntry(360, "smithy"),)
    assert await keeper.world.route("mill")
    assert await keeper_in_trial(reactor, AssistantConfig(), tmp_path, lambda: 1e9).days() == NO_DAYS


@pytest.mark.usefixtures("reactor_baseline")
async def test_the_doctor_of_a_service_looks_where_the_character_lives(tmp_path: Path) -> None:
    folder, found = tmp_path / "characters", list[Finding]()
    folder.mkdir()
    (folder / "bran.toml").write_text('name = "Bran"\npersona = "Bran."\n[[day]]\nfrom = "06:00"\nplace = "smithy"\n')
    async with village(tmp_path) as here, serve(FakeOllama(reactor, lambda _: Reply("yes")), reactor) as url:
        model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1}
        sage = here.start({"model": model, "assistant": {"character": "bran", "join_seconds": 0}})
        await sage.settled()
        assert not await here.service.doctor(sage, found.append)
    assert '"smithy" (06:00): no room of the game has such a name' in only(PLACES, found).sentence
