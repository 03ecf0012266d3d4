"""What a fake model server is told to answer: replies, and the ways in which a real server fails.

A script is a list with one step for each chat request, or a function from the request to a step (a brain). All times
are clock seconds. A fault in mid-stream counts its place in chunks: the pieces the server would have written, one by
one, for a good answer. It never reaches the last chunk, so a faulty answer is never a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import orjson
from msgspec import Struct

from mud_assistant.llm.messages import JSONObject
from mud_assistant.resilience.testing.fake import ServedRequest


class Call(msgspec.Struct, frozen=True):
    """A tool call of a scripted reply.

    Text as `arguments` is sent as it stands, even when it is not JSON. Without an `id` Ollama sends none (as its older
    servers do) and Chat Completions makes one.
    """

    name: str
    arguments: JSONObject | str = msgspec.field(default_factory=dict)
    id: str | None = None

    @property
    def written(self) -> str:
        """The arguments as text, as they are sent where they are text."""
        return self.arguments if isinstance(self.arguments, str) else orjson.dumps(self.arguments).decode()


class Reply(Struct, frozen=True):
    """A good answer.

    `finish` is the wire's own word or a `FinishReason`, by default what a real server would send. `usage` is (input,
    output) tokens, by default estimated. Text streams in pieces of `chunk_size` characters, by default in words.
    `delay_seconds` pass before the response begins, and `piece_seconds` between its chunks.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = None
    chunk_size: int | None = None
    delay_seconds: float = 0.0
    piece_seconds: float = 0.0

    def counted(self, prompt_tokens: int, extra: str = "") -> tuple[int, int]:
        """Return the tokens of the prompt and of the answer, as `usage` has them or by the words, `extra` included."""
        words = sum(len(pieces(text, None)) for text in (self.text + extra, self.reasoning))
        return self.usage or (prompt_tokens, words + 8 * len(self.calls))


def pieces(text: str, size: int | None) -> list[str]:
    """Return the text in pieces of `size` characters, or in words with the blanks before them.

    An empty text has no pieces.
    """
    if size is None:
        return re.findall(r"\s*\S+|\s+", text)
    return [text[start : start + size] for start in range(0, len(text), size)]


SMALL_TALK = Reply("The well lies north of the mill, past the old oak.")


class RefuseTools(Struct, frozen=True):
    """A 400 "does not support tools" if the request has tools, else `reply`."""

    reply: Reply = SMALL_TALK


class DieMidStream(Struct, frozen=True):
    """A connection that is reset after some chunks of the body."""

    after_chunks: int = 1
    reply: Reply = SMALL_TALK


class EndEarly(Struct, frozen=True):
    """A response that ends cleanly, as HTTP sees it, after some chunks and without the protocol's end mark."""

    after: int = 1
    reply: Reply = SMALL_TALK


class Hang(Struct, frozen=True):
    """Endless silence: before the head, between head and body, or after some chunks of the body."""

    where: Literal["headers", "body", "mid"] = "headers"
    after: int = 1
    reply: Reply = SMALL_TALK


class HttpError(msgspec.Struct, frozen=True):
    """An error status. Text as `body` becomes an error in the server's own shape; bytes are sent as they are."""

    status: int = 500
    body: str | bytes = "the model fell over"
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class ErrorInStream(Struct, frozen=True):
    """A 200 whose stream turns into an error after some chunks, or a 500 when no stream was requested."""

    message: str = "the model fell over"
    after: int = 1
    reply: Reply = SMALL_TALK


class Raw(Struct, frozen=True):
    """Exactly these bytes, written chunk by chunk; with `abort` the connection is reset after the last one."""

    status: int
    headers: Mapping[str, str]
    chunks: Sequence[bytes]
    abort: bool = False


class Garbage(Struct, frozen=True):
    """A 200 that has nothing to do with the protocol, as a captive portal or a proxy sends it."""

    body: bytes = b"<html><body><h1>It works!</h1></body></html>\n"
    content_type: str = "text/html"


Step = Reply | RefuseTools | DieMidStream | EndEarly | Hang | HttpError | ErrorInStream | Raw | Garbage


@dataclass(frozen=True, slots=True)
class RecordedRequest(ServedRequest):
    """A request to a model, as it came."""

    @property
    def model(self) -> str:
        """The model asked for, empty without one."""
        return str(self.body.get("model") or "")

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages of the conversation, in order. The items of the Responses API come as those of a chat."""
        return _as_messages(self.body) if self.path.endswith("/responses") else self._objects("messages")

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        """The tools offered, empty without any."""
        return self._objects("tools")

    @property
    def is_warming(self) -> bool:
        """Whether a single token is requested: the prompt is to be read, and the answer is not wanted."""
        options = self.body.get("options")
        asked = options.get("num_predict") if isinstance(options, Mapping) else None
        return 1 in (asked, self.body.get("max_tokens"), self.body.get("max_completion_tokens"))

    def _objects(self, key: str) -> list[Mapping[str, Any]]:
        found = self.body.get(key)
        return [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []


def _as_messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the input of a request as the messages of Chat Completions, for brains that know only those."""
    told = body.get("instructions")
    messages: list[Mapping[str, Any]] = [{"role": "system", "content": told}] if told else []
    items = body.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    for item in items if isinstance(items, list) else []:
        match item.get("type", "message"):
            case "message":
                messages.append({"role": item.get("role"), "content": item.get("content")})
            case "function_call":
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                call = {"id": item.get("call_id"), "type": "function", "function": function}
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            case "function_call_output":
                output = item.get("output")
                messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": output})
    return messages


Brain = Callable[[RecordedRequest], Step]
Script = Sequence[Step] | Brain


class Prompter:
    """A supplier of a script's steps. `remaining` is how many are left, None for a brain, which never runs out."""

    def __init__(self, script: Script) -> None:
        self._brain = script if callable(script) else None
        self._steps = [] if callable(script) else list(script)

    @property
    def remaining(self) -> int | None:
        """The number of steps not taken yet."""
        return None if self._brain else len(self._steps)

    def next(self, request: RecordedRequest) -> Step | None:
        """Return the step for this request, or None when the script has ended."""
        if self._brain:
            return self._brain(request)
        return self._steps.pop(0) if self._steps else None
