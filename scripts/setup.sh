#!/usr/bin/env bash
# Makes a virtual environment with exactly the packages of a lock file, and this project in it, in place; with --alone
# without this project. A lock file names every package, so none is looked for beyond it (--no-deps): a release made
# since, of a package that is asked for with an extra, would be taken for one that is not pinned.
# uv does it in a tenth of the time: the one on the path, or the one that make fetched. pip does what uv cannot.
# usage: setup.sh PYTHON FOLDER LOCK [--alone]
set -euo pipefail
python=$1 folder=$2 lock=$3 alone=${4:-}
uv=$(command -v uv || echo .venv-uv/bin/uv)

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "mud-assistant needs Python 3.11 or later; $python is $("$python" --version 2>&1 || echo 'not there')." >&2
    echo "Name another one with: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
fi

with_uv() {
    [ -x "$folder/bin/python" ] || "$uv" venv --quiet --seed --python "$python" "$folder" || return
    "$uv" pip install --quiet --python "$folder/bin/python" --no-deps --require-hashes -r "$lock" || return
    [ -n "$alone" ] || "$uv" pip install --quiet --python "$folder/bin/python" --no-deps --no-build-isolation -e .
}

with_pip() {
    [ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --no-deps --require-hashes -r "$lock"
    [ -n "$alone" ] || "$folder/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e .
}

echo "Setting up $folder from $lock ..."
if [ -x "$uv" ]; then
    with_uv && exit
    echo "uv cannot set it up; pip tries now."
fi
with_pip
