import pytest

from mud_assistant.assistant.worlds.embedded.commands import COMMANDS
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand
from mud_assistant.tools.testing import ANNA, SAGE, now
from tests.assistant.worlds.test_embedded import BEN, Diary


class Scenario:
    """Sage and Anna in the library, Ben in the attic; Anna and Ben keep diaries."""

    def __init__(self) -> None:
        self.world, self.anna_saw, self.ben_saw = EmbeddedWorld(), Diary(), Diary()
        self.sage = self.world.add(SAGE)
        self.anna = self.world.add(ANNA, listener=self.anna_saw)
        self.ben = self.world.add(BEN, "attic", self.ben_saw)

    def do(self, line: str) -> str:
        return now(self.sage.execute(now(self.sage.resolve(line))))

    def things(self) -> list[str]:
        return [thing.name for thing in now(self.sage.look()).things]


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("give map to Ben", GameCommand("give map to Ben", "give")),
        ("  HAND map to Ben ", GameCommand("give map to Ben", "give")),
        ("@tp/Quiet Ben to mill", GameCommand("teleport/quiet Ben to mill", "teleport", ("quiet",), 3)),
        ("! 1", GameCommand("py 1", "py", (), 5)),
        ("unquell", GameCommand("quell", "quell")),
        ("ban Ben", GameCommand("ban Ben", "ban", (), 4)),
    ],
)
def test_a_line_is_resolved_with_its_alias_replaced(scenario: Scenario, line: str, command: GameCommand) -> None:
    assert now(scenario.sage.resolve(line)) == command


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("fly", "There is no command 'fly'. Commands: get, drop, give,"),
        ("", "There is no command ''."),
        ("give/all map to Ben", "give has no switch 'all'."),
    ],
)
def test_what_is_no_command_is_told(scenario: Scenario, line: str, told: str) -> None:
    with pytest.raises(ToolFailed, match=told):
        now(scenario.sage.resolve(line))


def test_a_thing_goes_from_hand_to_hand_and_everybody_sees_it(scenario: Scenario) -> None:
    assert scenario.do("get map") == "You take the old map."
    assert "old map" not in scenario.things()
    assert "brown ink" in now(scenario.sage.inspect("map"))
    assert scenario.do("give map to anna") == "You give the old map to Anna."
    with pytest.raises(ToolFailed, match="You carry: nothing"):
        scenario.do("drop map")
    now(scenario.anna.execute(now(scenario.anna.resolve("drop map"))))
    assert scenario.things()[-1] == "old map"
    assert scenario.anna_saw.lines == ["Sage takes the old map.", "Sage gives me the old map (None)"]


def test_a_thing_may_be_given_to_who_lives_here(scenario: Scenario) -> None:
    scenario.do("get map")
    for way in ("south", "east"):
        now(scenario.sage.move(way))
    scenario.do("give map to mira")
    assert [thing.name for thing in scenario.world.carried["resident:mira"]] == ["old map"]


def test_a_shout_is_heard_everywhere(scenario: Scenario) -> None:
    scenario.do("shout Supper!")
    assert scenario.anna_saw.lines == scenario.ben_saw.lines == ["Sage says: Supper!"]


def test_things_are_made_and_destroyed(scenario: Scenario) -> None:
    scenario.do("create lamp")
    assert scenario.things()[-1] == "lamp"
    scenario.do("destroy lamp")
    assert "lamp" not in scenario.things()
    assert scenario.anna_saw.lines == ["Sage makes a lamp out of nothing.", "Sage destroys the lamp."]


def test_somebody_is_moved_and_it_is_seen_unless_it_is_quiet(scenario: Scenario) -> None:
    assert scenario.do("teleport ben to library") == "Ben is in The Old Library now."
    assert scenario.anna_saw.lines == ["Ben comes from nowhere"]
    scenario.do("teleport/quiet ben to garden")
    assert scenario.anna_saw.lines == ["Ben comes from nowhere"]
    assert scenario.ben.room.key == "garden"


def test_who_is_banned_is_out_of_the_game(scenario: Scenario) -> None:
    assert scenario.do("ban anna") == "Anna is out of the game."
    assert scenario.anna not in scenario.world.bodies


@pytest.mark.parametrize("line", ["py 1/0", "nick hi = py", "quell"])
def test_what_is_there_to_be_refused_does_nothing(scenario: Scenario, line: str) -> None:
    assert scenario.do(line).startswith("In a real game this would ")
    assert now(scenario.sage.resolve("give x to y")).name == "give"


@pytest.mark.parametrize("line", ["give map", "give to Ben", "teleport ben", "shout", "create", "give  to "])
def test_a_command_used_wrongly_says_how_to_use_it(scenario: Scenario, line: str) -> None:
    with pytest.raises(ToolFailed, match=f"Use: {line.split(maxsplit=1)[0]} "):
        scenario.do(line)


def test_every_word_is_one_command() -> None:
    words = [word for command in COMMANDS.values() for word in (command.name, *command.aliases)]
    assert len(words) == len(set(words))
