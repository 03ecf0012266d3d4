from __future__ import annotations

from mud_assistant.assistant.surfaces.start_progress import Progress

MIB = 1024 * 1024


def test_a_terminal_sees_one_line_that_grows() -> None:
    written: list[str] = []
    progress = Progress(written.append, terminal=True)
    for done in (0, 1, 50, 100):
        progress.amount("loading", done * MIB, 100 * MIB)
    progress.note("ready")
    assert "".join(written).count("\n") == 2
    assert written[-1] == "ready\n"
    assert "50 %" in "".join(written)


def test_a_file_sees_a_line_now_and_then() -> None:
    written: list[str] = []
    progress = Progress(written.append, terminal=False)
    for done in range(101):
        progress.amount("loading", done * MIB, 100 * MIB)
    assert len(written) == 5
    assert all(line.endswith("\n") and "\x1b" not in line for line in written)


def test_an_unknown_total_is_no_error() -> None:
    written: list[str] = []
    Progress(written.append, terminal=False).amount("loading", 5, 0)
    assert written == ["loading: 0 % of 0 MiB\n"]
