"""The table of `make test-clients` says what came of it, with a shell as the client."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.llm.testing import RecordedRequest, Reply
from tests.clients.__main__ import Outcome, attempt, table
from tests.clients.programs import Trial
from tests.clients.upstreams import ANSWER, FILE, WRITTEN, answer


def tried(folder: Path, command: str, how: str = "plain", dialect: str = "chat") -> list[tuple[str, str, str]]:
    outcomes = attempt(Trial("sh", command, dialect, how, {"more/told.txt": ANSWER}), "ollama", folder)
    return [(one.dialect, one.how, one.problem) for one in outcomes]


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("cat more/told.txt", ""),
        ("tr ' ' '\\n' <more/told.txt", ""),
        ("head -c 20 more/told.txt", "The well lies north"),
        ("echo It broke. >&2", "It broke."),
        ("true", "no word"),
    ],
)
def test_an_answer_must_arrive_whole(tmp_path: Path, command: str, problem: str) -> None:
    assert tried(tmp_path, command) == [("chat", "plain", problem)]


def test_a_client_that_is_not_installed_is_told(tmp_path: Path) -> None:
    ((*_, problem),) = tried(tmp_path, "no-such-client")
    assert "no-such-client: not found" in problem


def test_the_file_of_the_task_must_be_written(tmp_path: Path) -> None:
    assert tried(tmp_path, "cat more/told.txt", "task") == [("chat", "task", "well.txt was not written")]
    assert tried(tmp_path, f"printf '{WRITTEN}' >{FILE}; cat more/told.txt", "task") == [("chat", "task", "")]


def test_a_client_that_reports_by_itself(tmp_path: Path) -> None:
    line = '{"dialect": "messages", "how": "streamed", "text": "%s"}'
    assert tried(tmp_path, f"echo '{line % ANSWER}'; echo '{line % 'Oh.'}'", dialect="") == [
        ("messages", "streamed", ""),
        ("messages", "streamed", "Oh."),
    ]
    assert tried(tmp_path, "echo Ugh. >&2", dialect="") == [("all", "plain", "Ugh.")]


def test_the_stream_of_curl_is_read(tmp_path: Path) -> None:
    pieces = "".join(f'data: {{"choices":[{{"delta":{{"content":"{word} "}}}}]}}\n\n' for word in ANSWER.split())
    (tmp_path / "stream").write_text(f"{pieces}data: [DONE]\n\n")
    assert tried(tmp_path, "cat stream", dialect="/chat/completions") == [("/chat/completions", "plain", "")]


def test_a_client_knows_nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-users-key")
    assert tried(tmp_path, 'echo "$HOME $OPENAI_API_KEY"') == [("chat", "plain", str(tmp_path))]


def test_the_table_tells_what_did_not_work() -> None:
    outcomes = [Outcome("sh", "chat", how, "ollama", problem) for how, problem in (("plain", ""), ("streamed", "Oh."))]
    assert table(outcomes).splitlines()[2:] == [
        "| sh | chat | - | - | plain ok, streamed NO | - |",
        "sh, chat, streamed, before ollama: Oh.",
    ]


@pytest.mark.parametrize(
    "result",
    [
        {"messages": [{"role": "tool", "content": "done"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "done"}]}]},
        {"input": [{"type": "function_call_output", "output": "done"}]},
    ],
)
def test_the_task_goes_on_where_the_client_is(result: dict[str, list[dict[str, object]]]) -> None:
    def said(**more: object) -> Reply:
        tools = [{"type": "function", "name": "exec_command"}]
        body = {"system": "TASK in /tmp/x: write it.", "tools": tools, **more}
        return answer(RecordedRequest("POST", "/", {}, body, b""))

    (name, turns), *_ = result.items()
    for done, command in enumerate([f"printf '{WRITTEN}' > /tmp/x/{FILE}", f"cat /tmp/x/{FILE}"]):
        (call,) = said(**{name: turns * done}).calls
        assert (call.name, call.arguments) == ("exec_command", {"cmd": command})
    assert said(**{name: turns * 2}).text == ANSWER
