"""The trial with a journal, as its user has it: what it remembers, what a kill leaves, what the operator is told."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.command_line import RANKS
from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, Hang, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import trust
from tests.live.command import reactor, run, start

YES = Reply(calls=(Call("say", {"text": "Yes."}),))


def test_the_command_line_knows_the_ladder_of_the_policy() -> None:
    assert RANKS == trust.RANKS


def arguments(url: str, folder: Path, *more: str) -> list[str]:
    return ["trial", "--url", url, "--model", "sage", "--journal", str(folder / "sage.journal"), *more]


def words(request: RecordedRequest) -> str:
    return json.dumps(request.messages, ensure_ascii=False)


#: The journal and the index of memories, and what lies beside them.
FILES = tuple(f"sage.journal{end}{log}" for end in ("", ".recall") for log in ("", "-wal"))


def contents(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


async def test_the_next_trial_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    answers = [
        Reply(calls=(Call("remember", {"text": "The visitor keeps bees."}), Call("say", {"text": "Bees!"}))),
        YES,
    ]
    fake = FakeOllama(reactor, answers)
    async with serve(fake, reactor) as url:
        first = await run(arguments(url, tmp_path), b"Hello Sage, I keep bees\n/quit\n")
        second = await run(arguments(url, tmp_path), b"Sage, do you remember?\n/memory\n/forget\n/memory\n")
    assert "A new journal was made" in first.err
    assert "journal" not in second.err
    assert "I keep bees" in words(fake.chats[1])
    assert "Sage noted: The visitor keeps bees." in second.out
    assert 'told Sage: "Hello Sage, I keep bees"' in second.out
    assert "remembers nothing of you" in second.out.split("/memory")[-1]
    assert contents(tmp_path / "sage.journal.recall")
    assert [name for name in FILES if b"bees" in contents(tmp_path / name)] == []


async def test_what_was_told_by_asking_and_in_a_short_answer_is_known_in_the_next_trial(tmp_path: Path) -> None:
    asks = Reply(calls=(Call("say", {"text": "How nice. What is your dog called?"}),))
    fake = FakeOllama(reactor, [YES, asks, YES])
    told = b"Sage, did you know my brother is called osric?\nSage, I have a dog now\nRex.\n/quit\n"
    async with serve(fake, reactor) as url:
        await run(arguments(url, tmp_path), told)
        after = await run(arguments(url, tmp_path), b"/memory\n")
    assert "did you know my brother is called osric?" in after.out
    assert 'Rex. (asked: "What is your dog called?")' in after.out


async def test_a_trial_that_was_killed_while_the_model_thought_answers_in_the_next_one(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, [Reply(calls=(Call("look"),)), Hang("headers"), YES])
    async with serve(fake, reactor) as url:
        command = start(*arguments(url, tmp_path))
        transport: Any = command.transport
        transport.write(b"Hello Sage\n")
        while len(fake.chats) < 2:
            await deferLater(reactor, 0.01, lambda: None)
        transport.signalProcess("KILL")
        assert (await command.ended).status is None
        after = await run(arguments(url, tmp_path), b"/who\n/status\n")
    assert 'Sage says, "Yes."' in after.out
    assert len(fake.chats) == 3
    # What was read before the kill is not read again.
    assert [message["role"] for message in fake.chats[2].messages][-3:] == ["user", "assistant", "tool"]
    transcript = await run(["replay", str(tmp_path / "sage.journal")], b"")
    assert transcript.status == 0
    assert "Yes." in transcript.out
    offline = await run(["replay", str(tmp_path / "sage.journal"), "--offline"], b"")
    assert offline.status == 0
    assert offline.out.splitlines()[-1].endswith("run again: all as they were.")


async def test_a_log_that_is_gone_after_a_kill_is_told_of_at_the_start(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, [YES, Hang("headers"), YES])
    async with serve(fake, reactor) as url:
        command = start(*arguments(url, tmp_path))
        transport: Any = command.transport
        transport.write(b"Hello Sage\nSage, are you there?\n")
        while len(fake.chats) < 2:
            await deferLater(reactor, 0.01, lambda: None)
        transport.signalProcess("KILL")
        await command.ended
        (tmp_path / "sage.journal-wal").unlink()
        after = await run(arguments(url, tmp_path), b"/quit\n")
        again = await run(arguments(url, tmp_path), b"/quit\n")
    assert "sage.journal is not complete: its last " in after.err
    assert "write-ahead log is gone or void" in after.err
    assert "journal" not in again.err


async def test_a_key_is_not_sent_to_a_new_address_until_it_is_named_again(tmp_path: Path) -> None:
    (tmp_path / "assistant.toml").write_text("[model]\nprovider = 'local'\nmodel = 'sage'\nkey = 'env:K'\n")
    settings = ["--config", str(tmp_path / "assistant.toml")]
    ours, other = FakeChat(reactor, [YES], "the key"), FakeChat(reactor, [YES], "the key")
    key = {"K": "the key"}
    async with serve(ours, reactor) as url, serve(other, reactor) as elsewhere:
        first = await run(arguments(f"{url}/v1", tmp_path, *settings), b"Hello Sage\n", key)
        refused = await run(arguments(f"{elsewhere}/v1", tmp_path, *settings), b"Hello Sage\n", key)
        assert other.requests == []
        entered = await run(arguments(f"{elsewhere}/v1", tmp_path, *settings, "--key", "env:K"), b"Hello Sage\n", key)
    assert 'Sage says, "Yes."' in first.out
    assert refused.status == 2
    assert "is not sent to" in refused.err
    assert "--key env:K" in refused.err
    assert 'Sage says, "Yes."' in entered.out


def commanding(request: RecordedRequest) -> Step:
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"It came to this: {last['content']}"}),))
    return Reply(calls=(Call("execute_command", {"command": "destroy old map"}),))


@pytest.mark.parametrize(("rank", "comes_to"), [("player", "Only a builder"), ("builder", "may do this once")])
async def test_what_the_assistant_may_not_do_waits_for_who_may(rank: str, comes_to: str, tmp_path: Path) -> None:
    lines = b"Sage, destroy the old map\n/approvals\n/approve 1\n/look\n"
    async with serve(FakeOllama(reactor, commanding), reactor) as url:
        result: Any = await run(arguments(url, tmp_path, "--rank", rank), lines)
    assert "number 1: destroy old map (for Visitor; a builder may allow it)" in result.out
    assert comes_to in result.out
    assert ("old map" in result.out.split("> /look")[1]) is (rank == "player")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"this is no database", "is not used as the journal"), (b"SQLite format 3\0" + b"x" * 5000, "")],
)
async def test_a_file_that_is_no_journal_is_told_and_not_touched(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "sage.journal"
    path.write_bytes(content)
    async with serve(FakeOllama(reactor, [YES]), reactor) as url:
        result = await run(arguments(url, tmp_path), b"Hello Sage\n")
    if words:
        assert (result.status, path.read_bytes()) == (2, content)
        assert words in result.err
    else:  # a damaged one is kept aside
        assert "sage.journal" in result.err


async def test_a_disk_that_is_full_is_told_once_where_the_visitor_looks_and_when_it_is_over(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, lambda _: YES)
    async with serve(fake, reactor) as url:
        command = start(*arguments(url, tmp_path))
        transport: Any = command.transport
        transport.write(b"Hello Sage\n/who\n")
        await command.saw("In the hamlet")  # the answer is dealt with by then
        limit = resource.prlimit(transport.pid, resource.RLIMIT_FSIZE)
        full = (tmp_path / "sage.journal-wal").stat().st_size
        resource.prlimit(transport.pid, resource.RLIMIT_FSIZE, (full, limit[1]))
        transport.write(b"Are you there?\nAnd now?\n/forget\n/status\n")
        await command.saw("trouble with the journal: the journal could not be written")
        resource.prlimit(transport.pid, resource.RLIMIT_FSIZE, limit)
        transport.write(b"Hello again\n")
        await command.saw('Sage says, "Yes."', after="Hello again")
        transport.write(b"/status\n/quit\n")
        result = await command.ended
    assert result.status == 0
    told = [line for line in result.out.splitlines() if line.startswith("(the journal")]
    assert told[0].endswith("until that is over Sage may neither take in what is said nor answer it.)")
    assert told[-1] == "(the journal can be written again: what is said is taken in as before.)"
    assert sum("until that is over" in line for line in told) == 1
    assert result.out.count("trouble with the journal") == 1
    assert len(fake.chats) == 2


async def test_what_was_promised_is_listed_in_the_next_trial_and_let_be(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, [Reply(calls=(Call("say", {"text": "Gladly, I will remind you."}),))])
    async with serve(fake, reactor) as url:
        await run(arguments(url, tmp_path), b"Sage, remind me in three hours to feed the hens\n/quiet\n/quit\n")
        after = await run(arguments(url, tmp_path), b"/promises\n/promises 1\n/promises\n/promises 1\n/quiet off\n")
    first, _, rest = after.out.partition("(Sage will not do it: remind you")
    assert "feed the hens" in first
    assert "; open)" in first
    assert "dropped: you dropped it" in rest
    assert "Nothing of number 1 is promised to you." in rest
    assert "Sage may speak to you first again." in rest
