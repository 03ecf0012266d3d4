#!/usr/bin/env bash
# Prints a Python of 3.12 or 3.13, which Evennia 6 needs, when PYTHON is older; nothing when there is none, or none is needed.
# usage: newer_python.sh PYTHON
set -euo pipefail
is_newer() { "$1" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }
is_newer "$1" && exit 0
for candidate in python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[23].*/bin/python; do
    if is_newer "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done
