"""Draws the terminal recording of the README: `make recording`. With --record it plays a trial first."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from scripts.recording.asciicast import load
from scripts.recording.drawing import drawn, transcript
from scripts.recording.trial import record

ROOT = Path(__file__).parents[2]
CAST, PICTURE = ROOT / "docs/pictures/two-minutes.cast", ROOT / "docs/pictures/two-minutes.svg"
LINES = (
    "Hello Sage, where can I get something to eat?",
    "Do you know a riddle?",
    "Is it a candle?",
    "I have a brother, he is called Tam.",
    "What is my brother called?",
    "What do you know about me?",
)


def main() -> int:
    """Record if it is asked for, draw, and return the exit status."""
    parser = argparse.ArgumentParser(prog="make recording", description=__doc__)
    parser.add_argument("--record", action="store_true", help="play a trial first; it takes some minutes")
    parser.add_argument("--model", default="small", help="the embedded model of the trial (default: small)")
    arguments = parser.parse_args()
    if arguments.record:
        command = [str(ROOT / ".venv/bin/mud-assistant"), "trial", "--model", arguments.model]
        with tempfile.TemporaryDirectory() as folder:
            record(command, Path(folder), LINES).save(CAST)
    recording = load(CAST)
    PICTURE.write_text(drawn(recording))
    print(transcript(recording))
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1e3:.0f} kB, {recording.paced()[-1][0]:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
