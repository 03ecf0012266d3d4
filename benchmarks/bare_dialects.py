"""The three dialects as somebody writes them by hand: what is posted, and how what comes is read into a message.

A message that was read has the form of Chat Completions, with the arguments of its calls as text. Only the standard
library is used: the peers that have nothing but HTTP read with it too.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from benchmarks.canned import KEY, MODEL, TOOLS


class Streamed(ABC):
    """A streamed answer, put together piece by piece."""

    def __init__(self) -> None:
        self.is_done = False
        self._text: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._held = b""

    def feed(self, data: bytes) -> None:
        """Take bytes, cut anywhere."""
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self.take(line)

    @abstractmethod
    def take(self, line: bytes) -> None:
        """Take a whole line."""

    def add_text(self, piece: str | None) -> None:
        """More text, if there is any."""
        if piece:
            self._text.append(piece)

    def add_call(self, call_id: str | None, name: str | None, arguments: str | None) -> None:
        """A call, if it has a name; else more arguments of the last one."""
        if name:
            self._calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}})
        if arguments:
            self._calls[-1]["function"]["arguments"] += arguments

    def message(self) -> dict[str, Any]:
        """The whole message; the stream must have said that it is over."""
        assert self.is_done
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        return {**message, "tool_calls": self._calls} if self._calls else message


class StreamedChat(Streamed):
    """Of Chat Completions."""

    def take(self, line: bytes) -> None:
        """A line of an event."""
        if not line.startswith(b"data: "):
            return
        if line.startswith(b"data: [DONE]"):
            self.is_done = True
            return
        for choice in json.loads(line[6:])["choices"]:
            delta = choice["delta"]
            self.add_text(delta.get("content"))
            for call in delta.get("tool_calls", ()):
                function = call["function"]
                self.add_call(call.get("id"), function.get("name"), function["arguments"])


class StreamedAnthropic(Streamed):
    """Of Anthropic's messages."""

    def take(self, line: bytes) -> None:
        """A line of an event."""
        if not line.startswith(b"data: "):
            return
        event = json.loads(line[6:])
        match event["type"]:
            case "content_block_start" if event["content_block"]["type"] == "tool_use":
                self.add_call(event["content_block"]["id"], event["content_block"]["name"], None)
            case "content_block_delta":
                delta = event["delta"]
                self.add_text(delta.get("text"))
                if "partial_json" in delta:
                    self.add_call(None, None, delta["partial_json"])
            case "message_stop":
                self.is_done = True


class StreamedOllama(Streamed):
    """Of Ollama's chat."""

    def take(self, line: bytes) -> None:
        """A record."""
        record = json.loads(line)
        message = record["message"]
        self.add_text(message["content"])
        for call in message.get("tool_calls", ()):
            self.add_call(None, call["function"]["name"], json.dumps(call["function"]["arguments"]))
        self.is_done = record["done"]


class Dialect(Protocol):
    """How a server is asked, and how it answers."""

    #: Where to post, under the base URL.
    path: ClassVar[str]
    headers: ClassVar[Mapping[str, str]]
    streamed: ClassVar[type[Streamed]]

    def asked(self, messages: Sequence[Any], *, stream: bool) -> dict[str, Any]:
        """The request for messages in the form of Chat Completions, system text first."""
        ...

    def whole(self, answer: Any) -> dict[str, Any]:
        """The message of a whole answer."""
        ...


class Chat:
    """Chat Completions."""

    path: ClassVar[str] = "/chat/completions"
    headers: ClassVar[Mapping[str, str]] = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    streamed: ClassVar[type[Streamed]] = StreamedChat

    def asked(self, messages: Sequence[Any], *, stream: bool) -> dict[str, Any]:
        """As they are."""
        return {"model": MODEL, "stream": stream, "tools": TOOLS, "messages": messages}

    def whole(self, answer: Any) -> dict[str, Any]:
        """As it is."""
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message


class Anthropic:
    """Anthropic's messages: the system text beside them, an input schema in each tool."""

    path: ClassVar[str] = "/messages"
    headers: ClassVar[Mapping[str, str]] = {
        "Content-Type": "application/json",
        "x-api-key": KEY,
        "anthropic-version": "2023-06-01",
    }
    streamed: ClassVar[type[Streamed]] = StreamedAnthropic

    def __init__(self) -> None:
        described = [tool["function"] for tool in TOOLS]
        self._tools = [
            {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]}
            for one in described
        ]

    def asked(self, messages: Sequence[Any], *, stream: bool) -> dict[str, Any]:
        """With the bound that the API needs."""
        asked = {"model": MODEL, "max_tokens": 4096, "stream": stream, "tools": self._tools}
        return {**asked, "system": messages[0]["content"], "messages": messages[1:]}

    def whole(self, answer: Any) -> dict[str, Any]:
        """Its blocks of text; calls are only looked for in streams here."""
        text = [block["text"] for block in answer["content"] if block["type"] == "text"]
        return {"role": "assistant", "content": "".join(text)}


class Ollama:
    """Ollama's native chat."""

    path: ClassVar[str] = "/api/chat"
    headers: ClassVar[Mapping[str, str]] = {"Content-Type": "application/json"}
    streamed: ClassVar[type[Streamed]] = StreamedOllama

    def asked(self, messages: Sequence[Any], *, stream: bool) -> dict[str, Any]:
        """With the size of the context, and nothing cut in silence."""
        asked = {"model": MODEL, "stream": stream, "truncate": False, "options": {"num_ctx": 8192}}
        return {**asked, "tools": TOOLS, "messages": messages}

    def whole(self, answer: Any) -> dict[str, Any]:
        """As it is."""
        message: dict[str, Any] = answer["message"]
        return message


#: By the names that the product's providers have, "local" for any server of Chat Completions.
DIALECTS: Mapping[str, type[Dialect]] = {"local": Chat, "anthropic": Anthropic, "ollama": Ollama}
