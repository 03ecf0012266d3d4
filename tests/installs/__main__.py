"""Installs the built wheel with each extra into an environment of its own, and tries it there: `make test-installs`.

The wheels come from a folder filled by the lock files; pip is told to look nowhere else. Prints a table; the exit
status is 1 when anything did not work. `--only NAME` tries one extra, `none` or `all`; `--keep FOLDER` leaves the
environments there.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from tests.installs.programs import Environment, fake_model
from tests.installs.trying import EXTRAS, TRIALS
from tests.installs.wheelhouse import fill, in_common
from tests.wheel import built

_PIP_SECONDS = 3600


@dataclass
class Row:
    """What came of one environment. `problems` has what did not work, by the name of what was tried."""

    environment: Environment
    seconds: float = 0.0
    packages: int = 0
    megabytes: int = 0
    problems: dict[str, str] = field(default_factory=dict)


def install(environment: Environment, wheel: Path, wheelhouse: Path) -> float:
    """Install the wheel with its extras, and return the seconds that took. Raises CalledProcessError."""
    began = time.perf_counter()
    venv.create(environment.folder / "venv", symlinks=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(environment.python),
        "install",
        "--isolated",
        "--quiet",
        "--no-compile",
    ]
    extras = f"[{','.join(environment.extras)}]" if environment.extras else ""
    subprocess.run(
        [*command, "--no-index", "--find-links", str(wheelhouse), f"{wheel}{extras}"],
        check=True, timeout=_PIP_SECONDS, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    environment.home.mkdir()
    return time.perf_counter() - began


def attempt(environment: Environment, wheel: Path, wheelhouse: Path) -> Row:
    """Return what came of an environment: installed, looked at, tried."""
    row = Row(environment, install(environment, wheel, wheelhouse))
    [site] = (environment.folder / "venv/lib").glob("python*/site-packages")
    row.packages = len(list(site.glob("*.dist-info")))
    row.megabytes = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) // 1_000_000
    ours = {name for name in _recorded(site) if not name.startswith(("mud_assistant/", "mud_assistant-"))}
    if ours - {"../../../bin/mud-assistant"}:
        row.problems["files"] = f"beside our package: {sorted(ours)}"
    with ExitStack() as stack:
        url = stack.enter_context(fake_model(environment))
        for name, trial in TRIALS.items():
            print(f"{environment.name}: {name}", file=sys.stderr, flush=True)
            try:
                trial(environment, url)
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                row.problems[name] = " ".join(str(error).split())[:600]
    print(line(row), *row.problems.values(), sep="\n", file=sys.stderr, flush=True)
    return row


def _recorded(site: Path) -> list[str]:
    """Return the files that pip recorded as ours."""
    [record] = site.glob("mud_assistant-*.dist-info/RECORD")
    return [line.split(",")[0] for line in record.read_text().splitlines()]


def line(row: Row) -> str:
    """Return the line of an environment in the table."""
    told = ("NO" if name in row.problems else "ok" for name in ("files", *TRIALS))
    first = f"| {row.environment.name} | {row.packages} | {row.megabytes} | {row.seconds:.0f} |"
    return f"{first} {' | '.join(told)} |"


def table(rows: Sequence[Row]) -> str:
    """Return the environments by line, a column for each thing that was tried, and what did not work below."""
    names = ["files", *TRIALS]
    lines = [f"| installed | packages | MB | seconds | {' | '.join(names)} |", "|---" * (len(names) + 4) + "|"]
    lines += map(line, rows)
    faults = [f"{row.environment.name}, {name}: {told}" for row in rows for name, told in row.problems.items()]
    return "\n".join([*lines, *faults])


def environments(only: str, folder: Path) -> list[Environment]:
    """Return those that the command line asks for: no extra, each alone, all."""
    choices = {"none": (), **{extra: (extra,) for extra in EXTRAS}, "all": EXTRAS}
    return [Environment(extras, folder / name) for name, extras in choices.items() if only in {"", name}]


def main() -> None:
    """Try what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="NAME", help="none, an extra, or all")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new folder that the environments are left in")
    options = parser.parse_args()
    # Where this was started in the background, Ctrl-C is ignored, and the programs that are tried would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(TemporaryDirectory(prefix="installs-")))
        wheelhouse = fill()
        wheel = built(folder / "wheel")
        shared = in_common(wheel)
        rows = [attempt(each, wheel, wheelhouse) for each in environments(options.only, folder.resolve())]
    print(table(rows))
    print(f"{len(ZipFile(wheel).namelist())} files of ours, {len(shared)} of them another package's too: {shared}")
    if shared or not rows or any(row.problems for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
