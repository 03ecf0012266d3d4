"""What a profile may hold, what is said of one that cannot be used, and what its forms understand."""

from __future__ import annotations

import re
from pathlib import Path
from time import process_time

import pytest

from mud_assistant.assistant.worlds.telnet.profiles.line_forms import FormError, compile_form, fill_line
from mud_assistant.assistant.worlds.telnet.profiles.profile import (
    ProfileError,
    read_profile,
    shipped_profile,
    shipped_profiles,
)
from mud_assistant.assistant.worlds.telnet.profiles.profile_tables import WrittenProfile
from mud_assistant.assistant.worlds.telnet.reading.player_names import bare_name, is_nobody, loosely, may_be_name
from mud_assistant.assistant.worlds.telnet.reading.surroundings import exits_of, names_in, read_room
from tests.assistant.worlds.telnet.played_game import hearing_by


def test_these_profiles_come_with_the_package() -> None:
    assert shipped_profiles() == ("diku", "evennia", "irc", "lp", "moo", "mudpy", "pennmush", "ranvier")
    for name in shipped_profiles():
        profile = shipped_profile(name, "Sage")
        assert profile.heard
        assert profile.verbs.say in {"say {text}", "say/noeval {text}"}
        assert [form for form in profile.heard if form.kind == "emote"] == [
            form for form in profile.heard[-1:] if form.kind == "emote"
        ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[speech", "game.toml: this is no TOML"),
        ("[speach]", "game.toml: speach: there is no such key. Did you mean `speech`? Remove it, or write one of: "),
        ('[speech]\nsays = ["x"]', "game.toml: speech.says: there is no such key. Did you mean `say`?"),
        ("[speech.echo]\nsai = []", "game.toml: speech.echo.sai: there is no such key. Did you mean `say`?"),
        ("[verbs]\nshout = 'x'", "game.toml: verbs.shout: there is no such key. Remove it, or write one of: say, "),
        ('[speech]\nsay = [{line = "x", color = "r"}]', "game.toml: speech.say.0.color: there is no such key."),
        ("[speech]\nsay = 3", "game.toml: speech.say: write a list of forms, as in: "),
        ("[speech]\nwraps = 'x'", "game.toml: speech.wraps: Input should be a valid integer"),
        ('based_on = "dikku"', "game.toml: based_on: there is no profile 'dikku'; those there are: diku, "),
        ('[speech]\nsay = ["{who} says {foo}"]', "game.toml: speech.say[0]: {foo} is no hole: use {any}, "),
        ('[speech]\nsay = ["{who}{text}"]', "game.toml: speech.say[0]: {who} and {text} touch: "),
        ('[speech]\nsay = ["{text} x {text}"]', "game.toml: speech.say[0]: {text} stands twice: only {who}, "),
        ('[speech]\nsay = ["{any} x {any} y {text}"]', "game.toml: speech.say[0]: at most 2 of the holes"),
        ('[speech]\nsay = ["a } b"]', "game.toml: speech.say[0]: a brace stands alone"),
        ('[verbs]\nsay = "say"', "game.toml: verbs.say: {text} is missing: the line says where it stands"),
        ('[verbs]\nsay = "say {text} {any}"', "game.toml: verbs.say: {any} cannot be typed"),
        ('[verbs.others]\nhack = "x {level}"', "game.toml: verbs.others.hack: {level} cannot be typed"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_to_do(text: str, sentence: str) -> None:
    with pytest.raises(ProfileError) as error:
        read_profile(text, "game.toml")
    assert str(error.value).startswith(sentence)


def test_a_games_own_profile_is_laid_over_that_of_its_codebase() -> None:
    base = shipped_profile("diku", "Sage")
    own = read_profile(
        'name = "Midland"\nbased_on = "diku"\n[speech]\nsay = ["{who} utters: {text}"]\ntell = []\n'
        '[speech.channels]\nnewbie = ["[NEWBIE] {who}: {text}"]\n[verbs]\nsay = "speak {text}"\n',
        "midland.toml",
        "Sage",
    )
    assert (own.name, own.verbs.say, own.verbs.tell) == ("Midland", "speak {text}", base.verbs.tell)
    assert own.speech.say == ("{who} utters: {text}", *base.speech.say)
    assert own.speech.tell == ()
    assert set(own.speech.channels) == {*base.speech.channels, "newbie"}


def test_a_profile_may_not_stand_on_itself_for_ever() -> None:
    with pytest.raises(ProfileError, match="at most 100000 characters"):
        read_profile("#" * 100_001, "long.toml")


@pytest.mark.parametrize(
    "line",
    [
        "Bertram " + "says, '" * 500, "a " * 1990, "'" * 3990, "Bertram says, '" + "x" * 3980 + "'", "You " * 990,
        "A b c d e f g h " * 240 + "'", "[" * 3000, "Bertram tells you '" * 200,
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", shipped_profiles())
def test_no_line_takes_long(name: str, line: str) -> None:
    profile = shipped_profile(name, "Sage")
    profile.heard[0].match(line)
    begun = process_time()
    for forms in (profile.heard, profile.errors, *profile.echo.values(), *profile.room.values()):
        for form in forms:
            form.match(line)
    assert process_time() - begun < 0.05


def test_a_form_fits_a_whole_line() -> None:
    form = compile_form("say", "{who} {verb}, '{text}'", ["says", "asks"])
    assert form.match("Old Bertram asks, 'is it, 'so'?'") == {
        "who": "Old Bertram",
        "verb": "asks",
        "text": "is it, 'so'?",
    }
    for line in ("Bertram says, 'x", "x, Bertram says, 'x'", "Bertram says 'x'", "Bertram, says, 'x'", "x" * 5000):
        assert form.match(line) is None
    with pytest.raises(FormError):
        compile_form("say", "")
    assert fill_line("tell {who} {text}", who="Ann", text="{who} is {here}") == "tell Ann {who} is {here}"


def test_what_may_be_a_name() -> None:
    for name in ("Anna", "O'Neil", "Jean-Luc", "Анна", "bob2", "李雷", "Wise Old Man"):
        assert may_be_name(name), name
    for name in ("", "2bob", "Аnna", "An\u202ena", "A" * 41, "a:b", "[x", "Anna\u200b", "<b>"):  # noqa: RUF001
        assert not may_be_name(name), name
    assert is_nobody("Someone", ())
    assert is_nobody("The voice", ("the voice",))
    assert (bare_name("The Old Man."), loosely("It's me!")) == ("old man", "itsme")


@pytest.mark.parametrize(
    ("text", "exits", "closed"),
    [
        ("n e s w", ("north", "east", "south", "west"), ()),
        ("n (e) s (w)", ("north", "east", "south", "west"), ("east", "west")),
        ("up (down)", ("up", "down"), ("down",)),
        ("down, east, north", ("down", "east", "north"), ()),
        ("north and south", ("north", "south"), ()),
        ("north to The Hall, old gate to Lane, and up", ("north", "old gate", "up"), ()),
        ("north (to The Hall), south", ("north", "south"), ()),
        ("none", (), ()),
        ("", (), ()),
    ],
)
def test_exits_are_read_in_their_spellings(text: str, exits: tuple[str, ...], closed: tuple[str, ...]) -> None:
    assert exits_of(text) == (exits, frozenset(closed))


def test_names_of_a_list() -> None:
    assert names_in("Anna, Bob (idle) and a lamp.") == ["Anna", "Bob", "a lamp"]


def test_a_room_of_tbamud() -> None:
    lines = [
        ("Eastern Foyer", "yellow"),
        ("   You are in the Eastern End of the Gathering Hall.  Several pillars line this", ""),
        ("room.", ""),
        ("[ Exits: n (e) s (w) ]", "cyan"),
        ("( 2) A plush couch is here in front of a coffee table.", "green"),
        ("Bertram the Believer is standing here.", "yellow"),
        ("The cityguard stands here.", "yellow"),
        ("", ""),
    ]
    room = read_room(lines, shipped_profile("diku"))
    assert room is not None
    assert (room.name, room.exits) == ("Eastern Foyer", ("north", "east", "south", "west"))
    assert room.description.endswith("Several pillars line this room.")
    assert (room.people, room.things) == (["Bertram", "cityguard"], ["plush couch"])
    assert read_room([("Nothing here.", "")], shipped_profile("diku")) is None


def test_lists_below_headings_are_read() -> None:
    profile = read_profile(
        '[speech]\nnames = "word"\n[room]\nexits = ["Ways out:"]\npeople = ["Players:"]\nthings = ["Contents:"]',
        "game.toml",
    )
    lines = [
        "Harbour(#12Rn)",
        "Gulls cry. Bertil is here.",
        "Players:",
        "Anna(#4)",
        "Old Tom",
        "Contents:",
        "brass lamp",
    ]
    for ways in (
        ["Old Gate, North, and Pier"],
        ["Old Gate   North   Pier"],
        ["Old Gate : A lane", "North - Hall", "Pier"],
    ):
        room = read_room([(line, "") for line in (*lines, "Ways out:", *ways, "", "Bertil waves.")], profile)
        assert room is not None
        assert (room.name, room.exits) == ("Harbour", ("old gate", "north", "pier"))
        assert room.people == ["Anna"]
        assert room.things[:2] == ["Old Tom", "brass lamp"]
        assert "Gulls cry." in room.description


def test_a_list_of_exits_may_go_on_below() -> None:
    profile = shipped_profile("diku")
    lines = [("Pier", "yellow"), ("Wet.", ""), ("Obvious exits:", ""), ("North : A lane", ""), ("down - The sea", "")]
    for after in (("Anna is standing here.", "yellow"), ("A rope is here.", "green")):
        room = read_room([*lines, after], profile)
        assert room is not None
        assert room.exits == ("north", "down")
        assert (room.people, room.things) in [(["Anna"], []), ([], ["rope"])]
    bare = read_room([*lines[:3], ("East", ""), ("A rope lies here.", "green")], profile)
    assert bare is not None
    assert (bare.exits, bare.things) == (("east",), ["rope"])


def test_a_description_is_not_people() -> None:
    profile = shipped_profile("lp")
    lines = [
        "The village church.",
        "a pit in the middle, and stairs in the corner.",
        "Obvious exits: south",
        "Johan the novice.",
    ]
    room = read_room([(line, "") for line in lines], profile)
    assert room is not None
    assert (room.people, room.exits) == (["Johan"], ("south",))


def test_the_profile_on_the_page_is_one_and_hears_what_the_page_says() -> None:
    page = (Path(__file__).parents[4] / "docs/telnet.md").read_text()
    found = re.search(r"```toml\n(name = .*?)```", page, re.DOTALL)
    assert found
    heard = hearing_by(found[1])
    heard.lines("Anna asks: are you there?", "[Newbie] Bob: hello", "Anna strolls north.")
    heard.lines("Anna sends you: psst", colour="cyan")
    heard.lines("Anna sends you: obey", "Anna whispers to you, 'obey'")
    assert [type(event).__name__ for event in heard.events] == [
        "Said", "ChannelSaid", "Left", "Paged", "Noticed", "Noticed",
    ]  # fmt: skip
    for table in ("speech", "verbs", "room", "errors"):
        keys = set(type(getattr(WrittenProfile(), table)).model_fields) - {"echo"}
        told = next(line for line in page.splitlines() if line.startswith(f"| `[{table}]`"))
        assert {key for key in keys if f"`{key}`" not in told} <= {"channels", "others"}
