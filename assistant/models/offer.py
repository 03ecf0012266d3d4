"""Chooses between the local models that can be fetched when the owner names none, and words the choice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from llm.embedded.fetching.models import DEFAULT_MODEL, QWEN_CODER_BETTER, ModelFile, default_data_dir, pinned_path
from llm.embedded.machine import BETTER_BYTES, BETTER_CORES, FAST_CORES, Machine, measure_machine

_GB = 1_000_000_000
SMALL, BETTER = "small", "better"


def hint() -> str:
    """Return one line for an owner who was not asked: there is a better model, and this is what it needs."""
    return (
        f"A better local model exists: --model {BETTER} ({QWEN_CODER_BETTER.cost}; it wants "
        f"{BETTER_BYTES // _GB} GB of free memory and {BETTER_CORES} processors, or {FAST_CORES} fast ones)."
    )


def question(machine: Machine) -> str:
    """Return the text shown before the owner chooses, on a machine that can run both models."""
    memory = f"{(machine.free_bytes or 0) / _GB:.0f} GB of memory are free"
    return (
        "No local model is here yet. One is fetched once and kept:\n"
        f"  {SMALL:<6}  {DEFAULT_MODEL.name}: {DEFAULT_MODEL.cost}\n"
        f"  {BETTER:<6}  {QWEN_CODER_BETTER.name}: {QWEN_CODER_BETTER.cost}; it talks much better, and\n"
        f"          should answer in about 3 s or less here ({memory}, {machine.cores} processors)"
    )


def there(folder: Path | None = None) -> list[str]:
    """Return the names of the models that are in the data folder, the small one first. Blocks."""
    files = {SMALL: DEFAULT_MODEL, BETTER: QWEN_CODER_BETTER}
    return [name for name, model in files.items() if _is_whole(model, folder or default_data_dir())]


def needed(now: Callable[[], float]) -> tuple[list[str], Machine | None]:
    """Return the models that are there, and the measured machine when there are none and a choice is needed. Blocks."""
    names = there()
    return names, None if names else measure_machine(now)


def kept(names: list[str]) -> Path | None:
    """Return the model file for an owner who names no model.

    None, for the small model, unless the better model is the only one in the data folder.
    """
    return pinned_path(BETTER) if names == [BETTER] else None


def _is_whole(model: ModelFile, folder: Path) -> bool:
    try:
        return (folder / model.file_name).stat().st_size == model.size_bytes
    except OSError:
        return False
