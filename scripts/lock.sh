#!/usr/bin/env bash
# Renews the lock files: pinned versions with hashes, for every platform, and no addresses. Needs uv and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() {
    explained --no-annotate "$@"
}
# With who asks for each package: the release's bill of materials is made of it (scripts/release/sbom.py).
explained() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header "$@"
}
build=$(mktemp) oldest=$(mktemp) node=$(mktemp -d)
trap 'rm -rf "$build" "$oldest" "$node"' EXIT
echo 'setuptools>=77' >"$build" # pyproject's build system, installed beside the rest: no download while building
compile pyproject.toml "$build" --extra embedded --extra web -o requirements.lock
compile pyproject.toml "$build" --extra embedded --extra web --extra metrics --extra otel --extra dev -c requirements.lock -o requirements-dev.lock
echo 'twisted==24.11.0' >"$oldest"
compile pyproject.toml "$build" --extra embedded --extra web --extra evennia --extra metrics --extra otel --extra dev -c "$oldest" -o requirements-oldest.lock
explained pyproject.toml - --extra embedded --extra web --extra evennia --extra metrics --extra postgres -c requirements-oldest.lock -o requirements-game.lock <"$build"
compile scripts/release/requirements.in "$build" -c requirements-dev.lock -o scripts/release/requirements.txt
# Every extra that can be installed beside the newest Twisted; Evennia is in requirements-game.lock.
explained pyproject.toml - --extra embedded --extra web --extra keyring --extra metrics --extra otel --extra postgres \
    --extra tokens -c requirements-dev.lock -c scripts/release/requirements.txt -o requirements-extras.lock <"$build"
compile pyproject.toml "$build" benchmarks/requirements-peers.in -c requirements.lock -o benchmarks/requirements-peers.txt
# treq asks for `twisted[tls]`, which pip before 23.3 takes for another package than a pinned `twisted`.
sed -i 's/^twisted==/twisted[tls]==/' requirements*.lock benchmarks/requirements-peers.txt
compile tests/clients/requirements.in -o tests/clients/requirements.txt
compile tests/clients/requirements-aider.in -o tests/clients/requirements-aider.txt
compile scripts/uv.in -o scripts/uv.txt
compile scripts/site/requirements.in -o scripts/site/requirements.txt
games=tests/assistant/worlds/telnet/live
compile $games/mudpy/requirements.in -o $games/mudpy/requirements.txt
for folder in tests/clients/node $games/ranvier; do
# In an empty folder: npm leaves out what is not installed where something is.
rm -rf "${node:?}"/*
cp $folder/package.json "$node"
(cd "$node" && npm install --package-lock-only --no-audit --no-fund)
# Where a package was found, and who takes donations for it, is not ours to pin.
node --input-type=module - "$node/package-lock.json" $folder/package-lock.json <<'END'
import { readFileSync, writeFileSync } from "node:fs";
const [from, to] = process.argv.slice(2);
const lock = JSON.parse(readFileSync(from, "utf8"));
for (const entry of Object.values(lock.packages)) for (const field of ["resolved", "funding"]) delete entry[field];
lock.name = lock.packages[""].name;
writeFileSync(to, `${JSON.stringify(lock, null, 2)}\n`);
END
done
