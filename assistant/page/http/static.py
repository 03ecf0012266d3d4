"""Style sheets, scripts and pictures from a fixed table, made once at start. No path is ever joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath

from msgspec import Struct

from mud_assistant.assistant.page.http.call import Reply

#: The types of what may be served. Another ending is a mistake of ours.
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_HASH_CHARS = 16
FOLDER = "static"


class StaticFile(Struct, frozen=True):
    """A file as it is served. `tag` is its ETag."""

    body: bytes
    content_type: str
    tag: str

    def reply(self, known: str) -> Reply:
        """Return the file, or 304 when `known` (an If-None-Match) names it."""
        headers = (("Cache-Control", _FOR_EVER), ("ETag", self.tag))
        if self.tag in (each.strip().removeprefix("W/") for each in known.split(",")):
            return Reply(status=304, headers=headers)
        return Reply(self.body, content_type=self.content_type, headers=headers)


class StaticTable:
    """Files by the name under which they are served, which holds a hash of the content: `page-0123456789abcdef.css`."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Take the contents by plain names such as `page.css`. Raises ValueError for an ending that is not served."""
        self._files: dict[str, StaticFile] = {}
        self._served_as: dict[str, str] = {}
        for name, body in files.items():
            plain = PurePosixPath(name)
            if plain.name != name or plain.suffix not in _TYPES:
                raise ValueError(f"not a name of a file to serve: {name}")
            digest = sha256(body).hexdigest()[:_HASH_CHARS]
            served = f"{plain.stem}-{digest}{plain.suffix}"
            self._served_as[name] = served
            self._files[served] = StaticFile(body, _TYPES[plain.suffix], f'"{digest}"')

    def __iter__(self) -> Iterator[str]:
        """Iterate over the paths that are served."""
        return (f"/{FOLDER}/{name}" for name in self._files)

    def path(self, name: str) -> str:
        """Return the path of a file below the page's prefix, by its plain name. Raises KeyError."""
        return f"/{FOLDER}/{self._served_as[name]}"

    def find(self, parts: tuple[str, ...]) -> StaticFile | None:
        """Return the file of a path's parts, None where there is none."""
        return self._files.get(parts[1]) if len(parts) == 2 and parts[0] == FOLDER else None  # noqa: PLR2004
