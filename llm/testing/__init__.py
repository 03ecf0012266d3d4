"""Fake model servers for tests, benches and people: `python -m mud_assistant.llm.testing --help` shows how.

A fake speaks its protocol over real HTTP, takes its answers from a script, records the requests, and can fail in every
way that real servers were seen to fail.
"""

from __future__ import annotations

from mud_assistant.llm.testing.anthropic import AnthropicReply, FakeAnthropic, Search
from mud_assistant.llm.testing.brains import dutiful, simple_sage
from mud_assistant.llm.testing.chat import FakeChat
from mud_assistant.llm.testing.goals import Goal, find_goals
from mud_assistant.llm.testing.obedient import ObedientModel
from mud_assistant.llm.testing.ollama import FakeOllama, OllamaModel
from mud_assistant.llm.testing.reading import PromptReader
from mud_assistant.llm.testing.responses import FakeResponses, ResponsesReply
from mud_assistant.llm.testing.script import (
    Brain,
    Call,
    DieMidStream,
    EndEarly,
    ErrorInStream,
    Garbage,
    Hang,
    HttpError,
    Raw,
    RecordedRequest,
    RefuseTools,
    Reply,
    Script,
    Step,
)
from mud_assistant.llm.testing.server import FakeServer
from mud_assistant.resilience.testing.fault_server import serve

__all__ = [
    "AnthropicReply",
    "Brain",
    "Call",
    "DieMidStream",
    "EndEarly",
    "ErrorInStream",
    "FakeAnthropic",
    "FakeChat",
    "FakeOllama",
    "FakeResponses",
    "FakeServer",
    "Garbage",
    "Goal",
    "Hang",
    "HttpError",
    "ObedientModel",
    "OllamaModel",
    "PromptReader",
    "Raw",
    "RecordedRequest",
    "RefuseTools",
    "Reply",
    "ResponsesReply",
    "Script",
    "Search",
    "Step",
    "dutiful",
    "find_goals",
    "serve",
    "simple_sage",
]
