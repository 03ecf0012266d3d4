"""Ollama's `/api/generate`: a prompt without turns, and an answer that is one text."""

from __future__ import annotations

from collections.abc import Mapping

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.dialects.ollama.dialect import OllamaDialect
from mud_assistant.llm.dialects.ollama.reading import read_request
from mud_assistant.llm.dialects.ollama.rendering import OllamaRenderer
from mud_assistant.llm.messages import JSON, JSONObject

_SHARED = frozenset({"model", "stream", "format", "options", "think", "keep_alive", "logprobs", "top_logprobs"})
#: What a chat does not have, with the values that ask for nothing.
_REFUSED: Mapping[str, tuple[JSON, ...]] = {
    "raw": (False,),
    "template": ("",),
    "suffix": ("",),
    "context": ([],),
    "width": (0,),
    "height": (0,),
    "steps": (0,),
}


class GenerateDialect(OllamaDialect):
    """Generate, always translated: Ollama itself is asked at `/api/chat`, where its bounds are known to hold."""

    providers = frozenset()

    def read(self, body: JSONObject, headers: Mapping[str, str]) -> AskedCall:
        """Return what the client asks. Raises RequestRefused."""
        fields = RequestFields(body)
        fields.hints({*_SHARED, *_REFUSED, "prompt", "system", "images"}, ())
        for name, harmless in _REFUSED.items():
            if fields.has(name) and body[name] not in harmless:
                raise fields.unsupported(name)
        images = fields.get("images")
        asked: dict[str, JSON] = {
            "role": "user",
            "content": fields.text("prompt", "") if images else fields.name("prompt"),
        }
        if images:
            asked["images"] = images
        system = fields.text("system", "")
        before: list[JSON] = [{"role": "system", "content": system}] if system else []
        shared = {name: value for name, value in body.items() if name in _SHARED}
        return read_request({**shared, "messages": [*before, asked]})

    def renderer(self, asked: AskedCall, head: AnswerHead) -> GenerateRenderer:
        """Return what makes the bytes of one answer."""
        return GenerateRenderer(asked, head, self._now)

    def loaded(self, body: JSONObject, created: int) -> JSONObject | None:
        """Return the answer to a request without a prompt, by which clients have a model loaded; None for another."""
        if body.get("prompt") or body.get("images"):
            return None
        head = AnswerHead("", created, 0)
        renderer = self.renderer(AskedCall(str(body.get("model")), False, ()), head)
        return {**renderer.record("", done=True), "done_reason": "load"}


class GenerateRenderer(OllamaRenderer):
    """The bytes of one answer. Calls have no place here."""

    def record(self, text: str, *, done: bool) -> JSONObject:
        """Return a record with a piece of the text."""
        return self._record({"content": text}, done=done)

    def _record(self, message: dict[str, JSON], *, done: bool) -> dict[str, JSON]:
        said: dict[str, JSON] = {"response": message.get("content") or ""}
        if message.get("thinking"):
            said["thinking"] = message["thinking"]
        return {"model": self._model, "created_at": self._created, **said, "done": done}
