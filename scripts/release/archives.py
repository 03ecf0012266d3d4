"""Writes sdists and wheels so that the same files give the same bytes: sorted, of nobody, all of one date.

What setuptools writes carries the modes that the builder's umask left, the names and numbers of the builder, and the
times of the builder's files. Compression is Python's zlib: another zlib gives other bytes for the same files.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

#: The oldest time a zip file can hold: 1 January 1980, in seconds since 1970.
OLDEST = 315_532_800
_MODE, _PROGRAM_MODE = 0o644, 0o755
#: In the upper half of a zip member's attributes: a regular file of Unix.
_REGULAR = 0o100000
_UNIX = 3


def rewrite_sdist(path: Path, epoch: int) -> None:
    """Rewrite a `.tar.gz` in place, dated `epoch` (seconds since 1970). Raises ValueError for a link or a device."""
    packed = io.BytesIO()
    with tarfile.open(path) as source, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target:
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            if not (member.isfile() or member.isdir()):
                raise ValueError(f"{path.name} holds {member.name}, which is neither a file nor a folder")
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mtime = member.type, member.size, epoch
            plain.mode = _PROGRAM_MODE if member.isdir() or member.mode & 0o100 else _MODE
            target.addfile(plain, source.extractfile(member))
    # The header of a gzip holds a time and the name of what was packed: none is given.
    with path.open("wb") as file, gzip.GzipFile("", "wb", compresslevel=9, fileobj=file, mtime=0) as zipped:
        zipped.write(packed.getvalue())


def rewrite_wheel(path: Path, epoch: int, more: Mapping[str, bytes]) -> None:
    """Rewrite a wheel in place, dated `epoch` (seconds since 1970), the files of `more` added to its `.dist-info`."""
    with zipfile.ZipFile(path) as source:
        files = {info.filename: source.read(info) for info in source.infolist() if not info.is_dir()}
    [record] = (name for name in files if name.endswith(".dist-info/RECORD"))
    folder = record.removesuffix("RECORD")
    del files[record]
    files |= {f"{folder}{name}": content for name, content in more.items()}
    # As the wheel's specification recommends, the metadata stand last, and RECORD behind them.
    order = sorted(files, key=lambda name: (name.startswith(folder), name))
    lines = [f"{name},sha256={_digest(files[name])},{len(files[name])}\n" for name in order]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for name in [*order, record]:
            target.writestr(_member(name, epoch), files[name])


def sha256sums(paths: list[Path]) -> str:
    """Return the lines that `sha256sum --check` reads, one a file. Blocks."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(paths))


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _member(name: str, epoch: int) -> zipfile.ZipInfo:
    year, month, day, hour, minute, second, *_ = time.gmtime(max(epoch, OLDEST))
    info = zipfile.ZipInfo(name, (year, month, day, hour, minute, second))
    info.create_system, info.external_attr = _UNIX, (_REGULAR | _MODE) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info
