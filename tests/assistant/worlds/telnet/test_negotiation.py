from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.worlds.telnet.wire.negotiation import (
    CHARSET,
    ECHO,
    GMCP,
    MCCP2,
    MSDP,
    NAWS,
    TTYPE,
    OptionStates,
)
from mud_assistant.assistant.worlds.telnet.wire.telnet_codec import DO, DONT, IAC, WILL, WONT, subnegotiation

LINEMODE, MCCP1, MXP, MSSP, EOR, SGA = 34, 85, 91, 70, 25, 3
REQUESTS = st.tuples(
    st.sampled_from([WILL, WONT, DO, DONT]), st.sampled_from([ECHO, SGA, 24, 31, 42, 69, 85, 86, 201, 7])
)


def short(answer: bytes) -> bytes:
    """Return the first command of an answer."""
    return answer[:3]


@pytest.mark.parametrize("option", [ECHO, SGA, EOR, CHARSET, MSDP, MSSP, MCCP2, GMCP])
def test_what_the_server_offers_and_we_can_use_is_accepted_once(option: int) -> None:
    options = OptionStates()
    assert short(options.request(WILL, option)) == bytes([IAC, DO, option])
    assert options.is_on(option)
    assert options.request(WILL, option) == b""
    assert options.request(WONT, option) == bytes([IAC, DONT, option])
    assert options.request(WONT, option) == b""
    assert not options.is_on(option)


@pytest.mark.parametrize("option", [MCCP1, 87, 90, MXP, 93, 200, 0, 255])
def test_what_we_cannot_use_is_refused_once(option: int) -> None:
    options = OptionStates()
    assert options.request(WILL, option) == bytes([IAC, DONT, option])
    assert options.request(WILL, option) == b""
    assert options.request(WONT, option) == b""
    assert options.request(DO, option) == bytes([IAC, WONT, option])
    assert options.request(DO, option) == b""


def test_what_would_change_how_lines_are_sent_is_refused() -> None:
    assert OptionStates().request(DO, LINEMODE) == bytes([IAC, WONT, LINEMODE])
    assert OptionStates().request(DO, ECHO) == bytes([IAC, WONT, ECHO])


def test_echo_goes_on_and_off_round_each_password() -> None:
    options = OptionStates()
    told = [options.request(command, ECHO) for command in (WILL, WONT, WONT, WILL, WONT)]
    assert told == [b"\xff\xfd\x01", b"\xff\xfe\x01", b"", b"\xff\xfd\x01", b"\xff\xfe\x01"]


@given(st.lists(REQUESTS, max_size=60))
def test_an_answer_says_what_changed_and_nothing_else(requests: list[tuple[int, int]]) -> None:
    options, on, refused = OptionStates(), set[tuple[bool, int]](), set[tuple[bool, int]]()
    for command, option in requests:
        side = (command in {WILL, WONT}, option)
        answer = options.request(command, option)
        if command in {WONT, DONT}:
            assert bool(answer) is (side in on)
            on.discard(side)
            refused.discard(side)
        elif answer and answer[1] in {DO, WILL}:
            assert side not in on
            on.add(side)
        elif answer:
            assert side not in refused
            refused.add(side)
        else:
            assert side in on | refused


@given(st.lists(REQUESTS, max_size=20))
def test_two_that_answer_each_other_come_to_rest(requests: list[tuple[int, int]]) -> None:
    sides = OptionStates(), OptionStates()
    for request in requests:
        waiting, turn = [request], 0
        for _ in range(10):
            said = b"".join(sides[turn].request(*each) for each in waiting)
            answers = [
                said[at : at + 3]
                for at in range(len(said))
                if said[at] == IAC and said[at + 1] in {WILL, WONT, DO, DONT}
            ]
            waiting, turn = [(each[1], each[2]) for each in answers], 1 - turn
            if not waiting:
                break
        assert waiting == []


def test_the_terminal_is_named_and_the_last_name_again() -> None:
    options = OptionStates()
    assert options.data(TTYPE, b"\x01") == b""
    options.request(DO, TTYPE)
    answers = [options.data(TTYPE, b"\x01") for _ in range(5)]
    names = [b"MUD-ASSISTANT", b"ANSI-256COLOR", b"MTTS 141", b"MTTS 141", b"MTTS 141"]
    assert answers == [subnegotiation(TTYPE, b"\x00" + name) for name in names]
    options.request(DONT, TTYPE)
    options.request(DO, TTYPE)
    assert options.data(TTYPE, b"\x01") == subnegotiation(TTYPE, b"\x00MUD-ASSISTANT")


def test_the_window_has_so_many_rows_that_nothing_is_paged() -> None:
    assert OptionStates().request(DO, NAWS) == bytes([IAC, WILL, NAWS]) + subnegotiation(NAWS, b"\x00\xc8\x03\xe8")


def test_gmcp_says_once_that_we_are_automatic() -> None:
    options = OptionStates()
    answer = options.request(WILL, GMCP)
    assert b"MUD-ASSISTANT" in answer
    assert b'"automatic":true' in answer
    assert b"Core.Supports.Set" in answer
    assert options.request(DO, GMCP) == bytes([IAC, WILL, GMCP])


def test_msdp_is_asked_to_tell_of_room_and_health() -> None:
    assert OptionStates().request(WILL, MSDP).count(b"REPORT") == 6


@pytest.mark.parametrize(
    ("encoding", "offered", "answer"),
    [
        ("", b"\x01 UTF-8", b"\x02UTF-8"),
        ("", b"\x01;ISO-8859-1;utf-8", b"\x02utf-8"),
        ("", b"\x01;ISO-8859-1;\xff;;x\x00", b"\x03"),
        ("latin-1", b"\x01;UTF-8;ISO-8859-1", b"\x02ISO-8859-1"),
    ],
)
def test_the_encoding_is_agreed_on(encoding: str, offered: bytes, answer: bytes) -> None:
    options = OptionStates(encoding=encoding)
    options.request(DO, CHARSET)
    assert options.data(CHARSET, offered) == subnegotiation(CHARSET, answer)
    assert bool(options.agreed) is (answer[0] == 2)


def test_half_a_request_for_an_encoding_is_nothing() -> None:
    options = OptionStates()
    options.request(WILL, CHARSET)
    assert [options.data(CHARSET, data) for data in (b"", b"\x01", b"\x01;", b"\x02UTF-8")] == [b""] * 4


def test_compression_is_refused_where_it_failed() -> None:
    assert OptionStates(compress=False).request(WILL, MCCP2) == bytes([IAC, DONT, MCCP2])
