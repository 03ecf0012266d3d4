"""What the command says to who types no command, or one that there is not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mud_assistant.assistant.command_line import parser


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str, object]:
    """What is printed on standard output and on standard error, and the exit status."""
    with pytest.raises(SystemExit) as caught:
        parser().parse_args(arguments)
    out, err = capsys.readouterr()
    return out, err, caught.value.code


@pytest.mark.parametrize("command", [(), ("character",), ("journal",), ("gateway", "keys")])
def test_without_a_command_there_is_the_help(capsys: pytest.CaptureFixture[str], command: Sequence[str]) -> None:
    out, err, status = said(capsys, *command)
    whole, _, _ = said(capsys, *command, "--help")
    assert (out, err, status) == (whole, "", 2)
    assert out.startswith(" ".join(["usage: mud-assistant", *command]))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("tral",), "trial"),
        (("jurnal", "copy"), "journal"),
        (("Doctor",), "doctor"),
        (("character", "imprt", "card.png"), "import"),
        (("gateway", "keys", "revok", "laptop"), "revoke"),
        (("trial", "--rank", "buidler"), "builder"),
        (("trial", "--modle", "qwen3:4b"), "--model"),
        (("game", "--foldr=here"), "--folder"),
        (("gateway", "keys", "add", "laptop", "--confg", "x"), "--config"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_one_that_was_meant(
    capsys: pytest.CaptureFixture[str], typed: Sequence[str], meant: str
) -> None:
    out, err, status = said(capsys, *typed)
    assert (out, status) == ("", 2)
    assert err.endswith(f"; did you mean '{meant}'?\n")


@pytest.mark.parametrize("typed", [("xyzzy",), ("trial", "--xyzzy"), ("trial", "hello"), ("trial", "--rank", "7")])
def test_what_is_like_nothing_gets_no_guess(capsys: pytest.CaptureFixture[str], typed: Sequence[str]) -> None:
    _, err, status = said(capsys, *typed)
    assert status == 2
    assert "did you mean" not in err
