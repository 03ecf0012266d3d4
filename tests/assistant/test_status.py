"""What an operator is shown, from a snapshot made by hand and from one of a life."""

from __future__ import annotations

from dataclasses import replace

from assistant.status import status_text
from llm.testing import Call, HttpError, Reply, Step
from resilience import Amount, Snapshot, State
from resilience.amounts import Allowance
from resilience.budget import AccountState
from resilience.circuit import Ended
from resilience.snapshot import QuotaState, UpstreamState
from tests.assistant.living import living

SERVER = UpstreamState("http://127.0.0.1:1", State.CLOSED, 0.0, 0, 0, 1, 8, 2, 10.0, ())
QUOTA = QuotaState("http://127.0.0.1:1", "k1", "sage", "", 0.0, "", None, None)
ACCOUNT = AccountState("all assistants", Amount(2, 1500, 0.123456), Amount(), None, 900.0)


def shown(
    upstream: UpstreamState = SERVER, quotas: tuple[QuotaState, ...] = (), accounts: tuple[AccountState, ...] = ()
) -> list[str]:
    return status_text(Snapshot(100.0, (upstream,), quotas, accounts)).split("\n")


def test_before_anything_was_asked() -> None:
    assert status_text(Snapshot(0.0, (), (), ())) == "Nothing was asked yet."


def test_a_server_that_is_well_is_one_line() -> None:
    assert shown() == ["http://127.0.0.1:1: circuit closed, 1 of 8 requests on their way, 2 waiting"]


def test_a_server_that_is_given_up_says_for_how_long() -> None:
    [line] = shown(replace(SERVER, state=State.OPEN, open_for=29.6))
    assert "circuit open for 30 s more" in line
    [line] = shown(replace(SERVER, state=State.HALF_OPEN))
    assert "circuit half open," in line


def test_the_last_five_outcomes_are_shown_with_their_causes() -> None:
    ended = tuple(Ended(float(at), "failure", f"cause {at}") for at in range(90, 97))
    lines = shown(replace(SERVER, recent=(*ended, Ended(99.0, "success"))))
    assert lines[1:] == [
        "  7 s ago: failure, cause 93",
        "  6 s ago: failure, cause 94",
        "  5 s ago: failure, cause 95",
        "  4 s ago: failure, cause 96",
        "  1 s ago: success",
    ]


def test_what_a_server_said_is_shown_clean_and_short() -> None:
    evil = "\x1b[2Jred\u202e " + "x" * 5000 + "\nsecond line"
    lines = shown(replace(SERVER, recent=(Ended(99.0, "failure", evil),)))
    lines += shown(quotas=(replace(QUOTA, barred=evil), replace(QUOTA, cools_for=9.0, cool_why=evil)))
    text = "".join(lines)
    assert text.isprintable()
    assert max(len(line) for line in lines) < 300
    assert not any("second line" in line for line in lines)


def test_a_limit_is_shown_when_there_is_something_to_say() -> None:
    quotas = (
        QUOTA,
        replace(QUOTA, barred="who are you?", barred_for=299.6),
        replace(QUOTA, missing="no such model"),
        replace(QUOTA, cools_for=12.3, cool_why="slow down"),
        replace(QUOTA, requests_left=0, tokens_left=5000),
        replace(QUOTA, origin="http://127.0.0.1:2", requests_left=7),
    )
    assert shown(quotas=quotas)[1:] == [
        "  sage: the key was refused (who are you?); it is asked again in 300 s, or when settings or key are new",
        "  sage: not there (no such model); it is asked again with the next call, or when settings or key are new",
        "  sage: left alone for 12 s more (slow down)",
        "  sage: 0 requests left, 5000 tokens left",
    ]


def test_accounts_tell_what_was_spent_of_what() -> None:
    limited = replace(ACCOUNT, name="player:1", allowance=Allowance(calls=3, money=0.5), reserved=Amount(1, 800))
    assert shown(accounts=(ACCOUNT, limited))[1:] == [
        "today all assistants: 2 calls, 1500 tokens, 0.1235 money",
        "today player:1: 2 of 3 calls, 1500 tokens, 0.1235 of 0.5 money, 800 tokens set aside",
    ]


def test_large_numbers_are_written_out() -> None:
    """A rounded number of tokens is no number an owner can compare with a bill."""
    large = AccountState("all assistants", Amount(1234567, 98765432, 1234.5678), Amount(), None, 0.0)
    assert shown(accounts=(large,))[1] == "today all assistants: 1234567 calls, 98765432 tokens, 1234.5678 money"


async def test_a_life_shows_its_server_its_failure_and_its_budget() -> None:
    script: list[Step] = [Reply(calls=(Call("say", {"text": "Hm."}),), usage=(90, 10)), HttpError(500, "the cause")]
    async with living(script, budget={"player": {"calls": 5}}) as life:
        await life.say("Sage, one")
        await life.say("Sage, two")
        lines = status_text(life.pipeline.snapshot()).split("\n")
    assert lines[0].startswith(f"{life.assistant.mind.client.provider.api_url}: circuit closed, 0 of 4")
    assert lines[1].endswith(": success")
    assert "failure, ollama/sage: the cause (HTTP 500)" in lines[2]
    assert lines[-1] == "today player:1: 1 of 5 calls, 100 tokens"
