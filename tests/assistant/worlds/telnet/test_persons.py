"""A name is not a person: what was said in private stays with whoever said it, over 500 histories of names."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from mud_assistant.assistant.worlds.telnet.reading.name_holders import MOST_TRIES, UNSEEN, Persons
from mud_assistant.tools.trust import Kind, Principal, authority_of_words
from tests.assistant.worlds.telnet.played_game import START, hearing

DAY = 86_400.0


class Time:
    """A clock on the wall that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def persons(time: Time, **levels: int) -> Persons:
    return Persons("game", time, levels)


def restored(known: Persons, time: Time, levels: Mapping[str, int] | None = None) -> Persons:
    """The persons of the next start, from what was kept."""
    again = Persons("game", time, levels)
    again.restore(known.dump())
    return again


def keeps(known: Persons, name: str, phrase: str) -> bool:
    return known.set_phrase(name, phrase, known.phrase_hashes(name, phrase)())


def wakes(known: Persons, name: str, phrase: str) -> Principal | None:
    return known.wake_by_phrase(name, known.phrase_hashes(name, phrase)())


def test_a_principal_is_the_name_the_game_and_the_date_first_seen() -> None:
    bob = persons(Time()).meet("Bob")
    assert (bob.id, bob.name, bob.kind) == ("bob@game#2026-11-18", "Bob", Kind.PLAYER)
    assert (bob.permission, bob.trust, authority_of_words(bob)) == (1, 0, 0)


def test_the_same_name_is_the_same_person_whatever_its_case_and_after_a_restart() -> None:
    time = Time()
    known = persons(time)
    bob = known.meet("Bob")
    time.now += 89 * DAY
    assert known.meet("BOB") == bob
    again = restored(known, time)
    assert again.meet("bob").id == bob.id
    assert again.who_is(bob.id) == bob
    assert again.who_is("") is None
    with pytest.raises(ValueError, match="who is who cannot be read"):
        again.restore(b"{")


def test_what_has_to_be_kept_is_told() -> None:
    time, count = Time(), [0]

    def changed() -> None:
        count[0] += 1

    known = persons(time)
    known.on_change = changed
    known.meet("Bob")
    known.meet("Bob")
    assert count[0] == 1
    time.now += 2 * 3600
    known.meet("Bob")
    known.note_mark("Bob", "Wa", 2)
    known.note_mark("Bob", "Wa", 2)
    known.new_holder("Zoe")
    assert count[0] == 3
    known.new_holder("Bob")
    assert count[0] == 4


def test_the_owner_lifts_a_name_for_its_first_holder_alone() -> None:
    known = persons(Time(), bob=3)
    bob = known.meet("Bob")
    assert (bob.permission, bob.trust, authority_of_words(bob)) == (3, 3, 3)
    known.new_holder("Bob")
    other = known.meet("Bob")
    assert other.id != bob.id
    assert authority_of_words(other) == 0
    assert known.wake(bob.id) == bob
    assert known.meet("Bob") == bob


@pytest.mark.parametrize("sign", ["notice", "mark", "level", "unseen"])
def test_a_sign_of_a_new_holder_lets_the_old_one_sleep(sign: str) -> None:
    time = Time()
    known = persons(time)
    bob = known.meet("Bob")
    known.note_mark("Bob", "Wa", 12)
    assert known.meet("Bob") == bob
    if sign == "notice":
        known.new_holder("bob")
    elif sign == "unseen":
        time.now += UNSEEN + 1
    else:
        known.note_mark("Bob", "Cl" if sign == "mark" else "Wa", 13 if sign == "mark" else 1)
    assert known.holder_of("Bob") is None
    other = known.meet("Bob")
    assert other.id != bob.id
    assert [one.id for one in known.sleepers()] == [bob.id]


def test_a_higher_level_is_no_sign() -> None:
    known = persons(Time())
    bob = known.meet("Bob")
    known.note_mark("Bob", "Wa", 12)
    known.note_mark("Bob", "Wa", 13)
    known.note_mark("Bob", "", 0)
    assert known.meet("Bob") == bob


def test_a_pass_phrase_told_earlier_wakes_its_holder_and_is_not_guessed() -> None:
    known = persons(Time())
    bob = known.meet("Bob")
    assert not keeps(known, "Bob", "short")
    assert not keeps(known, "Zoe", "the red fox jumps")
    assert keeps(known, "Bob", "the red fox jumps")
    assert b"red fox" not in known.dump()
    known.new_holder("Bob")
    other = known.meet("Bob")
    assert wakes(known, "Bob", "the red dog jumps") is None
    assert wakes(known, "Bob", " The red  FOX jumps") == bob
    assert known.meet("Bob") == bob
    known.new_holder("Bob")
    assert known.meet("Bob").id not in {bob.id, other.id}
    for number in range(MOST_TRIES):
        assert wakes(known, "Bob", f"guess number {number}") is None
    assert wakes(known, "Bob", "the red fox jumps") is None
    assert known.wake(bob.id) == bob


def test_a_pass_phrase_is_told_in_private_and_reaches_neither_events_nor_the_model() -> None:
    heard = hearing("moo")
    heard.lines('Bob pages, "hello"')
    old = heard.events[-1].who
    (kept,) = heard.lines('Bob pages, "My pass-phrase is: the red fox jumps."')
    heard.persons.new_holder("Bob")
    heard.lines('Bob pages, "it is me"')
    assert heard.events[-1].who.id != old.id
    heard.lines('Bob whispers, "my passphrase is the red fox jumps"')
    heard.lines('Bob pages, "it is really me"')
    assert heard.events[-1].who == old
    assert "left a pass-phrase" in getattr(kept, "text", "")
    assert not [event for event in heard.events if "fox" in getattr(event, "text", "")]
    assert f"since {old.id[-10:]}" in " ".join(getattr(event, "text", "") for event in heard.events)


def test_no_private_word_reaches_a_new_holder_and_the_old_one_gets_theirs_back() -> None:
    returned = lost = 0
    for seed in range(500):
        dice = Random(seed)  # noqa: S311 - any numbers will do
        time = Time()
        known = persons(time)
        holder = known.meet("Bob")
        known.note_mark("Bob", "Wa", 10)
        has_phrase = dice.random() < 0.1
        if has_phrase:
            keeps(known, "Bob", "the red fox jumps")
        owners = {holder.id: "first"}
        person = "first"
        for turn in range(dice.randint(3, 12)):
            happening = dice.choice(("talk", "talk", "leave", "given away", "restart"))
            if happening == "leave":
                time.now += dice.uniform(0, 80) * DAY
            elif happening == "restart":
                known = restored(known, time)
            elif happening == "given away":
                person = f"other {turn}"
                sign = dice.choice(("notice", "mark", "unseen"))
                if sign == "notice":
                    known.new_holder("Bob")
                elif sign == "mark":
                    known.note_mark("Bob", person, 1)
                else:
                    time.now += UNSEEN + dice.uniform(1, 90) * DAY
            now = known.meet("Bob")
            assert owners.setdefault(now.id, person) == person
            known.note_mark("Bob", "Wa" if person == "first" else person, 1 if person != "first" else 10)
        if person != "first":
            woken = wakes(known, "Bob", "the red fox jumps") if has_phrase else known.wake(holder.id)
            known.meet("Bob")
            returned += woken is not None and woken.id == holder.id == known.meet("Bob").id
            lost += woken is None or woken.id != holder.id
        else:
            returned += known.meet("Bob").id == holder.id
            lost += known.meet("Bob").id != holder.id
    assert returned / (returned + lost) >= 0.97


def test_the_owner_gives_a_name_back_by_the_id_of_its_earlier_holder_at_the_next_start() -> None:
    time = Time()
    known = persons(time)
    old = known.meet("Bob")
    known.new_holder("Bob")
    time.now += DAY
    new = known.meet("Bob")
    assert new.id != old.id
    again = restored(known, time, {old.id: 1})
    back = again.meet("Bob")
    assert (back.id, back.trust) == (old.id, 1)
    assert again.who_is(new.id) is not None
    once_more = restored(again, time, {old.id: 1})
    once_more.new_holder("Bob")
    assert once_more.meet("Bob").id not in {old.id, new.id}


def test_a_pass_phrase_is_taken_with_hashes_that_another_thread_made() -> None:
    """The work holds nothing of the persons, who go on changing meanwhile."""
    time = Time()
    known = persons(time)
    bob = known.meet("Bob")
    work = known.phrase_hashes("Bob", "swallows in spring")
    assert known.set_phrase("Bob", "swallows in spring", work())
    known.new_holder("Bob")
    known.meet("Bob")
    work = known.phrase_hashes("Bob", "swallows in spring")
    known.meet("Carol")
    woken = known.wake_by_phrase("Bob", work())
    assert woken is not None
    assert woken.id == bob.id
    assert known.wake_by_phrase("Bob", {}) is None
    assert not known.set_phrase("Carol", "swallows in spring", work()), "none of the hashes is hers"
