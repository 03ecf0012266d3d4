"""Imported first: our packages and our tests are found, from wherever a benchmark is started."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

sys.path[:0] = [str(ROOT)]
