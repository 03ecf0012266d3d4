#!/usr/bin/env bash
# Fetches the games that the tests play over telnet, as the lock files beside them pin them: mudpy from PyPI, from its
# source, since its wheel has neither world nor menus, and Ranvier's engine from npm. Tests of a game that is not here
# are skipped.
# usage: telnet_games.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
games=tests/assistant/worlds/telnet/live mudpy=.venv-mudpy
lock=$games/mudpy/requirements.txt

fetch_mudpy() {
    scripts/setup.sh "$1" $mudpy "$lock" --alone
    rm -rf $mudpy/source
    $mudpy/bin/python -m pip download --quiet --no-deps --require-hashes --no-binary mudpy --no-build-isolation \
        --dest $mudpy/source -r "$lock"
    tar -xzf $mudpy/source/mudpy-*.tar.gz -C $mudpy/source --strip-components=1
}
if ! [ $mudpy/.fetched -nt "$lock" ]; then
    if (fetch_mudpy "$1"); then touch $mudpy/.fetched; else echo "Cannot fetch mudpy: its tests are skipped."; fi
fi

cd $games/ranvier
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
if ! command -v npm >/dev/null; then
    echo "npm is not installed: the tests of a game on Ranvier are skipped."
    exit 0
fi
npm ci --silent --ignore-scripts --no-audit --no-fund || echo "Cannot fetch Ranvier's engine: its tests are skipped."
