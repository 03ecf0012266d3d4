"""What a guest does in a real game, and what the contract of worlds asks of it there; one visit shows it all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from inspect import iscoroutinefunction
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.threads import blockingCallFromThread, deferToThread

from mud_assistant.tools.errors import ToolFailed, Unconfirmed
from mud_assistant.tools.game import World
from mud_assistant.tools.testing import Act
from mud_assistant.tools.trust import Principal
from tests.assistant.worlds.telnet.live.town import PASSWORD, Visit
from tests.contracts import test_world as contract

#: The tests of the contract that fit every game, by name. What they look at is asked of the game once.
FITTING: tuple[Callable[[contract.Subject], None], ...] = (
    contract.test_look_shows_the_room_without_oneself,
    contract.test_looking_changes_nothing,
    contract.test_inspecting_what_is_not_there_says_what_is,
    contract.test_who_lists_oneself_as_an_ai_and_the_others,
    contract.test_a_player_is_present_who_hears_and_does_not_idle,
    contract.test_who_somebody_is_can_be_told_wherever_they_are,
    contract.test_moving_where_no_exit_is_lists_the_exits_and_stays,
    contract.test_a_clock_has_an_hour_and_goes_forward,
)


class Asked:
    """A world that is asked from another thread than the reactor's, as the contract asks: each call waits."""

    def __init__(self, world: World, reactor: Any) -> None:
        self._world, self._reactor = world, reactor

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._world, name)

        def wait(*arguments: Any, **named: Any) -> Any:
            return blockingCallFromThread(self._reactor, self._ask, asked, arguments, named)

        async def wait_later(*arguments: Any, **named: Any) -> Any:
            return wait(*arguments, **named)

        return wait_later if iscoroutinefunction(asked) else wait

    @staticmethod
    def _ask(asked: Any, arguments: Any, named: Any) -> Any:
        answer = asked(*arguments, **named)
        return Deferred.fromCoroutine(answer) if iscoroutinefunction(asked) else answer


async def hears_and_answers(visit: Visit) -> None:
    """Somebody speaks, and Sage answers: each is perceived once."""
    visit.anna.type("say Hello there, Sage!")
    await visit.hears('Anna says: "Hello there, Sage!"')
    await visit.guest.body.say("Good day, Anna.")
    await visit.anna.saw("Good day, Anna.")
    await visit.guest.body.say("I could never keep to one season. Ask me on another day, and it is quite another one.")
    verbs = visit.guest.body.without_use
    if "emote" not in verbs:
        await visit.guest.body.emote("smiles at the wall.")
        await visit.anna.saw("Sage smiles at the wall.")
    if "page" not in verbs:
        await visit.guest.body.page("Anna", "Between us two.")
        await visit.anna.saw("Between us two.")
    assert [visit.seen_by_anna(words) for words in ("Good day, Anna.", "smiles at the wall.", "Between us two.")] == [
        1, "emote" not in verbs, "page" not in verbs,
    ]  # fmt: skip
    assert visit.spoken.count('Anna says: "Hello there, Sage!"') == 1
    assert not [line for line in visit.spoken if line.startswith("Sage")]


async def holds_the_contract(visit: Visit) -> None:
    """Run the tests of the contract that fit, by name, and walk back after each."""
    asked = cast("World", Asked(visit.guest.body, visit.reactor))
    home = (await visit.guest.body.look()).room
    for number, test in enumerate(FITTING):
        visit.anna.type(f"say Number {number}.")
        await visit.hears(f'Anna says: "Number {number}."')
        try:
            await deferToThread(test, contract.Subject(asked, list[Act]))
            scene = await visit.guest.body.look()
            if scene.room != home:
                assert (await visit.guest.body.move(scene.exits[0])).room == home
        except BaseException as error:
            error.add_note(f"{test.__name__}, in {visit.town.profile}; typed: {visit.relay.connections[-1].lines}")
            raise


async def refuses_what_a_guest_does_not_do(visit: Visit) -> None:
    """Nobody is whispered to who is not there, and nothing is typed but what the profile names."""
    body, typed = visit.guest.body, len(visit.relay.connections[-1].lines)
    subject = contract.Subject(cast("World", Asked(body, visit.reactor)), list[Act])
    for nobody in ("Zoe", "", "Sage"):
        await deferToThread(contract.test_whispering_to_who_is_not_there_is_refused, subject, nobody)
    for line in ("quit", "frobnicate", "", "say hi", "tell Anna hi", "shutdown"):
        await _refused(body.resolve(line), "There is no command")
    await _refused(body.go_home(), "You are a guest")
    assert not body.hears(Principal("player:zoe", "Zoe"))
    assert len(visit.relay.connections[-1].lines) == typed


async def walks(visit: Visit) -> None:
    """Sage goes through an exit, sees the room behind, and is gone for Anna; then Sage comes back."""
    body = visit.guest.body
    before, (anna,) = await body.look(), body.present(900.0)
    assert body.hears(anna)
    mark = visit.anna.mark
    there = await body.move(before.exits[-1])
    assert (there.room != before.room, await body.look()) == (True, there)
    assert not body.hears(anna)
    assert (await body.move(there.exits[0])).room == before.room
    seen = await visit.anna.saw("Sage", mark)
    assert len([line for line in seen.splitlines() if "Sage" in line]) == len(("left", "came"))


async def is_cut_off_and_comes_back(visit: Visit) -> None:
    """Sage is cut off twice, once in the middle of a line: nothing is said twice, nothing goes into a menu."""
    body, relay = visit.guest.body, visit.relay
    spoken = Deferred.fromCoroutine(body.say("I am being cut off."))
    await visit.anna.saw("I am being cut off.")
    relay.connections[-1].cut()
    with suppress(Unconfirmed):
        await spoken
    await _refused(body.say("Nobody hears this."), "nothing was typed")
    await visit.plays(2)
    relay.connections[-1].cut()
    await visit.plays(3)
    visit.anna.type("say You are back.")
    await visit.hears('Anna says: "You are back."')
    await body.say("Yes, I am.")
    await visit.anna.saw("Yes, I am.")
    assert [visit.seen_by_anna(words) for words in ("I am being cut off.", "Nobody hears", "Yes, I am.")] == [1, 0, 1]
    # A game may close the first connection after a cut once more, before it takes over what it still holds.
    first, *again = ([line for line in one.lines if not line.startswith("say")] for one in relay.connections)
    assert all(typed == first[: len(typed)] for typed in again), relay.connections[-1].lines
    assert (len(again) >= 2, relay.most_open) == (True, 1)
    shown = b"".join(visit.recorded).decode("latin-1") + repr(visit.states) + repr(visit.spoken)
    assert PASSWORD not in shown


async def _refused(deed: Any, sentence: str) -> None:
    try:
        await deed
    except ToolFailed as refused:
        assert sentence in str(refused)  # noqa: PT017  (a coroutine cannot be given to `raises`)
    else:
        raise AssertionError(f"it was done: {sentence}")
