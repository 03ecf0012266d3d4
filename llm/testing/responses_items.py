"""The items of the Responses API as a server writes and checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llm.messages import JSON, JSONObject
from llm.testing.script import Call, Reply

MIN_OUTPUT_TOKENS = 16


class ResponsesReply(Reply, frozen=True):
    """A good answer with what only the Responses API has.

    `commentary` is said on the way to the text, which is then marked as the final answer. Each of `searches` is a web
    search that the server makes before the text, and each of `sources` (title and address) is cited for the text.
    Without `is_sealed`, reasoning comes without what it could be sent back by. `refusal` comes in place of the text.
    `raw` are items that come first, as they stand.
    """

    commentary: str = ""
    searches: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    is_sealed: bool = True
    refusal: str = ""
    raw: tuple[JSONObject, ...] = ()


def output_items(reply: Reply, number: int, seal: str) -> list[JSONObject]:
    """Return the items of a reply, the `number`th of its server."""
    extra = reply if isinstance(reply, ResponsesReply) else ResponsesReply()
    items: list[JSONObject] = [*extra.raw]
    if reply.reasoning:
        summary: JSON = [{"type": "summary_text", "text": reply.reasoning}]
        sealed = f"{seal}:{number}" if extra.is_sealed else None
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
