"""Fetches a GGUF file of a hub: asks the hub which file is meant, and pins its SHA-256 when it is first used.

A hub answers as Hugging Face does. Its own SHA-256 of the file is checked where it tells one. A file that is here is
used without asking the hub again. This runs in a child process, so it may block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request

import msgspec

from mud_assistant.llm.embedded.errors import BadModelFile, SourceFailed
from mud_assistant.llm.embedded.fetching.hub_name import ADDRESS_VARIABLE, TOKEN_VARIABLE, USUAL_ADDRESS, HubName
from mud_assistant.llm.embedded.fetching.models import ModelFile, cost_of
from mud_assistant.llm.embedded.fetching.opener import HttpAnswer, Opener, is_safe, with_key
from mud_assistant.llm.embedded.fetching.store import ModelStore
from mud_assistant.llm.embedded.fetching.upstream import TIMEOUT_SECONDS, fetch_upstream
from mud_assistant.llm.embedded.gguf import CHAT_TEMPLATE, MAGIC, read_file_strings
from mud_assistant.llm.embedded.progress import Reporter

#: The largest file that is fetched, in bytes.
MAX_BYTES = 16_000_000_000
_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_PIN = "pin.json"
_SHOWN = 20
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SAFE_FILE = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._+ -]*/)*[A-Za-z0-9_][A-Za-z0-9._+ -]*\.gguf", re.IGNORECASE)
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_QUANT = re.compile(r"(?:^|[-._/])((?:UD-)?(?:I?Q\d[A-Z0-9_]*|BF16|F16|F32|MXFP4[A-Z0-9_]*))\.gguf$", re.IGNORECASE)
_GATED, _NO_REPOSITORY = "GatedRepo", "RepoNotFound"
_WANTS_KEY, _FORBIDDEN, _NOT_FOUND = 401, 403, 404


class HubFile(msgspec.Struct, frozen=True):
    """A file of a hub: its path there, its SHA-256 (empty where the hub tells none), its size, and its licence."""

    path: str
    sha256: str
    size_bytes: int
    licence: str = ""

    @property
    def cost(self) -> str:
        """The cost of fetching it, such as "1117 MB, about 2 minutes at 10 MB/s"."""
        return cost_of(self.size_bytes)

    @property
    def under_licence(self) -> str:
        """Its licence, as the end of a sentence."""
        return f"the hub names the licence {self.licence}" if self.licence else "the hub names no licence"


class Hub(msgspec.Struct, frozen=True):
    """A hub: its address, and the owner's key there, which is sent to no other server."""

    address: str
    opener: Opener
    token: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str], opener: Opener) -> Hub:
        """Return the hub that the environment names, else the usual one. Raises SourceFailed for an unsafe address."""
        address = (environment.get(ADDRESS_VARIABLE) or USUAL_ADDRESS).rstrip("/")
        if not is_safe(address, loopback=True):
            raise SourceFailed(f"{ADDRESS_VARIABLE} must be an https:// address")
        return cls(address, opener, environment.get(TOKEN_VARIABLE, "").strip())

    @property
    def host(self) -> str:
        """The name of its server."""
        return urlsplit(self.address).hostname or ""

    def file_url(self, name: HubName, path: str) -> str:
        """Return the address of a file."""
        return f"{self.address}/{name.repository}/resolve/main/{quote(path)}"

    def find(self, name: HubName) -> HubFile:
        """Return the file that is meant. Raises SourceFailed when there is none, or it cannot be used."""
        about = self._json(name, f"api/models/{name.repository}", dict)
        listed = self._json(name, f"api/models/{name.repository}/tree/main?recursive=true", list)
        files = [entry for entry in listed if isinstance(entry, dict) and entry.get("type") == "file"]
        return _chosen(name, files, _licence(about))

    def open(self, name: HubName, request: Request, timeout_seconds: float) -> HttpAnswer:
        """Send a request with the key. Raises OSError, and SourceFailed for what the hub refuses."""
        try:
            return self.opener(with_key(request, self.token), timeout_seconds)
        except HTTPError as error:
            sentence = self._refusal(name, error)
            if not sentence:
                raise
            error.close()
            raise SourceFailed(sentence) from error

    # Any: JSON of a server.
    def _json(self, name: HubName, path: str, kind: type[Any]) -> Any:
        request = Request(f"{self.address}/{path}", headers={"User-Agent": "mud-assistant"})  # noqa: S310  (checked)
        try:
            answer = self.open(name, request, TIMEOUT_SECONDS)
            try:
                text = answer.read(_MAX_ANSWER_BYTES)
            finally:
                answer.close()
            found = json.loads(text)
        except HTTPError as error:
            error.close()
            raise SourceFailed(f"{self.host} answered HTTP {error.code} when it was asked for {name}") from error
        except (OSError, HTTPException) as error:
            why = error.reason if isinstance(error, URLError) else error
            raise SourceFailed(f"{self.host} cannot be asked for {name} ({why})") from error
        except (ValueError, RecursionError) as error:
            raise SourceFailed(f"what {self.host} answered for {name} cannot be read") from error
        if not isinstance(found, kind):
            raise SourceFailed(f"what {self.host} answered for {name} cannot be read")
        return found

    def _refusal(self, name: HubName, error: HTTPError) -> str:
        """Say why the hub refuses something of this repository; empty when that is no matter of the owner's."""
        why = error.headers.get("X-Error-Code", "")
        how = "its key is refused" if self.token else f"set {TOKEN_VARIABLE} to a key of an account that was let in"
        if why == _GATED or error.code == _FORBIDDEN:
            return f"{self.host} gives {name.repository} only to those who accepted its terms there: {how}"
        if error.code == _NOT_FOUND and why not in {"", _NO_REPOSITORY}:
            return f"{name.repository} has no such file any more"
        if error.code == _NOT_FOUND or why == _NO_REPOSITORY:
            return f"{self.host} has no repository {name.repository}, or it is a private one"
        if error.code == _WANTS_KEY:
            return f"{self.host} has no repository {name.repository}, or wants a key for it: {how}"
        return ""


def fetch_hub_file(name: HubName, data_dir: Path, report: Reporter, hub: Hub) -> Path:
    """Return the path of the file, fetching it if needed. Only one process fetches at a time. Raises SourceFailed."""
    folder = name.folder(data_dir)
    pinned = read_pin(folder)
    if pinned is not None and (there := _kept(folder, pinned, report)) is not None:
        return there
    found = hub.find(name)
    if pinned is not None and (found.sha256 or pinned.sha256, found.size_bytes) != (pinned.sha256, pinned.size_bytes):
        raise SourceFailed(
            f"{hub.host} has another file as {name} than the one that was used here first (SHA-256 "
            f"{found.sha256[:12]}, not {pinned.sha256[:12]}): to take the new one, delete {folder}"
        )
    store = _store(folder, pinned or found, report, hub.file_url(name, found.path))
    with store.locked():
        if not (store.model.sha256 and store.is_trusted()):
            report.note(f"fetching {found.path} of {name.repository}, once: {found.cost}; {found.under_licence}")
            fetch_upstream(store, lambda request, seconds: hub.open(name, request, seconds), _is_talker, hub.host)
            _require_talker(store.path)
        pin = HubFile(found.path, store.model.sha256, found.size_bytes, found.licence)
        (folder / _PIN).write_bytes(msgspec.json.encode(pin))
    return store.path


def read_pin(folder: Path) -> HubFile | None:
    """Return what is remembered of the file in this folder, None when none was fetched. Blocks."""
    try:
        pin = msgspec.json.decode((folder / _PIN).read_bytes(), type=HubFile)
    except (OSError, ValueError):
        return None
    return pin if _SAFE_FILE.fullmatch(pin.path) and _SHA256.fullmatch(pin.sha256) else None


def kept_file(name: HubName, data_dir: Path) -> Path | None:
    """Return the file when it is here with the size that is pinned, None when it must be fetched. Blocks."""
    folder = name.folder(data_dir)
    pin = read_pin(folder)
    path = folder / Path(pin.path).name if pin else None
    return path if pin and path and path.is_file() and path.stat().st_size == pin.size_bytes else None


def _kept(folder: Path, pinned: HubFile, report: Reporter) -> Path | None:
    store = _store(folder, pinned, report, "")
    with store.locked():
        return store.path if store.is_trusted() else None


def _store(folder: Path, file: HubFile, report: Reporter, url: str) -> ModelStore:
    name = Path(file.path).name
    return ModelStore(folder, ModelFile(name, name, file.sha256, file.size_bytes, url, ()), report)


# Any: JSON of a server.
def _chosen(name: HubName, files: list[dict[str, Any]], licence: str) -> HubFile:
    """Return the one file that is meant among those of a repository. Raises SourceFailed."""
    paths = [str(file.get("path", "")) for file in files]
    models = [path for path in paths if _SAFE_FILE.fullmatch(path) and "mmproj" not in path.lower()]
    if not models:
        raise SourceFailed(f"{name.repository} holds no GGUF file: look for a repository whose name ends in -GGUF")
    path = _meant(name.quant, models)
    if not path:
        there = sorted({found[1].upper() if (found := _QUANT.search(_joined(one))) else one for one in models})
        raise SourceFailed(f"{name.repository} has no {name.quant}; it has: {', '.join(there[:_SHOWN])}")
    if (split := _SPLIT.search(path)) and int(split[2]) > 1:
        raise SourceFailed(f"{path} is cut into {int(split[2])} files, which cannot be used: choose a smaller one")
    file = files[paths.index(path)]
    lfs = file.get("lfs")
    stored: dict[str, Any] = lfs if isinstance(lfs, dict) else {}
    size, sha256 = stored.get("size", file.get("size")), str(stored.get("oid", "")).removeprefix("sha256:")
    if not isinstance(size, int) or size <= 0:
        raise SourceFailed(f"the hub does not say how large {path} is")
    if size > MAX_BYTES:
        raise SourceFailed(f"{path} has {size // 1_000_000} MB, and {MAX_BYTES // 1_000_000} MB is the most that fits")
    return HubFile(path, sha256 if _SHA256.fullmatch(sha256) else "", size, licence)


def _meant(quant: str, paths: list[str]) -> str:
    """Return the file of this quantization or name, the one with the shortest path of several; empty without one."""
    if quant.lower().endswith(".gguf"):
        found = [path for path in paths if path.rpartition("/")[2].lower() == quant.lower()]
    else:
        ends = re.compile(rf"(?:^|[-._/]){re.escape(quant)}\.gguf$", re.IGNORECASE)
        found = [path for path in paths if ends.search(_joined(path))]
    return min(found, key=lambda path: (len(_joined(path)), path), default="")


def _joined(path: str) -> str:
    """Return the name that a file which is cut into several would have as one."""
    return _SPLIT.sub(".gguf", path)


# Any: JSON of a server.
def _licence(about: dict[str, Any]) -> str:
    card, tags = about.get("cardData"), about.get("tags")
    if isinstance(card, dict) and isinstance(name := card.get("license_name") or card.get("license"), str):
        return name[:60]
    names = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return next((tag.removeprefix("license:")[:60] for tag in names if tag.startswith("license:")), "")


def _is_talker(partial: Path) -> bool:
    """Tell whether what has come so far is the header of a model that talks. Raises SourceFailed when it is not."""
    with partial.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise SourceFailed("what came is no GGUF file")
    try:
        return _has_template(partial)
    except BadModelFile:
        return False  # its header is not whole yet


def _has_template(path: Path) -> bool:
    """Return True. Raises SourceFailed for a model without a chat template, and BadModelFile."""
    if not read_file_strings(path, {CHAT_TEMPLATE}).get(CHAT_TEMPLATE, "").strip():
        raise SourceFailed(
            "this model has no chat template, so it was not made for talk: look for one whose name has Instruct, "
            "Chat or -it"
        )
    return True


def _require_talker(path: Path) -> None:
    """Delete the file when it is not a model that talks. Raises SourceFailed then."""
    try:
        _has_template(path)
    except (BadModelFile, SourceFailed) as error:
        path.unlink()
        raise SourceFailed(f"{path.name} cannot be used: {error}") from error
