"""How `mud-assistant game` waits: for ports, for lines of a log, for anything."""

from __future__ import annotations

import socket
from pathlib import Path

from twisted.internet.task import Clock

from mud_assistant.assistant.surfaces.game.folder import Ports, free_ports
from mud_assistant.assistant.surfaces.game.processes import LogTail, Patience


def test_a_port_somebody_listens_on_is_taken_and_no_group_holds_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert Ports(port).taken()[0] == port
        assert Ports(port - 6).taken()[-1] == port
    found = free_ports()
    assert found.taken() == []
    assert len(set(found.all())) == 5


def test_patience_ends_when_it_is_so_and_when_time_is_up() -> None:
    clock = Clock()
    patience = Patience(clock.seconds, clock.advance)
    assert patience.until(lambda: clock.seconds() >= 1.0, 5.0)
    assert clock.seconds() < 1.3
    assert not patience.until(lambda: False, 5.0)
    assert 6.0 <= clock.seconds() < 6.6
    assert patience.until(lambda: True, 0.0)


def test_a_log_is_followed_from_its_end_by_whole_lines_and_when_it_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    following = LogTail(path)
    assert following.lines() == []
    path.write_bytes(b"old\n")
    following.to_end()
    with path.open("ab") as log:
        log.write(b"first\nsec")
        log.flush()
        assert following.lines() == ["first"]
        log.write("ond, größer\r\n".encode())
    assert following.lines() == ["second, größer"]
    assert following.lines() == []
    path.write_bytes(b"new\n")
    assert following.lines() == ["new"]
