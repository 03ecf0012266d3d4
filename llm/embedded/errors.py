"""What can go wrong with the embedded model.

EmbeddedError
├── EmbeddedUnavailable   there is no embedded model; gives the cause in one sentence, and three alternatives
├── SourceFailed          one source did not provide the model file; the next one is tried
├── BadModelFile          not a GGUF file, or a damaged one
└── UnknownTemplate       the chat template is not the one we know how to change
"""

from __future__ import annotations

from dataclasses import dataclass

WAYS_ON = (
    "There are three ways on: start Ollama with a model that can use tools; "
    "name a provider with --provider, --url and --key env:NAME; "
    "or give a model file of your own with --model FILE."
)


class EmbeddedError(Exception):
    """Something about the embedded model failed."""


@dataclass(eq=False)
class EmbeddedUnavailable(EmbeddedError):
    """There is no embedded model. `cause` says why in one sentence; the text adds the three alternatives."""

    cause: str

    def __str__(self) -> str:
        """Return the cause and the three alternatives, as the owner reads them."""
        return f"The local model is not available: {self.cause.rstrip('.')}. {WAYS_ON}"


class SourceFailed(EmbeddedError):
    """A source did not provide the model file. The text says why."""


class BadModelFile(EmbeddedError):
    """The file is not a readable GGUF model."""


class UnknownTemplate(EmbeddedError):
    """The chat template is not the one from which we can remove the tool-call tags."""
