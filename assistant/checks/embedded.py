"""Checks whether the embedded model can be started, without fetching or loading it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from assistant.checks.finding import Problem, Unclear
from llm.embedded.fetching.models import DEFAULT_MODEL, MODELS
from llm.embedded.machine import free_bytes

_MB = 1_000_000


def runs_here() -> str:
    """Check that the package that runs the embedded model is installed. Raises Trouble."""
    if find_spec("xllamacpp") is None:
        raise Problem(
            "the embedded model needs a package that is not here: pip install 'mud-assistant[embedded]', "
            "or set model.provider to another"
        )
    return "the embedded model can run here"


def file_there(chosen: str, folder: Path) -> str:
    """Check that the model's file and enough memory are there. Blocks.

    Raises Trouble, or Unclear when the first start would fetch the file.
    """
    if chosen and chosen not in MODELS:
        path = Path(chosen)
        if not path.is_file():
            raise Problem(f"there is no model file {path}: give the path of a GGUF file in model.model")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise Problem(f"{path} is no GGUF file: give another in model.model")
        return f"{path} is a model file"
    model = MODELS.get(chosen, DEFAULT_MODEL)
    path, need, free = folder / model.file_name, model.size_bytes * 5 // 4, free_bytes()
    if free is not None and free < need:
        raise Problem(
            f"{model.name} needs about {need // _MB} MB of memory and {free // _MB} MB are free: "
            "end other programs, or set model.model to a smaller one"
        )
    if not path.is_file() or path.stat().st_size != model.size_bytes:
        raise Unclear(f"the first start fetches {model.name} ({model.cost})")
    return f"{model.name} is there"
