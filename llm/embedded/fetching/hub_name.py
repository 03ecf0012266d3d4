"""Knows how an owner names a model file of a hub: hf:OWNER/REPO:QUANT, and where such a file is kept. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

PREFIX = "hf:"
#: The environment variables that users of the hub have anyway: another address of it, and their key there.
ADDRESS_VARIABLE, TOKEN_VARIABLE = "HF_ENDPOINT", "HF_TOKEN"
USUAL_ADDRESS = "https://huggingface.co"
#: The quantization that is meant when none is named.
USUAL_QUANT = "Q4_K_M"
#: The folder of these models within the one for model files.
_FOLDER = "hub"
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(rf"hf:(?P<owner>{_PART})/(?P<repo>{_PART})(?::(?P<quant>[A-Za-z0-9][A-Za-z0-9._-]{{0,119}}))?")


class HubName(Struct, frozen=True):
    """A file of a hub. `quant` is the quantization, or the file's own name; its case means nothing."""

    owner: str
    repo: str
    quant: str

    def __str__(self) -> str:
        """Return it as an owner writes it."""
        return f"{PREFIX}{self.repository}:{self.quant}"

    @property
    def repository(self) -> str:
        """The name of the repository on the hub."""
        return f"{self.owner}/{self.repo}"

    def folder(self, data_dir: Path) -> Path:
        """Return the folder that holds its file, and what is remembered of it."""
        return data_dir / _FOLDER / self.owner / self.repo / self.quant


def is_hub_name(text: str) -> bool:
    """Tell whether the name is meant to be one of a hub."""
    return text.startswith(PREFIX)


def parse_hub_name(text: str) -> HubName:
    """Return the file that is meant. Raises ValueError with a sentence for the owner."""
    found = _NAME.fullmatch(text)
    if found is None or ".." in text:
        raise ValueError(
            f"'{text[:100]}' does not name a model of a hub: write {PREFIX}OWNER/REPO:QUANT, such as "
            f"{PREFIX}Qwen/Qwen2.5-1.5B-Instruct-GGUF:{USUAL_QUANT}"
        )
    quant = found["quant"] or USUAL_QUANT
    return HubName(found["owner"], found["repo"], quant if quant.lower().endswith(".gguf") else quant.upper())


def kept_name(path: Path, data_dir: Path) -> str:
    """Return the name of the model that is kept in this folder, empty for any other path."""
    root = data_dir / _FOLDER
    if not path.is_relative_to(root):
        return ""
    parts = path.relative_to(root).parts
    return str(HubName(*parts)) if len(parts) == len(HubName.__struct_fields__) else ""


def wants_token(model_name: str, environment: Mapping[str, str]) -> bool:
    """Tell whether the process that fetches this model is given the owner's key of the hub."""
    return is_hub_name(model_name) and bool(environment.get(TOKEN_VARIABLE))
