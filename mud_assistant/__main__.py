"""The command `mud-assistant`, as `python -m mud_assistant`."""

from __future__ import annotations

import sys

from mud_assistant.assistant.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
