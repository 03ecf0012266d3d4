"""What docs/gateway.md says is true, and every program it names is tried by `make test-clients`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import orjson
import pytest

from mud_assistant.assistant.config.gateway import GatewayConfig
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.gateway.site import ASKED_AT
from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.failures import Failure, FailureKind
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from tests.clients.page import ADDRESS, PAGE, Lines, block
from tests.clients.programs import HERE, trials

TEXT = PAGE.read_text()
KINDS = {
    "the request is wrong": [FailureKind.INVALID],
    "a field cannot be carried": [FailureKind.UNSUPPORTED],
    "the prompt is too long": [FailureKind.CONTEXT],
    "no key, a wrong one, an expired one": [FailureKind.NO_KEY],
    "the key may not use the model": [FailureKind.FORBIDDEN],
    "no such model": [FailureKind.NO_MODEL],
    "the name in `Host` is not its own": [FailureKind.WRONG_HOST],
    "a budget is used up": [FailureKind.BUDGET, FailureKind.BUDGET_FOR_GOOD],
    "the key asks too often, the provider asks to wait": [FailureKind.TOO_MANY, FailureKind.RATE_LIMITED],
    "the provider refused your key, or failed": [FailureKind.CREDENTIAL, FailureKind.PROVIDER],
    "too many wait, the provider is left alone": [FailureKind.OVERLOADED],
    "no answer in time": [FailureKind.DEADLINE],
}


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading, without its head."""
    section = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_settings_are_taken_and_all_of_them_are_told() -> None:
    config = Config.model_validate(tomllib.loads(block("Settings", "toml"))).gateway
    assert [model.provider for model in config.models["coder"].chain] == ["ollama", "anthropic"]
    assert {row[0].strip("`") for row in rows("Settings")} == set(GatewayConfig.model_fields)
    defaults = {row[0].strip("`"): row[1].strip("`") for row in rows("Settings")}
    plain = {name: defaults[name] for name in ("port", "interface", "keys", "share")}
    assert plain == {name: str(getattr(GatewayConfig(), name)) for name in plain}


def test_what_is_forwarded() -> None:
    told = {
        row[0].split("`")[1].removeprefix("/v1"): set(re.findall(r"`([\w-]+)`", row[1]))
        for row in rows("Forwarded, translated, refused")
    }
    assert told == {path: set(dialect.providers) for path, dialect in ASKED_AT.items()}


@pytest.mark.parametrize("row", rows("Errors"), ids=lambda row: str(row[0]))
def test_the_words_of_errors(row: list[str]) -> None:
    cause, status, code, kind = row
    for each in KINDS[cause]:
        failure = Failure(each, "So it is.", "model" if each is FailureKind.FORBIDDEN else "")
        chat_status, chat = ChatDialect().error_body(failure)
        messages_status, messages = MessagesDialect().error_body(failure)
        assert {str(chat_status), str(messages_status)} <= set(re.findall(r"\d+", status))
        assert (orjson.loads(orjson.dumps(chat))["error"]["code"] or "none") == code.strip("`")
        assert f"`{orjson.loads(orjson.dumps(messages))['error']['type']}`" in kind.split(", ")


def test_every_program_of_the_page_is_tried_with_its_lines() -> None:
    lines = Lines("http://127.0.0.1:9999", "sage", "claude-x")
    tried = list(trials(lines, Path("/nowhere")))
    told = re.findall(r"^### (.+)$", TEXT.partition("## Programs\n")[2], re.MULTILINE)
    assert {*told} - {"Open WebUI"} <= {trial.client for trial in tried}
    everything = "".join(trial.command + "".join(trial.files.values()) for trial in tried)
    assert ADDRESS not in everything
    assert not re.search(r"\b(small|coder|claude-haiku)\b", everything)
    with pytest.raises(LookupError, match="shows no sh under 'Emacs'"):
        lines.commands("Emacs")


def test_the_locks_hold_hashes_and_no_addresses() -> None:
    for path in HERE.glob("requirements*.txt"):
        text = path.read_text()
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")
    lock = orjson.loads((HERE / "node/package-lock.json").read_bytes())
    assert "://" not in str(lock)
    assert all("integrity" in entry for name, entry in lock["packages"].items() if name)
