#!/usr/bin/env bash
# Makes a base image of Debian's packages with debootstrap: Python, certificates and what they need. For where no
# registry can be reached; as root.
# usage: image_base.sh TAG    from the environment: SUITE (bookworm), MIRROR, BUILDER and STORAGE as for image.sh
set -euo pipefail
tag=$1 suite=${SUITE:-bookworm} builder=${BUILDER:-buildah} global=()
[ -z "${STORAGE:-}" ] || global+=(--storage-driver "$STORAGE")
if ! command -v debootstrap >/dev/null || [[ $builder != *buildah ]]; then
    echo "A base image is made by debootstrap and buildah: apt-get install debootstrap buildah" >&2
    exit 1
fi
if "$builder" "${global[@]}" inspect --type image "$tag" >/dev/null 2>&1; then
    echo "$tag is here already; make it anew after: $builder ${global[*]} rmi $tag"
    exit 0
fi
folder=$(mktemp -d) container=
clean() {
    rm -rf --one-file-system "$folder"
    [ -z "$container" ] || "$builder" "${global[@]}" rm "$container" >/dev/null
}
trap clean EXIT
root=$folder/root
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates,libgomp1,libstdc++6 \
    "$suite" "$root" ${MIRROR:+"$MIRROR"} >"$folder/log" || { tail -5 "$folder/log" >&2; exit 1; }
# Licences stay; manuals, translations and what apt has fetched go.
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/var/cache/debconf/*-old \
    "$root"/usr/share/man "$root"/usr/share/info "$root"/usr/share/locale/* "${root:?}"/dev/*
find "$root/usr/share/doc" -type f ! -name copyright -delete
container=$("$builder" "${global[@]}" from scratch)
"$builder" "${global[@]}" add --quiet "$container" "$root" / >/dev/null
"$builder" "${global[@]}" config --cmd /bin/sh --env PATH=/usr/bin:/bin "$container"
"$builder" "${global[@]}" commit --quiet --format docker "$container" "$tag" >/dev/null
echo "Made $tag of Debian $suite."
