"""Builds the docs as a static site: `make site`. A warning, or a thing fetched from another host, is an error."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from scripts.recording.asciicast import load
from scripts.recording.drawing import drawn
from scripts.site.hosts import fetched_from_other_hosts
from scripts.site.staging import LinkError, Staging

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


def main() -> int:
    """Build the site and return the exit status."""
    parser = argparse.ArgumentParser(prog="make site", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build/site", help="where the site goes")
    parser.add_argument("--repository", default="", help="address of the repository, for links to source files")
    arguments = parser.parse_args()
    staged, output = ROOT / "build/site-pages", arguments.output
    try:
        count = Staging(ROOT, staged, arguments.repository).fill()
    except LinkError as error:
        print(error, file=sys.stderr)
        return 1
    pictures = ROOT / "docs/pictures"
    if drawn(load(pictures / "two-minutes.cast")) != (pictures / "two-minutes.svg").read_text():
        print("The recording was not drawn anew: make recording", file=sys.stderr)
        return 1
    shutil.rmtree(output, ignore_errors=True)
    # -n: each reference must be found; -W: warnings are errors; -E: nothing is kept from the build before.
    options = ["-q", "-n", "-W", "-E", "-c", str(HERE), "-d", str(ROOT / "build/site-doctrees")]
    if status := build_main(["-b", "html", *options, str(staged), str(output)]):
        return status
    shutil.rmtree(output / "_sources", ignore_errors=True)
    (output / ".buildinfo").unlink(missing_ok=True)
    if foreign := list(fetched_from_other_hosts(output)):
        print("These would be fetched from another host:", *foreign, sep="\n", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    print(f"{count} pages, {size / 1e6:.1f} MB, 0 warnings, nothing from another host: {output / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
