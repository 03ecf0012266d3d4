"""In a real game anybody can take a free name: what is said in private reaches the principal who asked, or nobody."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evennia
import pytest
from evennia.utils import create
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.llm.testing import Brain, Call, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.testing import now
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.test_account import sage_now, with_account
from tests.evennia.village import Player, RecordingSession, Village

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")

SECRET = "zqkelpie"
STRANGER = "Mallory"


def telling(names: tuple[str, ...], meanwhile: Callable[[], object]) -> Brain:
    """A model that tells its secret by every private way to whoever has one of these names, after `meanwhile`."""
    calls = [Call(verb, {"target": name, "text": SECRET}) for name in names for verb in ("whisper", "page")]

    def brain(request: RecordedRequest) -> Step:
        if request.messages[-1]["role"] == "tool":
            return Reply("Well.")
        meanwhile()
        return Reply(calls=tuple(calls))

    return brain


def plays(village: Village, account: str, character: str, where: Any = None) -> Player:
    """Somebody whose account and character have different names."""
    made = create.create_account(account, f"{account}@example.com".replace(" ", "").lower(), "a password",
                                 "typeclasses.accounts.Account", permissions=["Player"])  # fmt: skip
    figure = village.figure(character, where)
    figure.locks.add(f"puppet:pid({made.id})")
    made.db._last_puppet = figure
    player = Player(made, figure, RecordingSession.connected())
    village.logs_in(player)
    player.raw()
    return player


def _leaves(here: Office, player: Player) -> None:
    player.character.move_to(here.village.garden, quiet=True)


def _unpuppets(_: Office, player: Player) -> None:
    player.account.unpuppet_object(player.session)


def _logs_out(_: Office, player: Player) -> None:
    player.logs_out()


#: How the one who asks is called (account, character), how the stranger is, and whether the asker still hears.
HISTORIES: list[tuple[str, tuple[str, str], tuple[str, str], Callable[[Office, Player], None], bool]] = [
    ("an account with the character's name", ("annie", "Ann"), ("Ann", STRANGER), _leaves, True),
    ("the same, out of character", ("annie", "Ann"), ("Ann", STRANGER), _unpuppets, True),
    ("the same, after a log-out", ("annie", "Ann"), ("Ann", STRANGER), _logs_out, False),
    ("a character with the account's name", ("Bea", "Robin"), (STRANGER, "Bea"), _leaves, True),
    ("the same, out of character", ("Bea", "Robin"), (STRANGER, "Bea"), _unpuppets, True),
    ("the same, after a log-out", ("Bea", "Robin"), (STRANGER, "Bea"), _logs_out, False),
    ("an account with an article", ("Ann", "Ann"), ("The Ann", "The Ann"), _logs_out, False),
    ("a character with an article", ("Ann", "Ann"), (STRANGER, "The Ann"), _leaves, True),
    ("a name that begins alike", ("Ann", "Ann"), ("Anna", "Anna"), _logs_out, False),
    ("a character of the same name", ("Ann", "Ann"), (STRANGER, "Ann"), _logs_out, False),
    ("a character of the same name", ("Ann", "Ann"), (STRANGER, "Ann"), _leaves, True),
]


@pytest.mark.parametrize("how", ["whisper", "page"])
@pytest.mark.parametrize(("asker", "stranger", "goes", "is_reachable"), [row[1:] for row in HISTORIES],
                         ids=[f"{row[0]}: {row[3].__name__}" for row in HISTORIES])  # fmt: skip
async def test_who_has_taken_the_name_reads_nothing(
    tmp_path: Path,
    how: str,
    asker: tuple[str, str],
    stranger: tuple[str, str],
    goes: Callable[[Office, Player], None],
    *,
    is_reachable: bool,
) -> None:
    acts: list[Callable[[], object]] = []
    account, character = asker
    name, other_name = (character, account) if how == "whisper" else (account, character)
    brain = telling((name, f"The {name}", name.casefold(), other_name), lambda: [act() for act in acts])
    async with office(tmp_path) as here, serve(ollama(brain), reactor) as url:
        await with_account(here, url, assistant={"max_spoken": 20, "max_calls": 60})
        one, other = plays(here.village, *asker), plays(here.village, *stranger)
        acts.append(lambda: goes(here, one))
        line = f"whisper Sage = my secret is {SECRET}" if how == "whisper" else f"page Sage = my secret is {SECRET}"
        done = one.does(line)
        if inspect.isawaitable(done):
            await done
        await deferLater(reactor, 0.01)  # what a character perceives is handed over in the next turn
        await here.settled()
        assert [line for line in other.heard() if SECRET in line] == []
        if is_reachable:
            assert any(SECRET in line and "You " not in line for line in one.heard())


async def test_an_assistant_is_told_what_is_for_it(tmp_path: Path) -> None:
    """The account of another assistant is reached by its own id."""
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await with_account(here, url)
        mira = await here.made("Mira", url)
        await here.orders("assistant/account Mira = on")
        await here.settled()
        context = sage_now().assistant.context  # type: ignore[union-attr]
        only = frozenset({mira.embodiment.me.id})
        await context.body.world.page("Mira", "Good day.", only=only)
        with pytest.raises(ToolFailed, match="Nobody named 'Mira'"):
            await context.body.world.page("Mira", "Good day.", only=frozenset({"account:1"}))


def test_a_whisper_in_the_room_is_for_the_one_meant() -> None:
    village = Village()
    ann, anna, sage = village.player("Ann"), village.player("Anna"), village.assistant()
    body = EvenniaBody(sage, Clock())
    only = frozenset({principal_of(ann.character, sage).id})
    now(body.whisper("ann", "first", only=only))
    with pytest.raises(ToolFailed, match="somebody else"):
        now(body.whisper("Anna", "second", only=only))
    ann.character.move_to(village.garden, quiet=True)
    with pytest.raises(ToolFailed, match="somebody else"):
        now(body.whisper("Ann", "third", only=only))
    assert [line for line in anna.heard() if "whispers" in line] == []
    evennia.SESSION_HANDLER.clear()
