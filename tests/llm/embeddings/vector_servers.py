"""Servers of sentence vectors: Ollama's and OpenAI's API, and the ways in which both were seen to fail.

Their vectors say which words a text has: texts that share words are near each other, and nothing else is.
"""

from __future__ import annotations

import math
import struct
from base64 import b64encode
from collections import deque
from enum import StrEnum
from hashlib import sha256
from re import findall

from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.messages import JSON
from mud_assistant.llm.testing.chat import FakeChat
from mud_assistant.llm.testing.ollama import FakeOllama, OllamaModel
from mud_assistant.llm.testing.script import Hang, HttpError, RecordedRequest
from mud_assistant.resilience.testing.fake import Answered, json_response

#: How many numbers a vector has.
DIMENSIONS = 64


class VectorFault(StrEnum):
    """What is wrong with an answer that looks like a good one."""

    NAN = "nan"  # as Ollama's older versions and Python's json write it
    NULL = "null"  # as llama.cpp writes NaN
    INFINITE = "infinite"
    ZEROS = "zeros"
    SHORT = "short"  # one vector is shorter than the others
    EMPTY = "empty"  # one vector has no numbers
    MISSING = "missing"  # there is one vector fewer than there are texts
    DISORDER = "disorder"  # the last text's vector comes first; `index` tells, where the API has one
    SAME_INDEX = "same index"
    NESTED = "nested"  # each vector is in a list of its own
    EACH_WORD = "each word"  # a vector for each word: nothing pools them
    LISTS = "lists"  # good numbers, in lists though base64 was asked for
    GARBAGE = "garbage"


#: What the server does with one request for vectors; None is a good answer.
VectorStep = VectorFault | HttpError | Hang | None
_NUMBERS = {VectorFault.NAN: math.nan, VectorFault.INFINITE: math.inf}
#: What cannot be said in base64.
_ONLY_LISTS = frozenset([VectorFault.NULL, VectorFault.NESTED, VectorFault.EACH_WORD, VectorFault.LISTS])


def meaning_of(text: str) -> list[float]:
    """Return the vector of a text, not of length 1: each word adds one direction of its own."""
    vector = [0.0] * DIMENSIONS
    for word in findall(r"\w+", text.casefold()) or [text]:
        digest = sha256(word.encode()).digest()
        for at, byte in enumerate(digest + digest[::-1]):
            vector[at] += byte - 127.5 + at / 7
    return vector


def _rows(texts: list[str], fault: VectorFault | None, *, as_base64: bool = False) -> list[JSON]:
    """Return the vectors as an answer has them, with the fault in the last one, or in the form of all."""
    *good, last = [meaning_of(text) for text in texts]
    match fault:
        case VectorFault.NAN | VectorFault.INFINITE:
            last = [_NUMBERS[fault], *last[1:]]
        case VectorFault.ZEROS:
            last = [0.0] * len(last)
        case VectorFault.SHORT:
            last = last[1:]
        case VectorFault.EMPTY:
            last = []
        case _:
            pass
    rows = good if fault is VectorFault.MISSING else [*good, last]
    if as_base64 and fault not in _ONLY_LISTS:
        return [b64encode(struct.pack(f"<{len(row)}f", *row)).decode() for row in rows]
    if fault is VectorFault.NULL:
        return [*good, [None, *last[1:]]]
    if fault is VectorFault.NESTED:
        return [[row] for row in rows]
    return [[row, row] for row in rows] if fault is VectorFault.EACH_WORD else list(rows)


def _texts(request: RecordedRequest) -> list[str]:
    given = request.body.get("input")
    return [str(text) for text in given] if isinstance(given, list) else [str(given)]


class _Steps:
    """What a server does next, and how much text it reads at most."""

    def __init__(self, longest: int | None) -> None:
        self.steps: deque[VectorStep] = deque()
        self.longest = longest

    def next(self) -> VectorStep:
        return self.steps.popleft() if self.steps else None

    def too_long(self, texts: list[str]) -> int:
        """Return the length of the longest text when it is too long, else 0."""
        most = max(map(len, texts), default=0)
        return most if self.longest is not None and most > self.longest else 0


class OllamaVectors(FakeOllama):
    """An Ollama that also has `/api/embed`. Append to `vectors.steps` what is to fail; `embeds` are the requests."""

    def __init__(
        self,
        clock: IReactorTime,
        *,
        longest: int | None = None,
        key: str | None = None,
        context_tokens: int = 2048,
    ) -> None:
        super().__init__(clock, [], {"sage": OllamaModel(context_length=context_tokens)}, key)
        self.vectors = _Steps(longest)

    @property
    def embeds(self) -> list[RecordedRequest]:
        """The requests for vectors."""
        return [request for request in self.requests if request.path == "/api/embed"]

    def answer(self, request: RecordedRequest) -> Answered:
        """Return the answer of the handler for this method and path."""
        if (request.method, request.path) != ("POST", "/api/embed"):
            return super().answer(request)
        if request.model not in {name.removesuffix(":latest") for name in self.models}:
            return self.error(404, f"model '{request.model}' not found")
        self.loaded[f"{request.model}:latest"] = 2048
        texts, step = _texts(request), self.vectors.next()
        if isinstance(step, HttpError | Hang):
            return self._answer(step, request)
        if self.vectors.too_long(texts):
            return self.error(400, "the input length exceeds the context length")
        if step is VectorFault.GARBAGE:
            return self.json({"embedding": "none"})
        if step is VectorFault.DISORDER:
            texts = [*texts[-1:], *texts[:-1]]
        return json_response({"model": request.model, "embeddings": _rows(texts, step)})


class OpenAIVectors(FakeChat):
    """A server with `/v1/embeddings`. Append to `vectors.steps` what is to fail; `embeds` are the requests.

    Without `pools` it is a chat server started without embeddings. Without `base64` it refuses `encoding_format`.
    """

    def __init__(
        self,
        clock: IReactorTime,
        *,
        longest: int | None = None,
        key: str | None = None,
        pools: bool = True,
        base64: bool = True,
    ) -> None:
        super().__init__(clock, [], key)
        self.vectors = _Steps(longest)
        self._pools = pools
        self._base64 = base64

    @property
    def embeds(self) -> list[RecordedRequest]:
        """The requests for vectors."""
        return [request for request in self.requests if request.path == "/v1/embeddings"]

    def answer(self, request: RecordedRequest) -> Answered:
        """Return the answer of the handler for this method and path."""
        if (request.method, request.path) != ("POST", "/v1/embeddings"):
            return super().answer(request)
        texts, step = _texts(request), self.vectors.next()
        if not self._pools:
            said = "This server does not support embeddings. Start it with `--embeddings`"
            return self.json({"error": {"code": 501, "message": said, "type": "not_supported_error"}}, 501)
        if isinstance(step, HttpError | Hang):
            return self._answer(step, request)
        if not all(texts) or not texts:
            return self.error(400, "'$.input' is invalid")
        wants_base64 = request.body.get("encoding_format") == "base64"
        if wants_base64 and not self._base64:
            return self.error(400, "Unrecognized request argument supplied: encoding_format")
        if size := self.vectors.too_long(texts):
            said = f"input ({size} tokens) is too large to process. increase the physical batch size"
            return self.error(500, f"{said} (current batch size: {self.vectors.longest})")
        if step is VectorFault.GARBAGE:
            return self.json({"data": ["none"]})
        same = step is VectorFault.SAME_INDEX
        data: list[JSON] = [
            {"object": "embedding", "index": 0 if same else at, "embedding": row}
            for at, row in enumerate(_rows(texts, step, as_base64=wants_base64))
        ]
        if step is VectorFault.DISORDER:
            data = [*data[-1:], *data[:-1]]
        return json_response({"object": "list", "data": data, "usage": {"prompt_tokens": 9, "total_tokens": 9}})
