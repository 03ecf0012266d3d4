"""What the fake model servers share: the script, and faults applied to good answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

import orjson
from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.answer import HTTP_OK
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.request import CallOptions
from mud_assistant.llm.response import LLMResponse
from mud_assistant.llm.testing.reading import PromptReader
from mud_assistant.llm.testing.replies import ReplyRenderer
from mud_assistant.llm.testing.script import (
    DieMidStream,
    EndEarly,
    ErrorInStream,
    Garbage,
    Hang,
    HttpError,
    Prompter,
    Raw,
    RecordedRequest,
    RefuseTools,
    Reply,
    Script,
    Step,
)
from mud_assistant.resilience.testing.fake import SILENCE, Answered, Fake, Response, sized_response
from mud_assistant.resilience.testing.faults import Ending


class FakeServer(Fake[RecordedRequest]):
    """A model server that answers from a script and remembers the requests.

    `exhausted` are the chat requests for which the script had no step (answered with a 500). With a `reader`, the
    answer to a chat request begins when its prompt was read. `warmings` are the chat requests for one token only. They
    are answered with one, take no step of the script, and are not among the `chats`.
    """

    request_type = RecordedRequest
    json_type = "application/json"
    stream_type = "text/event-stream; charset=utf-8"
    chat_path = ""
    #: What ends each event of a stream.
    between = b"\n\n"
    clock: IReactorTime

    def __init__(self, clock: IReactorTime, script: Script, key: str | None = None) -> None:
        super().__init__(clock, key)
        self.exhausted: list[RecordedRequest] = []
        self.warmings: list[RecordedRequest] = []
        self.reader: PromptReader | None = None
        self._prompter = Prompter(script)

    @property
    def remaining(self) -> int | None:
        """The number of scripted steps not taken yet, None for a brain."""
        return self._prompter.remaining

    @property
    def chats(self) -> list[RecordedRequest]:
        """The requests for a completion, in order."""
        warmings = {id(request) for request in self.warmings}
        return [request for request in self.requests if self.is_chat(request.path) and id(request) not in warmings]

    def is_chat(self, path: str) -> bool:
        """Tell whether completions are asked for at this path."""
        return path == self.chat_path

    def begin(self, request: RecordedRequest, answer: Answered, play: Callable[[], None]) -> Callable[[], None]:
        """Answer at once, or when the prompt was read."""
        is_good = isinstance(answer, Response) and answer.status == HTTP_OK
        if self.reader is None or not request.messages or not is_good:
            return super().begin(request, answer, play)
        return self.reader.begin(request, play)

    def scripted(self, request: RecordedRequest) -> Answered:
        """Return the answer to a chat request that the server itself does not refuse."""
        if request.is_warming:
            self.warmings.append(request)
            return self._good(Reply("I", finish="length"), request)
        step = self._prompter.next(request)
        if step is None:
            self.exhausted.append(request)
            return self.error(500, f"script exhausted: no step left for chat request {len(self.chats)}")
        return self._answer(step, request)

    def error(self, status: int, message: str) -> Response:
        """Return an error in the server's own shape."""
        return self.json(self.error_record(status, message), status)

    def json(self, record: JSON, status: int = 200) -> Response:
        """Return a record as the whole response."""
        return sized_response(self.encode(record), self.json_type, status)

    def encode(self, record: JSON) -> bytes:
        """Return the record as the server writes it."""
        return orjson.dumps(record)

    @abstractmethod
    def error_record(self, status: int, message: str) -> JSON:
        """Return the body of an error."""

    @abstractmethod
    def error_chunk(self, message: str) -> bytes:
        """Return an error in mid-stream."""

    def refusal(self, request: RecordedRequest) -> str:
        """Return the words for a model that cannot use tools."""
        return f"{request.model} does not support tools"

    def streams(self, request: RecordedRequest) -> bool:
        """Tell whether the request asks for a stream, as it must in most dialects."""
        return request.body.get("stream") is True

    @abstractmethod
    def renderer(self, asked: AskedCall, head: AnswerHead) -> ReplyRenderer:
        """Return what renders a reply."""

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return the reply as the chunks of a stream, the end mark last."""
        renderer, response = self._rendered(reply, request)
        return b"".join(renderer.stream(reply, response)).split(self.between)[:-1]

    def whole(self, reply: Reply, request: RecordedRequest) -> bytes:
        """Return the reply as one record."""
        renderer, response = self._rendered(reply, request)
        return renderer.whole(response)

    def _rendered(self, reply: Reply, request: RecordedRequest) -> tuple[ReplyRenderer, LLMResponse]:
        options = request.body.get("stream_options")
        asked = AskedCall(
            request.model,
            streams=True,
            messages=(),
            options=CallOptions(think=request.body.get("think") is not False),
            counts_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
        )
        number, prompt_tokens = len(self.chats), self.prompt_tokens(request)
        head = AnswerHead(str(number), int(self.clock.seconds()), reply.counted(prompt_tokens)[0])
        renderer = self.renderer(asked, head)
        return renderer, renderer.response(reply, number, prompt_tokens)

    def prompt_tokens(self, request: RecordedRequest) -> int:
        """Return the size of the prompt that was read, in tokens."""
        return estimate_tokens(request)

    def _answer(self, step: Step, request: RecordedRequest) -> Answered:
        match step:
            case Reply():
                return self._good(step, request)
            case RefuseTools():
                return self.error(400, self.refusal(request)) if request.tools else self._good(step.reply, request)
            case HttpError():
                return self._http_error(step)
            case Raw():
                ending = Ending.RESET if step.abort else Ending.KEEP
                return Response(step.status, step.headers, tuple(step.chunks), ending)
            case Garbage():
                return sized_response(step.body, step.content_type)
            case _:
                return self._broken(step, request)

    def _http_error(self, step: HttpError) -> Response:
        if isinstance(step.body, bytes):
            return Response(step.status, step.headers, (step.body,))
        plain = self.error(step.status, step.body)
        return replace(plain, headers={**plain.headers, **step.headers})

    def _broken(self, step: DieMidStream | EndEarly | Hang | ErrorInStream, request: RecordedRequest) -> Answered:
        """Return a good answer that fails midway."""
        good = self._good(step.reply, request)
        match step:
            case DieMidStream():
                return good.cut(step.after_chunks, Ending.RESET)
            case EndEarly():
                return good.cut(step.after, Ending.KEEP)
            case Hang("headers"):
                return SILENCE
            case Hang():
                return good.cut(step.after if step.where == "mid" else 0, Ending.HANG)
            case ErrorInStream():
                if not self.streams(request):
                    return self.error(500, step.message)
                return good.cut(step.after, Ending.KEEP, self.error_chunk(step.message))
            case _:
                assert_never(step)

    def _good(self, reply: Reply, request: RecordedRequest) -> Response:
        streams = self.streams(request)
        if streams:
            chunks = tuple([event + self.between for event in self.stream(reply, request)])
        else:
            body = self.whole(reply, request)
            chunks = (body[: len(body) // 2], body[len(body) // 2 :])
        headers = {"Content-Type": self.stream_type if streams else self.json_type}
        return Response(200, headers, chunks, delay_seconds=reply.delay_seconds, piece_seconds=reply.piece_seconds)


def estimate_tokens(request: RecordedRequest) -> int:
    """Return the size of a prompt in tokens, at four characters each."""
    characters = len(orjson.dumps([*request.messages, *request.tools]).decode())
    return -(-characters // 4)
