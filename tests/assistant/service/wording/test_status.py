"""What an operator is shown, from a snapshot made by hand and from one of a life."""

from __future__ import annotations

from msgspec.structs import replace

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.journal import Accepted, Parked
from mud_assistant.assistant.service.wording.status import account_text, key_refusals, status_text, trouble_text
from mud_assistant.llm.testing import Call, HttpError, Reply, Step
from mud_assistant.resilience import Amount, CircuitState, Snapshot
from mud_assistant.resilience.admission.breaker import PermitEnd
from mud_assistant.resilience.amounts import Allowance
from mud_assistant.resilience.budget.ledger import AccountState
from mud_assistant.resilience.snapshot import QuotaState, UpstreamState
from tests.assistant.living import ANN, SAGE, living

HERE, THERE = "http://127.0.0.1:1", "http://127.0.0.1:2"
SERVER = UpstreamState(HERE, CircuitState.CLOSED, 0.0, 0, 0, 0, 8, 0, 10.0, (PermitEnd(99.0, "success"),))
QUOTA = QuotaState(HERE, "k1", "sage", "", 0.0, "", None, None)
ACCOUNT = AccountState("all assistants", Amount(2, 1500, 0.123456), Amount(), None, 900.0)


def shown(
    upstream: UpstreamState = SERVER, quotas: tuple[QuotaState, ...] = (), accounts: tuple[AccountState, ...] = ()
) -> list[str]:
    return status_text(Snapshot(100.0, (upstream,), quotas, accounts)).split("\n")


def test_before_anything_was_asked() -> None:
    assert status_text(Snapshot(0.0, (), (), ())) == "Nothing was asked yet."
    assert shown(replace(SERVER, recent=())) == [f"{HERE}: was not asked yet"]


def test_a_server_that_is_well_is_one_plain_line() -> None:
    assert shown() == [f"{HERE}: answers normally"]
    assert shown(replace(SERVER, in_flight=1, waiting=2)) == [
        f"{HERE}: answers normally, 1 request on the way, 2 requests waiting for a turn"
    ]


def test_a_server_that_failed_says_so_with_its_cause_in_one_line() -> None:
    failed = (PermitEnd(90.0, "failure", "no route"), PermitEnd(99.0, "given back"))
    assert shown(replace(SERVER, recent=failed)) == [f"{HERE}: failed 10 s ago: no route"]
    opened = replace(SERVER, state=CircuitState.OPEN, open_for=29.6, recent=failed)
    assert shown(opened) == [f"{HERE}: left alone for 30 s, because it failed: no route"]
    assert shown(replace(SERVER, state=CircuitState.HALF_OPEN, recent=failed)) == [
        f"{HERE}: tried again after it failed: no route"
    ]


def test_a_key_that_was_refused_and_a_wish_to_wait_are_told_in_one_line() -> None:
    assert shown(quotas=(replace(QUOTA, revoked="who are you?", revoked_for=299.6),)) == [
        f"{HERE}: left alone for 5 min, or until its key or settings change: refused the key (who are you?)"
    ]
    assert shown(quotas=(replace(QUOTA, missing="no such model"),)) == [
        f"{HERE}: asked again with the next call: the model is not there (no such model)"
    ]
    assert shown(quotas=(replace(QUOTA, cools_for=20.3, cool_why="refused the key"),)) == [
        f"{HERE}: left alone for 20 s: refused the key"
    ]
    limits = (replace(QUOTA, requests_left=1, tokens_left=5000), replace(QUOTA, origin=THERE, requests_left=7))
    assert shown(quotas=limits) == [f"{HERE}: answers normally, 1 request left and 5,000 tokens left for sage"]


def test_of_many_servers_only_those_asked_for_are_told() -> None:
    both = Snapshot(100.0, (SERVER, replace(SERVER, origin=THERE)), (), ())
    assert status_text(both, {THERE}) == f"{THERE}: answers normally"


def test_what_a_server_said_is_shown_clean_and_short() -> None:
    evil = "\x1b[2Jred\u202e " + "x" * 5000 + "\nsecond line"
    lines = shown(replace(SERVER, recent=(PermitEnd(99.0, "failure", evil),)))
    lines += shown(quotas=(replace(QUOTA, revoked=evil),))
    text = "".join(lines)
    assert text.isprintable()
    assert max(len(line) for line in lines) < 300
    assert not any("second line" in line for line in lines)


def test_accounts_tell_names_what_was_used_of_what_and_until_when_there_is_no_more() -> None:
    limited = replace(ACCOUNT, name="player:1", allowance=Allowance(calls=3, money=0.5), reserved=Amount(1, 800))
    names = {"player:1": "Ann"}
    assert account_text(ACCOUNT, 100.0, names) == "Used today by all assistants: 2 calls, 1,500 tokens, 0.1235 money"
    assert account_text(limited, 100.0, names) == (
        "Used today by Ann: 2 of 3 calls, 1,500 tokens, 0.1235 of 0.5 money; 800 tokens are set aside for calls on "
        "their way; used up for the next 13 min"
    )
    one = AccountState("player:1", Amount(1, 1), Amount(), Allowance(calls=1), 7300.0)
    assert account_text(one, 100.0, names) == "Used today by Ann: 1 of 1 call, 1 token; used up for the next 2 h"


def test_what_a_model_used_is_not_told_as_an_account_that_pays() -> None:
    model = replace(ACCOUNT, name="model:local/sage")
    assert shown(accounts=(ACCOUNT, model)) == shown(accounts=(ACCOUNT,))


def test_which_servers_refuse_their_key() -> None:
    quotas = (replace(QUOTA, revoked="no"), QUOTA, replace(QUOTA, origin=THERE))
    assert key_refusals(Snapshot(0.0, (), quotas, ())) == {HERE: "no", THERE: ""}


def test_an_event_that_was_put_aside_is_told_with_what_was_said() -> None:
    said = Said(id="assistant:1.7", at=0.0, who=ANN, text="hello Sage")
    parked = Parked("assistant:1.7", Accepted(said, Attention(Classification.TRIGGER, 9)), 3, "3 runs over it crashed")
    assert trouble_text([parked], []) == 'Put aside: Ann says: "hello Sage" (3 runs over it crashed)'
    unread = replace(parked, accepted=None)
    assert trouble_text([unread] * 7, []).split("\n")[-1] == "and 2 more: mud-assistant replay FILE --parked, --unknown"


async def test_a_life_shows_its_server_its_failure_and_its_budget() -> None:
    script: list[Step] = [Reply(calls=(Call("say", {"text": "Hm."}),), usage=(90, 10)), HttpError(500, "the cause")]
    async with living(script, budget={"player": {"calls": 5}}) as life:
        await life.say("Sage, one")
        await life.say("Sage, two")
        lines = status_text(life.pipeline.snapshot(), names={ANN.id: ANN.name, SAGE.id: SAGE.name}).split("\n")
    assert lines[0].startswith(
        f"{life.assistant.context.model.client.provider.api_url}: failed 0 s ago: ollama/sage: the cause"
    )
    assert lines[1:] == [
        "Used today by all assistants: 1 call, 100 tokens",
        "Used today by Sage: 1 call, 100 tokens",
        "Used today by Ann: 1 of 5 calls, 100 tokens",
    ]
