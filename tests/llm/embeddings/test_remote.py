"""Vectors over the wire: from an Ollama and from a server with OpenAI's API, good ones and all the others."""

from __future__ import annotations

import math

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from mud_assistant.llm.errors import (
    BadCredential,
    BadVectors,
    ContextOverflow,
    LLMDeadlineExceeded,
    LLMError,
    ModelNotFound,
    ProtocolError,
    Rejected,
    Unavailable,
)
from mud_assistant.llm.testing import Hang, HttpError
from tests.llm.calling import reactor
from tests.llm.embeddings.desk import embedder
from tests.llm.embeddings.vector_servers import OllamaVectors, OpenAIVectors, VectorFault, meaning_of

TEXTS = ["the cat sat on the mat", "taxes are due", "a mat is for the cat"]
APIS = ["ollama", "openai"]
Server = OllamaVectors | OpenAIVectors


def server(api: str, longest: int | None = None, key: str | None = None) -> Server:
    make = OllamaVectors if api == "ollama" else OpenAIVectors
    return make(reactor, longest=longest, key=key)


def product(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def unit(text: str) -> list[float]:
    vector = meaning_of(text)
    return [number / math.hypot(*vector) for number in vector]


@pytest.mark.parametrize("api", APIS)
async def test_each_text_gets_its_vector_of_length_one(api: str) -> None:
    async with embedder(server(api), api) as asked:
        vectors = await asked.embed(TEXTS)
        assert (asked.model, asked.dimensions) == ("sage", 64)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert vector == pytest.approx(unit(text), abs=1e-6)
    assert product(vectors[0], vectors[2]) > 0.5 > product(vectors[0], vectors[1])


@pytest.mark.parametrize("api", APIS)
async def test_blank_texts_are_not_sent(api: str) -> None:
    fake = server(api)
    async with embedder(fake, api) as asked:
        vectors = await asked.embed(["", "cat", " \n"])
        assert await asked.embed(["", "  "]) == [(), ()]
        assert await asked.embed([]) == []
    assert [len(vector) for vector in vectors] == [0, 64, 0]
    assert [request.body["input"] for request in fake.embeds] == [["cat"]]


@pytest.mark.parametrize("api", APIS)
async def test_many_texts_go_in_batches_of_32(api: str) -> None:
    fake, texts = server(api), [f"line number {number}" for number in range(70)]
    async with embedder(fake, api) as asked:
        vectors = await asked.embed(texts)
    sent = [request.body["input"] for request in fake.embeds]
    assert [len(batch) for batch in sent if isinstance(batch, list)] == [32, 32, 6]
    assert vectors[69] == pytest.approx(unit(texts[69]), abs=1e-6)


async def test_long_vectors_come_in_smaller_batches() -> None:
    fake = OpenAIVectors(reactor)
    async with embedder(fake, dimensions=20_000) as asked:
        with pytest.raises(BadVectors):
            await asked.embed(["a", "b", "c"])
    assert fake.embeds[0].body["input"] == ["a", "b"]


async def test_the_order_is_that_of_the_index() -> None:
    fake = OpenAIVectors(reactor)
    fake.vectors.steps.append(VectorFault.DISORDER)
    async with embedder(fake) as asked:
        vectors = await asked.embed(TEXTS)
    assert vectors[0] == pytest.approx(unit(TEXTS[0]), abs=1e-6)


@pytest.mark.parametrize("form", [VectorFault.LISTS, VectorFault.NESTED])
async def test_lists_are_read_as_well_as_base64(form: VectorFault) -> None:
    fake = OpenAIVectors(reactor)
    fake.vectors.steps.append(form)
    async with embedder(fake) as asked:
        vectors = await asked.embed(TEXTS)
    assert fake.embeds[0].body["encoding_format"] == "base64"
    assert vectors[1] == pytest.approx(unit(TEXTS[1]), abs=1e-6)


async def test_a_server_without_base64_is_asked_for_lists_from_then_on() -> None:
    fake = OpenAIVectors(reactor, base64=False)
    async with embedder(fake) as asked:
        await asked.embed(TEXTS)
        await asked.embed(TEXTS)
    assert ["encoding_format" in request.body for request in fake.embeds] == [True, False, False]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (VectorFault.NAN, "not finite"),
        (VectorFault.INFINITE, "not finite"),
        (VectorFault.NULL, "no number"),
        (VectorFault.ZEROS, "zeros"),
        (VectorFault.SHORT, "63 numbers where 64"),
        (VectorFault.EMPTY, "without numbers"),
        (VectorFault.MISSING, "2 vectors for 3 texts"),
    ],
)
async def test_vectors_that_cannot_be_used_are_refused_and_not_asked_for_again(
    api: str, fault: VectorFault, said: str
) -> None:
    fake = server(api)
    fake.vectors.steps.append(fault)
    async with embedder(fake, api) as asked:
        with pytest.raises(BadVectors, match=said):
            await asked.embed(TEXTS)
        assert len(fake.embeds) == 1
        assert len(await asked.embed(TEXTS)) == 3  # the server is not held to be down


async def test_a_vector_for_each_word_is_refused() -> None:
    fake = OpenAIVectors(reactor)
    fake.vectors.steps.extend([VectorFault.EACH_WORD] * 3)
    async with embedder(fake) as asked:
        with pytest.raises(BadVectors, match=r"local/sage: .*pool"):
            await asked.embed(TEXTS)


async def test_vectors_of_the_same_index_are_refused() -> None:
    fake = OpenAIVectors(reactor)
    fake.vectors.steps.extend([VectorFault.SAME_INDEX] * 3)
    async with embedder(fake) as asked:
        with pytest.raises(BadVectors, match="which text"):
            await asked.embed(TEXTS)


@pytest.mark.parametrize("api", APIS)
async def test_another_length_than_before_is_refused(api: str) -> None:
    async with embedder(server(api), api, dimensions=384) as asked:
        with pytest.raises(BadVectors, match="64 numbers where 384"):
            await asked.embed(["cat"])


@pytest.mark.parametrize("api", APIS)
async def test_what_is_too_long_is_cut_until_it_fits(api: str) -> None:
    fake, text = server(api, longest=100), "cat " * 100
    async with embedder(fake, api) as asked:
        (vector,) = await asked.embed([text])
    assert vector == pytest.approx(unit("cat"), abs=1e-6)
    assert len(str(fake.embeds[-1].body["input"])) <= 104


@pytest.mark.parametrize("api", APIS)
async def test_a_server_for_which_everything_is_too_long_is_told_so(api: str) -> None:
    async with embedder(server(api, longest=2), api) as asked:
        with pytest.raises(ContextOverflow):
            await asked.embed(TEXTS)


async def test_texts_are_cut_to_what_ollama_says_its_model_reads() -> None:
    fake = OllamaVectors(reactor, context_tokens=64)
    async with embedder(fake, "ollama") as asked:
        await asked.embed(["cat " * 1000])
        await asked.embed(["cat"])
    assert [len(str(request.body["input"])) for request in fake.embeds] == [64 * 4 + 4, 7]
    assert [request.path for request in fake.requests].count("/api/show") == 1


async def test_texts_are_cut_to_the_context_given() -> None:
    fake = OpenAIVectors(reactor)
    async with embedder(fake, context_tokens=10) as asked:
        await asked.embed(["x" * 1000])
    assert fake.embeds[0].body["input"] == ["x" * 40]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [500, 503])
async def test_a_failure_that_passes_is_tried_again(api: str, status: int) -> None:
    fake = server(api)
    fake.vectors.steps.append(HttpError(status, "EOF"))
    async with embedder(fake, api) as asked:
        assert len(await asked.embed(TEXTS)) == 3
    assert len(fake.embeds) == 2


@pytest.mark.parametrize(
    ("api", "status", "body", "kind"),
    [
        ("ollama", 500, "do embedding request: EOF", Unavailable),
        ("ollama", 500, "failed to encode response: json: unsupported value: NaN", BadVectors),
        ("openai", 400, "Pooling type 'none' is not OAI compatible. Please use a different pooling type", Rejected),
        ("openai", 401, "Incorrect API key provided.", BadCredential),
        ("openai", 404, "The model `sage` does not exist", ModelNotFound),
        ("openai", 404, "File Not Found", Rejected),
    ],
)
async def test_refusals_are_typed(api: str, status: int, body: str, kind: type[LLMError]) -> None:
    fake = server(api)
    fake.vectors.steps.extend([HttpError(status, body)] * 4)
    async with embedder(fake, api) as asked:
        with pytest.raises(kind) as caught:
            await asked.embed(TEXTS)
    assert type(caught.value) is kind
    assert len(fake.embeds) == (3 if kind is Unavailable else 1)


async def test_a_chat_server_is_named_as_one() -> None:
    fake = OpenAIVectors(reactor, pools=False)
    async with embedder(fake) as asked:
        with pytest.raises(Rejected, match="makes no vectors"):
            await asked.embed(TEXTS)
    assert len(fake.embeds) == 1


@pytest.mark.parametrize("api", APIS)
async def test_what_holds_no_vectors_is_no_answer(api: str) -> None:
    fake = server(api)
    fake.vectors.steps.extend([VectorFault.GARBAGE] * 3)
    async with embedder(fake, api) as asked:
        with pytest.raises(ProtocolError):
            await asked.embed(TEXTS)


@pytest.mark.parametrize("api", APIS)
async def test_cancelling_closes_the_connection(api: str) -> None:
    fake = server(api)
    fake.vectors.steps.append(Hang("body"))
    async with embedder(fake, api) as asked:
        work = Deferred.fromCoroutine(asked.embed(TEXTS))
        while not fake.embeds:
            await deferLater(reactor, 0.01)
        work.cancel()
        with pytest.raises(CancelledError):
            await work
        while not fake.abandoned:
            await deferLater(reactor, 0.01)


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_hangs_is_given_up_at_the_deadline(api: str) -> None:
    fake = server(api)
    fake.vectors.steps.extend([Hang("body")] * 3)
    async with embedder(fake, api, seconds=0.2) as asked:
        with pytest.raises(LLMDeadlineExceeded):
            await asked.embed(TEXTS)


async def test_a_key_is_sent_and_never_shown() -> None:
    fake = OpenAIVectors(reactor, key="planted-key-1")
    fake.vectors.steps.append(HttpError(400, "no such thing as planted-key-1"))
    async with embedder(fake, key="planted-key-1") as asked:
        with pytest.raises(Rejected) as caught:
            await asked.embed(TEXTS)
    assert fake.embeds[0].authorization == "Bearer planted-key-1"
    assert "planted-key-1" not in str(caught.value)


async def test_a_key_that_changed_is_read_again_once() -> None:
    async def reread() -> str:
        return "new"

    fake = OpenAIVectors(reactor, key="new")
    async with embedder(fake, key="old", reread_key=reread) as asked:
        assert len(await asked.embed(TEXTS)) == 3
    other = OpenAIVectors(reactor, key="newer")
    async with embedder(other, key="old", reread_key=reread) as asked:
        with pytest.raises(BadCredential):
            await asked.embed(TEXTS)
    assert len(other.embeds) == 2
