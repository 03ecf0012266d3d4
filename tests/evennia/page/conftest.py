"""Leaves the folder out where Evennia is not installed."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("evennia") is not None else ["test_*.py"]
