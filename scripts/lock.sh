#!/usr/bin/env bash
# Renews the five lock files: pinned versions with hashes, for every platform, and no addresses. Needs uv.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-header "$@"
}
build=$(mktemp) oldest=$(mktemp)
trap 'rm -f "$build" "$oldest"' EXIT
echo 'setuptools>=77' >"$build" # pyproject's build system, installed beside the rest: no download while building
compile pyproject.toml "$build" --extra embedded --extra web -o requirements.lock
compile pyproject.toml "$build" --extra embedded --extra web --extra metrics --extra otel --extra dev -c requirements.lock -o requirements-dev.lock
echo 'twisted==24.11.0' >"$oldest"
compile pyproject.toml "$build" --extra embedded --extra web --extra evennia --extra metrics --extra otel --extra dev -c "$oldest" -o requirements-oldest.lock
compile pyproject.toml "$build" --extra embedded --extra web --extra evennia -c requirements-oldest.lock -o requirements-game.lock
compile pyproject.toml "$build" benchmarks/requirements-peers.in -c requirements.lock -o benchmarks/requirements-peers.txt
# treq asks for `twisted[tls]`, which pip before 23.3 takes for another package than a pinned `twisted`.
sed -i 's/^twisted==/twisted[tls]==/' requirements*.lock benchmarks/requirements-peers.txt
