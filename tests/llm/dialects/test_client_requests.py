"""The requests of real clients, recorded in `../shared`: each is read; without the recordings this is skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from mud_assistant.llm.dialects.chat.dialect import ChatDialect
from mud_assistant.llm.dialects.messages.dialect import MessagesDialect
from mud_assistant.llm.messages import Role

RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "gateway" / "client-requests.jsonl"
ROWS = [orjson.loads(line) for line in RECORDED.read_bytes().splitlines()] if RECORDED.exists() else []
PATHS = {"/v1/chat/completions": ChatDialect().read, "/v1/messages": MessagesDialect().read}
PATHS["/v1/messages/count_tokens"] = MessagesDialect().read_prompt
ASKED = [row for row in ROWS if row["path"].partition("?")[0] in PATHS]


@pytest.mark.skipif(not ASKED, reason=f"no recordings at {RECORDED}")
@pytest.mark.parametrize("row", ASKED, ids=[f"{row['client'][:20]}-{row['path']}" for row in ASKED])
def test_every_client_is_understood(row: dict[str, Any]) -> None:
    body = row["body"] if isinstance(row["body"], dict) else orjson.loads(row["body"])
    headers = {name.lower(): value for name, value in row["headers"].items()}
    asked = PATHS[row["path"].partition("?")[0]](body, headers)
    assert asked.model == body["model"]
    assert asked.streams is bool(body.get("stream"))
    assert len(asked.tools) == len(body.get("tools") or ())
    assert asked.messages[-1].role is Role.USER
    assert asked.messages[-1].text
    assert asked.options.max_tokens == body.get("max_tokens", body.get("max_completion_tokens"))
