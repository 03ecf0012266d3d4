#!/usr/bin/env bash
# Installs the Debian packages that some tests need, where this is Debian and we are root. Elsewhere those tests skip.
# usage: debian.sh PROGRAM=PACKAGE ...    a PROGRAM is a command, or a file when it begins with a slash
set -euo pipefail
missing=()
for pair in "$@"; do
    program=${pair%%=*}
    [[ $program = /* && -e $program ]] || command -v "$program" >/dev/null || missing+=("${pair#*=}")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Not installed: ${missing[*]}. The tests that need them are skipped."
    exit 0
fi
echo "Installing for the tests: ${missing[*]} ..."
export DEBIAN_FRONTEND=noninteractive
# Debian's PostgreSQL makes a server of its own and starts it when it is installed; tests only need its programs.
settings=/etc/postgresql-common/createcluster.d
if [[ " ${missing[*]} " = *" postgresql "* ]]; then
    mkdir -p "$settings"
    echo 'create_main_cluster = false' >"$settings/mud-assistant-tests.conf"
    trap 'rm -f "$settings/mud-assistant-tests.conf"; rmdir --ignore-fail-on-non-empty "$settings" 2>/dev/null || true' EXIT
fi
install() { apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null; }
install 2>/dev/null || { apt-get update -qq && install; } || echo "Cannot install ${missing[*]}: tests are skipped."
