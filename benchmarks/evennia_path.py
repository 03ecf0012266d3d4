"""Imported first: our packages are found, and `tests` is ours. A dependency of Evennia installs one of that name."""

import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]

sys.path[:0] = [str(ROOT)]
_ours = ModuleType("tests")
_ours.__path__ = [str(ROOT / "tests")]
sys.modules["tests"] = _ours
