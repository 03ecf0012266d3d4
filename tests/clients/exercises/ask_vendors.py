"""Asks a model by the clients of OpenAI, Anthropic and Ollama. usage: ask_vendors.py ADDRESS MODEL."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import anthropic
import ollama
import openai

ADDRESS, MODEL = sys.argv[1:]
SAID: Any = [{"role": "user", "content": "Where is the well?"}]
OPENAI = openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="any", max_retries=0)
ANTHROPIC = anthropic.Anthropic(base_url=ADDRESS, api_key="any", max_retries=0)
OLLAMA = ollama.Client(host=ADDRESS)


def chat(*, streams: bool) -> str | None:
    if not streams:
        return OPENAI.chat.completions.create(model=MODEL, messages=SAID).choices[0].message.content
    pieces = OPENAI.chat.completions.create(model=MODEL, messages=SAID, stream=True)
    return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)


def responses(*, streams: bool) -> str:
    if not streams:
        return OPENAI.responses.create(model=MODEL, input=SAID).output_text
    with OPENAI.responses.stream(model=MODEL, input=SAID) as stream:
        return stream.get_final_response().output_text


def messages(*, streams: bool) -> str:
    if not streams:
        whole = ANTHROPIC.messages.create(model=MODEL, max_tokens=200, messages=SAID)
        return "".join(block.text for block in whole.content if block.type == "text")
    with ANTHROPIC.messages.stream(model=MODEL, max_tokens=200, messages=SAID) as stream:
        return "".join(stream.text_stream)


def local(*, streams: bool) -> str | None:
    if not streams:
        return OLLAMA.chat(model=MODEL, messages=SAID).message.content
    return "".join(piece.message.content or "" for piece in OLLAMA.chat(model=MODEL, messages=SAID, stream=True))


ASKING: dict[str, Callable[..., str | None]] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
    "ollama": local,
}
for dialect, ask in ASKING.items():
    for how in ("plain", "streamed"):
        try:
            text = ask(streams=how == "streamed")
        except Exception as error:
            text = repr(error)
        print(json.dumps({"dialect": dialect, "how": how, "text": text}))
