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
# Some packages make a server of their own and start it when they are installed; tests only need the programs.
settings=/etc/postgresql-common/createcluster.d policy=/usr/sbin/policy-rc.d
mkdir -p "$settings"
echo 'create_main_cluster = false' >"$settings/mud-assistant-tests.conf"
[ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && ours=$policy; }
clean() {
    rm -f "$settings/mud-assistant-tests.conf" ${ours:+"$ours"}
    rmdir --ignore-fail-on-non-empty "$settings" /etc/postgresql-common 2>/dev/null || true
}
trap clean EXIT
install() { apt-get install -qq -y --no-install-recommends "$@" >/dev/null; }
install "${missing[@]}" 2>/dev/null && exit 0
apt-get update -qq || true
install "${missing[@]}" 2>/dev/null && exit 0
for one in "${missing[@]}"; do
    install "$one" || echo "Cannot install $one: the tests that need it are skipped."
done
