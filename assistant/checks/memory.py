"""Checks what makes sentence vectors: it must be reachable, and tell alike from unlike."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.config.sections import MemoryConfig
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.models.embedding import EmbedderParts, embedder_of
from mud_assistant.llm import BadCredential, LLMError, ModelNotFound, Unavailable
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embeddings.embedder import Embedder, Vector

#: The longest time for the first vectors, in seconds: a server may load its model first.
VECTOR_SECONDS = 180.0
#: Two texts that mean the same in other words, and one that means something else.
_TEXTS = ("the cat sat on the mat", "a kitten was sitting on the rug", "the council raises the taxes at noon")


class VectorChecks(Struct, frozen=True):
    """The check of the sentence vectors. `models` is the folder of the embedded models."""

    config: MemoryConfig
    parts: EmbedderParts
    models: Path
    runner: CheckRunner

    async def run(self) -> None:
        """Run the check. Without vectors there is nothing to say."""
        if self.config.vectors != "off":
            late = "see whether its server is busy, or set memory.vectors to another"
            await self.runner.check("memory vectors", VECTOR_SECONDS, self._vectors, late)

    async def _vectors(self) -> str:
        if self.config.vectors == "embedded":
            await self.parts.keys.in_thread(lambda: _file_there(self.models))
        try:
            embedder = await embedder_of(self.config, self.parts)
        except KeyReferenceError as error:
            raise Problem(f"{error} (memory.vectors_key)") from error
        assert embedder is not None
        try:
            vectors = await embedder.embed(_TEXTS)
        except LLMError as error:
            raise Problem(_explain(error)) from error
        finally:
            await embedder.stop()
        return _judge(embedder, vectors)


def _file_there(models: Path) -> str:
    """Check that the embedded model can run. Blocks. Raises Problem, or Unclear when it must be fetched first."""
    if find_spec("xllamacpp") is None:
        raise Problem(
            "the embedded model of vectors needs a package that is not here: pip install 'mud-assistant[embedded]', "
            "or set memory.vectors to another"
        )
    path = models / MINILM.file_name
    if not path.is_file() or path.stat().st_size != MINILM.size_bytes:
        raise Unclear(
            f"the first memory fetches {MINILM.name} ({MINILM.cost}; {MINILM.size_bytes // 1_000_000} MB stay)"
        )
    return ""


def _judge(embedder: Embedder, vectors: list[Vector]) -> str:
    """Say how many numbers a vector has. Raises Unclear when the model does not tell alike from unlike."""
    alike, unlike = _product(vectors[0], vectors[1]), _product(vectors[0], vectors[2])
    if alike <= unlike:
        raise Unclear(f"{embedder.model} answers, and does not tell alike from unlike: see memory.vectors_model")
    return f"{embedder.model} makes vectors of {embedder.dimensions} numbers"


def _product(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _explain(error: LLMError) -> str:
    """Say in one sentence what went wrong and which setting to see."""
    match error:
        case BadCredential():
            return f"{error}; see memory.vectors_key"
        case ModelNotFound():
            return f"{error}; see memory.vectors_model"
        case Unavailable():
            return f"{error}; start its server, or see memory.vectors_url"
        case _:
            return f"{error}; see memory.vectors_url and memory.vectors_model"
