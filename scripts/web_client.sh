#!/usr/bin/env bash
# Fetches the scripts that the page of Evennia's web client takes from other servers, as the lock file beside them pins
# them, for the tests that open that page. Without npm those tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/../tests/evennia/live/webclient"
[ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
if ! command -v npm >/dev/null; then
    echo "npm is not installed: the tests of the web client are skipped."
    exit 0
fi
npm ci --silent --ignore-scripts --no-audit --no-fund || echo "Cannot fetch the web client's scripts: tests are skipped."
