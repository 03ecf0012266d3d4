#!/usr/bin/env bash
# Builds the image of deploy/Containerfile with buildah, podman or docker, whichever is there. Needs no daemon with the
# first two, and as root no user namespaces.
# usage: image.sh [TAG]    what comes from the environment, all of it optional:
#   BASE      the image that it is built on, such as docker.io/library/python:3.13-slim@sha256:...; "debian" makes one
#             of Debian's packages (scripts/image_base.sh), for where no registry can be reached
#   LOCK      requirements-game.lock for an image with Evennia in it
#   BUILDER   the program that builds
#   PIP_CONF, PIP_CERT    a pip.conf and an authority's certificate, where the package index is a mirror of your own
#   STORAGE, ISOLATION    buildah's --storage-driver and --isolation, such as vfs and chroot inside a container
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${1:-mud-assistant}

builder=${BUILDER:-}
for candidate in buildah podman docker; do
    [ -n "$builder" ] || ! command -v "$candidate" >/dev/null || builder=$candidate
done
if [ -z "$builder" ]; then
    echo "An image is built by buildah, podman or docker, and none is here: apt-get install buildah" >&2
    exit 1
fi

global=() options=(--file deploy/Containerfile --tag "$tag")
if [[ $builder = *buildah || $builder = *podman ]]; then
    [ -z "${STORAGE:-}" ] || global+=(--storage-driver "$STORAGE")
    [ -z "${ISOLATION:-}" ] || options+=(--isolation "$ISOLATION")
    # OCI's own format has no place for a health check. The same files get the same times, and so the same layers.
    options+=(--format docker --timestamp "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")
fi
base=${BASE:-}
if [ "$base" = debian ]; then
    base=localhost/mud-assistant-base
    BUILDER=$builder scripts/image_base.sh "$base"
fi
[ -z "$base" ] || options+=(--build-arg "BASE=$base")
[ -z "${LOCK:-}" ] || options+=(--build-arg "LOCK=$LOCK")
[ -z "${PIP_CONF:-}" ] || options+=(--secret "id=pip_conf,src=$PIP_CONF")
[ -z "${PIP_CERT:-}" ] || options+=(--secret "id=pip_cert,src=$PIP_CERT")

field() { sed -n "s/^$1 = \"\(.*\)\"$/\1/p" pyproject.toml | head -1; }
options+=(--build-arg "VERSION=$(field version)" --build-arg "SOURCE=$(field Source)")
options+=(--build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)")
"$builder" "${global[@]}" build "${options[@]}" .
echo "Built $tag. docs/running.md says how to run it."
