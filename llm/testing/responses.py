"""A server for the Responses API that answers from a script, beside Chat Completions: one server, as OpenAI's is.

It keeps nothing, and refuses in the real one's words what that refuses of a history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.messages import JSON, JSONObject
from mud_assistant.llm.testing.chat import CHAT_PATH, FakeChat, error_record
from mud_assistant.llm.testing.script import Call, RecordedRequest, Reply, Script, pieces
from mud_assistant.llm.testing.server import estimate_tokens
from mud_assistant.resilience.testing.fake import Answered, Response

_REASONS = {"length": "max_output_tokens", "max_output_tokens": "max_output_tokens", "content_filter": "content_filter"}
MIN_OUTPUT_TOKENS = 16
_PARTS = {"text": "output_text", "refusal": "refusal"}


class ResponsesReply(Reply, frozen=True):
    """A good answer with what only the Responses API has.

    `commentary` is said on the way to the text, which is then marked as the final answer. Each of `searches` is a web
    search that the server makes before the text, and each of `sources` (title and address) is cited for the text.
    `refusal` comes in place of the text.
    """

    commentary: str = ""
    searches: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


class FakeResponses(FakeChat):
    """A server for any model. What it seals begins with `seal`, and it refuses reasoning with another seal.

    With `tools_here_only` it refuses tools on Chat Completions unless reasoning is turned off, as OpenAI does for its
    newer models. With `late_arguments` it sends the arguments of a call only when they are whole, as LM Studio does.
    """

    def __init__(
        self,
        clock: IReactorTime,
        script: Script,
        key: str | None = None,
        *,
        seal: str = "sealed",
        tools_here_only: bool = False,
        late_arguments: bool = False,
    ) -> None:
        super().__init__(clock, script, key)
        self.seal = seal
        self._tools_here_only = tools_here_only
        self._late_arguments = late_arguments

    def is_chat(self, path: str) -> bool:
        """Tell whether answers are asked for here: at either endpoint."""
        return path == CHAT_PATH or path.endswith("/responses")

    def answer(self, request: RecordedRequest) -> Answered:
        """Return the answer of the handler for this method and path."""
        thinks = request.body.get("reasoning_effort") != "none"
        if request.path == CHAT_PATH and self._tools_here_only and request.tools and thinks:
            return self._refuse_tools(request)
        if request.method == "POST" and request.path.endswith("/responses"):
            return self._respond(request)
        return super().answer(request)

    def error_chunk(self, message: str) -> bytes:
        """Return an error as an event of the stream."""
        record = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 9}
        return b"event: error\ndata: " + self.encode(record) + b"\n\n"

    def stream(self, reply: Reply, request: RecordedRequest) -> list[bytes]:
        """Return the events of the answer, the last one with the whole response."""
        if request.path == CHAT_PATH:
            return super().stream(reply, request)
        records = stream_records(self._record(reply, request), reply.chunk_size, late_arguments=self._late_arguments)
        return [
            b"event: %s\ndata: %s" % (str(record["type"]).encode(), self.encode({**record, "sequence_number": number}))
            for number, record in enumerate(records)
        ]

    def whole(self, reply: Reply, request: RecordedRequest) -> bytes:
        """Return the answer to a request that does not stream."""
        if request.path == CHAT_PATH:
            return super().whole(reply, request)
        return self.encode(self._record(reply, request))

    def _record(self, reply: Reply, request: RecordedRequest) -> JSONObject:
        number = len(self.chats)
        reason = _REASONS.get(reply.finish or "")
        failed = reply.finish == "failed"
        error: JSON = {"code": "server_error", "message": "The model fell over."} if failed else None
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": int(self.clock.seconds()),
            "status": "failed" if failed else "incomplete" if reason else "completed",
            "error": error,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": request.body.get("instructions"),
            "max_output_tokens": request.body.get("max_output_tokens"),
            "model": request.model,
            "output": output_items(reply, number, self.seal),
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "store": request.body.get("store", True),
            "tool_choice": request.body.get("tool_choice", "auto"),
            "tools": request.tools,
            "usage": _usage(reply, estimate_tokens(request)),
        }

    def _respond(self, request: RecordedRequest) -> Answered:
        for name in ("model", "input"):
            if not request.body.get(name):
                record = error_record(f"Missing required parameter: '{name}'.", param=name)
                return self.json(record, 400)
        bound = request.body.get("max_output_tokens")
        if isinstance(bound, int) and bound < MIN_OUTPUT_TOKENS:
            said = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {bound}."
            return self.json(error_record(said, param="max_output_tokens"), 400)
        items = request.body["input"]
        if wrong := wrong_input(items if isinstance(items, list) else [], self.seal):
            message, code = wrong
            return self.json(error_record(message, code=code), 404 if code == "not_found" else 400)
        return self.scripted(request)

    def _refuse_tools(self, request: RecordedRequest) -> Response:
        said = (
            f"Function tools with reasoning_effort are not supported for {request.model} in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        return self.json(error_record(said, param="reasoning_effort"), 400)


def stream_records(response: JSONObject, size: int | None, *, late_arguments: bool = False) -> Iterator[JSONObject]:
    """Yield the events of a stream that adds up to `response`."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    output = response["output"]
    assert isinstance(output, list)
    for index, item in enumerate(output):
        at: dict[str, JSON] = {"output_index": index, "item_id": item.get("id")}
        yield {"type": "response.output_item.added", "output_index": index, "item": _opening(item)}
        for record in _inner(item, size, late_arguments=late_arguments):
            yield {**at, **record}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _opening(item: Mapping[str, Any]) -> JSONObject:
    """Return an item as it is when it is added."""
    opened: dict[str, JSON] = {**item, "status": "in_progress"}
    match item["type"]:
        case "message":
            opened["content"] = []
        case "reasoning":
            opened["summary"] = []
        case "function_call":
            opened["arguments"] = ""
    return opened


def _inner(item: Mapping[str, Any], size: int | None, *, late_arguments: bool) -> Iterator[JSONObject]:
    """Yield the events between the start and the end of an item."""
    match item["type"]:
        case "function_call":
            if not late_arguments:
                for piece in pieces(item["arguments"], size):
                    yield {"type": "response.function_call_arguments.delta", "delta": piece}
            yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"]}
        case "reasoning":
            for index, part in enumerate(item["summary"]):
                yield from _part("reasoning_summary", "summary_index", index, part, size)
        case "message":
            for index, part in enumerate(item["content"]):
                yield from _part("content", "content_index", index, part, size)
        case kind if kind.endswith("_call"):
            for word in ("in_progress", "searching", "completed"):
                yield {"type": f"response.{kind}.{word}"}


def _part(kind: str, index_name: str, index: int, part: JSONObject, size: int | None) -> Iterator[JSONObject]:
    field = "refusal" if "refusal" in part else "text"
    name = "reasoning_summary_text" if kind == "reasoning_summary" else _PARTS[field]
    at: dict[str, JSON] = {index_name: index}
    yield {"type": f"response.{kind}_part.added", **at, "part": {**part, field: ""}}
    for piece in pieces(str(part[field]), size):
        yield {"type": f"response.{name}.delta", **at, "delta": piece}
    yield {"type": f"response.{name}.done", **at, field: part[field]}
    yield {"type": f"response.{kind}_part.done", **at, "part": part}


def _usage(reply: Reply, prompt_tokens: int) -> JSONObject:
    extra = reply.commentary if isinstance(reply, ResponsesReply) else ""
    thought = len(pieces(reply.reasoning, None))
    prompt, output = reply.counted(prompt_tokens, extra)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": min(thought, output)},
        "total_tokens": prompt + output,
    }


def output_items(reply: Reply, number: int, seal: str) -> list[JSONObject]:
    """Return the items of a reply, the `number`th of its server."""
    extra = reply if isinstance(reply, ResponsesReply) else ResponsesReply()
    items: list[JSONObject] = []
    if reply.reasoning:
        summary: JSON = [{"type": "summary_text", "text": reply.reasoning}]
        sealed = f"{seal}:{number}"
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": sealed})
    if extra.commentary:
        items.append(_message(f"msg_{number}_c", _text(extra.commentary), "commentary"))
    for place, query in enumerate(extra.searches):
        action: JSON = {"type": "search", "query": query, "sources": [{"type": "url", "url": "https://found.example"}]}
        items.append({"id": f"ws_{number}_{place}", "type": "web_search_call", "status": "completed", "action": action})
    phase = "final_answer" if extra.commentary else ""
    if extra.refusal:
        items.append(_message(f"msg_{number}", {"type": "refusal", "refusal": extra.refusal}, phase))
    elif reply.text or not reply.calls:
        items.append(_message(f"msg_{number}", _text(reply.text, extra.sources), phase))
    return items + [_call(call, f"{number}_{place}") for place, call in enumerate(reply.calls)]


def wrong_input(items: Sequence[Mapping[str, Any]], seal: str) -> tuple[str, str] | None:
    """Return the real API's refusal of these items, with its code. None when they are right."""
    asked: list[str] = []
    for at, item in enumerate(items):
        kind, item_id = item.get("type"), item.get("id")
        if kind == "reasoning":
            if wrong := _wrong_reasoning(item, items[at + 1 :], seal):
                return wrong
        elif kind == "item_reference":  # an id without what it stands for; with it, an id is taken
            return _not_persisted(item_id or "")
        if kind == "function_call":
            asked.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in asked:
                return f"No tool call found for function call output with call_id {item['call_id']}.", ""
            asked.remove(item["call_id"])
    return (f"No tool output found for function call {asked[0]}.", "") if asked else None


def _wrong_reasoning(item: Mapping[str, Any], after: Sequence[Mapping[str, Any]], seal: str) -> tuple[str, str] | None:
    sealed, item_id = item.get("encrypted_content"), item.get("id") or "rs_unknown"
    if not sealed:
        return _not_persisted(item_id)
    if not str(sealed).startswith(f"{seal}:"):
        why = "Encrypted content could not be decrypted or parsed."
        return f"The encrypted content {sealed} could not be verified. Reason: {why}", "invalid_encrypted_content"
    led_to = next((other for other in after if other.get("type") != "reasoning"), {})
    if led_to.get("type") == "function_call_output" or led_to.get("role", "assistant") != "assistant" or not led_to:
        said = f"Item '{item_id}' of type 'reasoning' was provided without its required following item."
        return said, ""
    return None


def _not_persisted(item_id: str) -> tuple[str, str]:
    said = f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false."
    return said, "not_found"


def _message(item_id: str, part: JSONObject, phase: str) -> JSONObject:
    item: dict[str, JSON] = {"id": item_id, "type": "message", "status": "completed", "role": "assistant"}
    return {**item, "content": [part], **({"phase": phase} if phase else {})}


def _text(text: str, sources: Sequence[tuple[str, str]] = ()) -> JSONObject:
    cited: list[JSON] = [
        {"type": "url_citation", "start_index": 0, "end_index": len(text), "title": title, "url": url}
        for title, url in sources
    ]
    return {"type": "output_text", "text": text, "annotations": cited, "logprobs": []}


def _call(call: Call, place: str) -> JSONObject:
    call_id = f"call_{place}" if call.id is None else call.id
    return {
        "id": f"fc_{place}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": call.name,
        "arguments": call.written,
    }
