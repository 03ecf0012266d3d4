"""Fake model servers for tests, benches and people: `python -m llm.testing --help` shows how to serve one.

A fake speaks its protocol over real HTTP, takes its answers from a script, records the requests, and can fail in every
way that real servers were seen to fail.
"""

from __future__ import annotations

from llm.testing.anthropic import AnthropicReply, FakeAnthropic, Search
from llm.testing.brains import dutiful, simple_sage
from llm.testing.chat import FakeChat
from llm.testing.goals import Goal, find_goals
from llm.testing.obedient import ObedientModel
from llm.testing.ollama import FakeOllama, OllamaModel
from llm.testing.reading import PromptReader
from llm.testing.responses import FakeResponses, ResponsesReply
from llm.testing.script import (
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
from llm.testing.server import FakeServer
from llm.testing.vectors import OllamaVectors, OpenAIVectors, VectorFault, meaning_of
from resilience.testing.fault_server import serve

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
    "OllamaVectors",
    "OpenAIVectors",
    "PromptReader",
    "Raw",
    "RecordedRequest",
    "RefuseTools",
    "Reply",
    "ResponsesReply",
    "Script",
    "Search",
    "Step",
    "VectorFault",
    "dutiful",
    "find_goals",
    "meaning_of",
    "serve",
    "simple_sage",
]
