"""Looks at the embedded model: whether it is there and fits, and whether a better one is there or on its way.

Nothing is fetched and nothing loaded for it. A file of a hub that is not here is asked for by name and size.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import Problem, Unclear
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.keys.reference import KeySources
from mud_assistant.assistant.models.offer import in_the_way, is_there, usual_model
from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.convert import MINILM, MINILM_NAME
from mud_assistant.llm.embedded.fetching.hub_file import Hub, kept_file
from mud_assistant.llm.embedded.fetching.hub_name import is_hub_name, parse_hub_name
from mud_assistant.llm.embedded.fetching.models import DEFAULT_MODEL, MODELS, QWEN_CODER_BETTER, ModelFile
from mud_assistant.llm.embedded.fetching.opener import https_opener
from mud_assistant.llm.embedded.fetching.store import arrived_bytes, is_being_fetched
from mud_assistant.llm.embedded.machine import free_bytes

#: How long a hub has to answer, in seconds.
HUB_SECONDS = 30.0
_SECONDS = 10.0
_MB = 1_000_000


async def check_local_model(
    place: str, config: ModelConfig, keys: KeySources, models: Path, runner: CheckRunner
) -> None:
    """Run the checks of an embedded model. `models` is the folder of the files that were fetched."""

    async def package() -> str:
        return runs_here()

    async def file() -> str:
        return await keys.in_thread(partial(file_there, config.model, models, keys.environment))

    async def better() -> str:
        return await keys.in_thread(partial(_on_its_way, QWEN_CODER_BETTER, "better", models))

    async def vectors() -> str:
        return await keys.in_thread(partial(_on_its_way, MINILM, MINILM_NAME, models))

    await runner.check(f"{place} package", _SECONDS, package)
    await runner.check(f"{place} file", HUB_SECONDS if is_hub_name(config.model) else _SECONDS, file)
    if not config.model:
        await runner.check(f"{place} better", _SECONDS, better)
    await runner.check(f"{place} vectors", _SECONDS, vectors)


def runs_here() -> str:
    """Check that the package that runs the embedded model is installed. Raises Problem."""
    if find_spec("xllamacpp") is None:
        raise Problem(
            "the embedded model needs a package that is not here: pip install 'mud-assistant[embedded]', "
            "or set model.provider to another"
        )
    return "the embedded model can run here"


def file_there(chosen: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Check that the model's file and enough memory are there. Blocks.

    Raises Problem, or Unclear when the first start would fetch the file.
    """
    if is_hub_name(chosen):
        return _of_hub(chosen, folder, environment)
    if chosen and chosen not in MODELS:
        path = Path(chosen)
        if not path.is_file():
            raise Problem(f"there is no model file {path}: give the path of a GGUF file in model.model")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise Problem(f"{path} is no GGUF file: give another in model.model")
        return f"{path} is a model file"
    model = MODELS.get(chosen or usual_model(), DEFAULT_MODEL)
    _require_memory(model.name, model.size_bytes)
    if not is_there(model, folder):
        raise Unclear(f"the first start fetches {model.name} ({model.cost})")
    return f"{model.name} is there{'' if chosen else ', and the one that is used'}"


def _of_hub(chosen: str, folder: Path, environment: Mapping[str, str]) -> str:
    try:
        name = parse_hub_name(chosen)
        if (path := kept_file(name, folder)) is not None:
            _require_memory(chosen, path.stat().st_size)
            return f"{path.name} of {name.repository} is there"
        found = Hub.of(environment, https_opener(loopback=True)).find(name)
    except (ValueError, SourceFailed) as error:
        raise Problem(f"{error}: see model.model") from error
    _require_memory(chosen, found.size_bytes)
    raise Unclear(f"the first start fetches {found.path} of {name.repository} ({found.cost}); {found.under_licence}")


def _require_memory(name: str, size_bytes: int) -> None:
    free, need = free_bytes(), size_bytes * 5 // 4
    if free is not None and free < need:
        raise Problem(
            f"{name} needs about {need // _MB} MB of memory and {free // _MB} MB are free: "
            "end other programs, or set model.model to a smaller one"
        )


def _on_its_way(model: ModelFile, name: str, folder: Path) -> str:
    """Say whether a file that makes the talk better is here. Raises Unclear when it is not. Blocks."""
    if is_there(model, folder):
        return f"{model.name} is there"
    arrived = arrived_bytes(model, folder) // _MB
    if is_being_fetched(model, folder):
        raise Unclear(
            f"{model.name} is being fetched: {arrived_bytes(model, folder) // _MB} MB are here ({model.cost})"
        )
    by_hand = f"by hand: python -m mud_assistant.llm.embedded.fetch --model-name {name}"
    begun = f"{arrived} MB are here, " if (arrived := arrived_bytes(model, folder) // _MB) else ""
    if why := in_the_way(model, folder):
        raise Unclear(f"{model.name} is not there, and is not fetched by itself: {why}; {begun}{by_hand}")
    raise Unclear(f"{model.name} is not there; a trial at a terminal and the demo game fetch it; {begun}{by_hand}")
