"""A client that asked for no stream, before a server that sends one all the same, or a part of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import openai
import pytest
import pytest_twisted

from llm.testing import Raw
from tests.assistant.gateway.standing import Standing, ask_chat, standing

_STREAM = {"content-type": "text/event-stream"}
_EVENT = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"North."},"finish_reason":"stop"}]}\n\n'


@pytest.mark.parametrize("sent", [[b'data: {"id":"1","cho'], [_EVENT, b"data: [DONE]\n\n"]], ids=["half", "whole"])
@pytest_twisted.ensureDeferred
async def test_a_stream_nobody_asked_for_is_the_servers_failure(tmp_path: Path, sent: Sequence[bytes]) -> None:
    async with standing(tmp_path, [Raw(200, _STREAM, sent)]) as gateway:
        error = await gateway.in_thread(lambda: _refused(gateway))
    assert error.status_code == 502
    assert error.body is not None


def _refused(gateway: Standing) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as raised:
        ask_chat(gateway, streams=False)
    return raised.value
