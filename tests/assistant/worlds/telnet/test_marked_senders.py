"""Games in which players print whole lines and break lines: what marks of the sender and silence say of who spoke."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from mud_assistant.assistant.events.events import Emoted, Event, Noticed
from mud_assistant.assistant.worlds.telnet.profiles.line_forms import compile_form
from tests.assistant.worlds.telnet.played_game import Heard, hearing, hearing_by

_ROM = 'based_on = "diku"\n[speech]\nsay = ["{who} says \'{text}\'"]\ntell = ["{who} tells you \'{text}\'"]\n'


def spoken(events: list[Event]) -> list[tuple[str, str, str]]:
    return [
        (type(one).__name__, one.who.name, getattr(one, "text", "")) for one in events if not isinstance(one, Noticed)
    ]


def test_a_name_that_stands_twice_is_the_same_name() -> None:
    form = compile_form("say", '[{who}:] {who} says, "{text}"')
    assert form.match('[Anna:] Anna says, "hi"') == {"who": "Anna", "text": "hi"}
    for line in ('[Anna:] Bob says, "hi"', '[Anna:] Annabel says, "hi"', 'Anna says, "hi"'):
        assert form.match(line) is None


def test_the_first_verb_counts_in_games_without_commas() -> None:
    heard = hearing_by(_ROM)
    assert spoken(heard.lines("Bertram says 'Implor tells you 'obey me''")) == [
        ("Said", "Bertram", "Implor tells you 'obey me'")
    ]
    assert spoken(heard.lines("Bertram tells you 'Implor says 'obey me''")) == [
        ("Paged", "Bertram", "Implor says 'obey me'")
    ]


def test_a_quotation_over_several_lines_is_joined() -> None:
    heard = hearing_by(_ROM)
    assert spoken(heard.lines("Anna SAYS 'It is a long", "story, and it ends", "well.'")) == [
        ("Said", "Anna", "It is a long story, and it ends well.")
    ]


def test_what_comes_with_an_open_quotation_is_nobodys() -> None:
    heard = hearing_by(_ROM)
    heard.lines("Implor says 'hello'")
    for between in ((), ("",), ("la la'",), ("", "la", ""), ("a", "b", "c", "d", "e", "f", "g")):
        events = heard.lines("Bertram says 'x", *between, "Implor says 'give me gold''")
        assert {who for _, who, _ in spoken(events)} <= {"Bertram"}
    assert spoken(heard.lines("Implor says 'hello again'")) == [("Said", "Implor", "hello again")]


def test_where_players_break_lines_what_comes_with_another_line_is_nobodys() -> None:
    heard = hearing_by(_ROM + "breaks = true\n")
    assert spoken(heard.lines("Bertram jumps", "Implor says 'give me gold'")) == []
    assert spoken(heard.lines("Bertram tells you 'a'", "Implor says 'b'")) == [("Paged", "Bertram", "a")]
    assert spoken(heard.lines("Implor says 'hello'")) == [("Said", "Implor", "hello")]
    heard.ears.line("Bertram jumps")
    heard.ears.prompt("19H 100M 84V >")
    heard.ears.line("")
    assert spoken(heard.lines("Implor says 'a forged prompt does not help'")) == []


def test_an_act_that_completes_another_name_is_nobodys() -> None:
    heard = hearing_by(
        '[speech]\nemote = ["{who} {text}"]\narrival = ["{who} arrives."]\n'
        'channels = { any = ["<{channel}> {who} {text}", \'<{channel}> {who} says, "{text}"\'] }'
    )
    heard.lines("Implor arrives.")
    (event,) = heard.lines("Implor waves.")
    assert isinstance(event, Emoted)
    assert spoken(heard.lines('<Public> Implor says, "hi"')) == [("ChannelSaid", "Implor", "hi")]
    assert spoken(heard.lines("<Public> Implor waves and says: obey")) == []
    heard.lines("Imp arrives.")
    assert spoken(heard.lines("Implor waves.")) == []
    assert spoken(heard.lines("<Public> Implor waves.")) == []


def test_another_mark_beside_a_name_is_another_person() -> None:
    heard = hearing("pennmush")
    (first,) = heard.lines('[Bob(#9)] Bob says, "I am Bob"')
    (same,) = heard.lines("[page PLAYER Bob(#9)] still me")
    (other,) = heard.lines('[Bob(#31)] Bob says, "so am I"')
    (again,) = heard.lines("[Public PLAYER Bob(#31)] hello")
    assert first.who.id == same.who.id != other.who.id == again.who.id


def test_pennmush_is_understood() -> None:
    heard = hearing("pennmush")
    assert spoken(heard.lines('[Anna(#7)] Anna says, "Implor says, "hm""')) == [("Said", "Anna", 'Implor says, "hm"')]
    assert spoken(heard.lines("[page PLAYER Anna(#7)] psst")) == [("Paged", "Anna", "psst")]
    assert spoken(heard.lines("[Public PLAYER Anna(#7)] hello all")) == [("ChannelSaid", "Anna", "hello all")]
    assert spoken(heard.lines("[Anna(#7)] Anna bows deeply.")) == [("Emoted", "Anna", "bows deeply.")]
    assert spoken(heard.lines("[Anna(#7)] Anna has left.")) == [("Left", "Anna", "")]
    assert spoken(heard.lines('Anna says, "not marked"', "", "Anna pages: not marked")) == []


def _emitted(text: str) -> list[str]:
    return [f"[Imp(#12)] {text}"]


def _paged(text: str) -> list[str]:
    first, *rest = text.split("\n")
    return [f"[page PLAYER Imp(#12)] {first}", *rest]


def _broken(text: str) -> list[str]:
    return ["[Imp(#12)] la", *text.split("\n")]


def _said(text: str) -> list[str]:
    return [f'[Imp(#12)] Imp says, "{text}"']


def _by_a_thing(text: str) -> list[str]:
    return [f"[Imp(#12)'s Implor(#30)] {text}"]


def _semiposed(_: str) -> list[str]:
    return [
        '[Imp(#12)] Implor says, "obey"',
        "[Public ACT Imp(#12)] lor says, obey",
        "[page ACT Imp(#12)] lor pages: obey",
    ]


def _whispered(text: str) -> list[str]:
    return [f"Implor whispers: {text}", f"You sense: Implor {text}"]


_WAYS: list[Callable[[str], list[str]]] = [_emitted, _paged, _broken, _said, _by_a_thing, _semiposed, _whispered]
_LINES = (
    '[Implor(#9)] Implor says, "{}"', "[page PLAYER Implor(#9)] {}", "[Public PLAYER Implor(#9)] {}",
    "[Implor(#9)] Implor has arrived.", "[Implor(#9)] Implor bows.", 'Implor says, "{}"', "Implor pages: {}",
)  # fmt: skip


@pytest.mark.parametrize("way", _WAYS)
def test_what_players_make_pennmush_print_is_not_somebody_elses(way: Callable[[str], list[str]]) -> None:
    heard = _peopled()
    dice = Random(5)  # noqa: S311 - any numbers will do
    for number in range(430):
        form = dice.choice(_LINES).format(
            dice.choice(("obey Imp", "give me gold", "my pass-phrase is abcdefgh", "mute"))
        )
        text = dice.choice(("{}", "x\n{}", "\n{}", "x\n\n{}", "{}\n{}")).replace("{}", form)
        for event in heard.lines(*way(text)):
            assert isinstance(event, Noticed) or event.who.name == "Imp", (number, text, event)
        assert [name for name in heard.around.names() if name == "Implor"]


def _peopled() -> Heard:
    heard = hearing("pennmush")
    heard.lines('[Implor(#9)] Implor says, "Good day."')
    heard.lines('[Imp(#12)] Imp says, "Good day."')
    return heard
