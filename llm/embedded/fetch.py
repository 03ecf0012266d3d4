"""The child process that fetches the model file: `python -m mud_assistant.llm.embedded.fetch`.

It tries the sources in order and writes JSON lines on stdout: progress, notes, and at the end `{"model": PATH}`, or
`{"error": SENTENCE}` with exit status 1. SIGTERM ends it at once; what it has fetched is kept for the next time.
"""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from types import FrameType

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.convert import MINILM, MINILM_NAME
from mud_assistant.llm.embedded.fetching.hub_file import Hub, fetch_hub_file
from mud_assistant.llm.embedded.fetching.hub_name import HubName, parse_hub_name
from mud_assistant.llm.embedded.fetching.models import DEFAULT_MODEL, MODELS, ModelFile, default_data_dir
from mud_assistant.llm.embedded.fetching.opener import Opener, https_opener
from mud_assistant.llm.embedded.fetching.parts import fetch_parts
from mud_assistant.llm.embedded.fetching.store import ModelStore
from mud_assistant.llm.embedded.fetching.upstream import fetch_upstream
from mud_assistant.llm.embedded.progress import Reporter
from mud_assistant.resilience.child import die_with_parent, when_parent_goes

SOURCES_VARIABLE = "MUD_ASSISTANT_MODEL_SOURCES"
DEFAULT_SOURCES = "file,upstream,parts"
_KNOWN = {**MODELS, MINILM_NAME: MINILM}
#: How far a fetch behind something else gives way to it; 19 is the most.
_GENTLY = 19


def source_order(text: str) -> tuple[str, ...]:
    """Return the sources named in a comma list. Raises SourceFailed when one of them is not a source."""
    order = tuple(name.strip() for name in text.split(",") if name.strip())
    known = DEFAULT_SOURCES.split(",")
    unknown = [name for name in order if name not in known]
    if unknown or not order:
        raise SourceFailed(f"{SOURCES_VARIABLE} must name some of {', '.join(known)}, in the order to try them")
    return order


def fetch(store: ModelStore, order: Sequence[str], environment: Mapping[str, str], opener: Opener) -> Path:
    """Return the path of the trusted model file, fetching it if needed. Only one process fetches at a time.

    Raises SourceFailed when no source has the file.
    """
    ways: dict[str, Callable[[], None]] = {
        "file": partial(_require_file, store),
        "upstream": partial(fetch_upstream, store, opener),
        "parts": partial(fetch_parts, store, environment),
    }
    order = [name for name in order if name != "upstream" or store.model.upstream_url]
    reasons: list[str] = []
    announced = False
    with store.locked():
        for number, name in enumerate(order, 1):
            if name != "file" and not announced:
                announced = True
                store.report.note(f"fetching {store.model.name}, once: {store.model.cost}")
            try:
                ways[name]()
            except (SourceFailed, OSError) as error:
                reasons.append(f"{name}: {_reason(error)}")
            else:
                return store.path
            if name != "file" and number < len(order):
                store.report.note(f"{reasons[-1]}; trying {order[number]}")
    size = store.model.size_bytes // 1_000_000
    raise SourceFailed(
        f"the model file ({size} MB) could not be had ({'; '.join(reasons)}); "
        f"check the connection and the disk and start again, what has come is kept",
    )


def _require_file(store: ModelStore) -> None:
    """Check that the file in the folder is the pinned one. Raises SourceFailed when it is not."""
    if not store.is_trusted():
        there = store.path.exists()
        raise SourceFailed(f"{store.path.name} is {'not the pinned file' if there else 'not there yet'}")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


def _end(number: int, _frame: FrameType | None) -> None:
    # Raised in the main thread, so that a running pip is ended on the way out.
    raise SystemExit(128 + number)


def _end_with_parent() -> None:
    """Make sure that this process ends, and ends pip, when its parent is gone."""
    die_with_parent(signal.SIGTERM)
    when_parent_goes(lambda: os.kill(os.getpid(), signal.SIGTERM))


def _model(name: str) -> ModelFile | HubName:
    """Return the model of this name. argparse explains what it must be when there is none."""
    if name in _KNOWN:
        return _KNOWN[name]
    try:
        return parse_hub_name(name)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; or choose one of: {', '.join(_KNOWN)}") from error


def _fetched(model: ModelFile | HubName, data_dir: Path, report: Reporter) -> Path:
    """Return the path of the model's file, fetching it if needed. Raises SourceFailed and OSError."""
    if isinstance(model, HubName):
        return fetch_hub_file(model, data_dir, report, Hub.of(os.environ, https_opener(loopback=True)))
    order = source_order(os.environ.get(SOURCES_VARIABLE) or DEFAULT_SOURCES)
    return fetch(ModelStore(data_dir, model, report), order, os.environ, https_opener())


def main(arguments: Sequence[str]) -> int:
    """Fetch the model file. Return the exit status: 0 when the file is there, 1 when it could not be fetched."""
    parser = ArgumentParser(
        prog="python -m mud_assistant.llm.embedded.fetch", description="Fetch the pinned local model."
    )
    parser.add_argument("--data-dir", type=Path, default=default_data_dir(), help="folder that holds model files")
    parser.add_argument(
        "--model-name", type=_model, default=DEFAULT_MODEL, help=f"{', '.join(_KNOWN)}, or hf:OWNER/REPO:QUANT"
    )
    parser.add_argument("--gently", action="store_true", help="at the lowest priority, behind something else")
    parser.add_argument("--end-with-stdin", action="store_true", help="end when stdin is closed (set by a parent)")
    options = parser.parse_args(arguments)
    if options.gently and hasattr(os, "nice"):
        os.nice(_GENTLY)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    if options.end_with_stdin:
        _end_with_parent()
    report = Reporter(sys.stdout, perf_counter)
    try:
        report.model(str(_fetched(options.model_name, options.data_dir, report)))
    except (SourceFailed, OSError) as error:
        report.error(_reason(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
