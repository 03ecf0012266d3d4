"""Gives memories and queries their sentence vectors, off the way of every answer. Without them words find memories.

The vector of a memory is made after it was heard, in small batches, one at a time for all assistants of a process. The
vector of a query is waited for only shortly.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from weakref import WeakValueDictionary

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError
from mud_assistant.assistant.memory.recall.vectors import Vector, make_vector
from mud_assistant.assistant.memory.recall_file import IndexWorker
from mud_assistant.llm import LLMError
from mud_assistant.llm.embeddings.embedder import MAX_BATCH, Embedder
from mud_assistant.resilience import Deadline, DeadlineExceeded
from mud_assistant.resilience.background import Full

#: How long the vector of a query is waited for, in seconds; the search goes on without it.
QUERY_SECONDS = 0.5
#: How long nothing is asked of an embedder that failed, in seconds.
PAUSE_SECONDS = 600.0
#: How many vectors of queries are kept, and the longest text of which one is made, in characters.
_KEPT, _MAX_CHARS = 256, 2000

_log = Logger()


class Meaning:
    """The sentence vectors of one process, made by `embedder`."""

    def __init__(self, embedder: Embedder, clock: IReactorTime) -> None:
        self.embedder = embedder
        self._clock = clock
        self._queries: OrderedDict[bytes, Vector] = OrderedDict()
        self._texts: WeakValueDictionary[str, Vector] = WeakValueDictionary()
        self._not_before = float("-inf")
        #: The assistants whose memories are to be given vectors, in the order in which they asked.
        self._waiting: dict[str, None] = {}
        self._is_filling = False

    async def warm(self) -> None:
        """Start what makes the vectors, so that the first query need not wait for it."""
        await self._embed(["Good morning."])

    @property
    def model(self) -> str:
        """The name of the model that makes them."""
        return self.embedder.model

    async def of_texts(self, texts: list[str]) -> list[Vector | None]:
        """Return the vector of each text, none at all when none can be made now. Nobody waits for them.

        A text that stands in several characters is read once.
        """
        texts = [text[:_MAX_CHARS] for text in texts]
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        made = await self._embed(new) if new else []
        if len(made) < len(new):
            return []
        vectors = dict(zip(new, made, strict=True))
        self._texts.update({text: vector for text, vector in vectors.items() if vector is not None})
        return [vectors.get(text) or self._texts.get(text) for text in texts]

    async def of_query(self, text: str) -> Vector | None:
        """Return the vector of a query, None when it cannot be had soon."""
        key = sha256(f"{self.embedder.model}\0{text}".encode(errors="replace")).digest()
        if (known := self._queries.get(key)) is not None:
            self._queries.move_to_end(key)
            return known
        made = await self._embed([text[:_MAX_CHARS]], Deadline.after(self._clock, QUERY_SECONDS))
        if not made or made[0] is None:
            return None
        self._queries[key] = made[0]
        while len(self._queries) > _KEPT:
            self._queries.popitem(last=False)
        return made[0]

    async def fill(self, worker: IndexWorker, assistant: str) -> None:
        """Give every memory of the assistant that has none a vector. One assistant after the other."""
        self._waiting[assistant] = None
        if self._is_filling:
            return
        self._is_filling = True
        try:
            while self._waiting:
                whose = next(iter(self._waiting))
                if not await self._fill_some(worker, whose):
                    self._waiting.pop(whose, None)
        except (RecallIndexError, Full) as failed:
            _log.warn("vectors of memories were not kept: {why}", why=str(failed))
        finally:
            self._is_filling = False

    async def stop(self) -> None:
        """Stop the embedder."""
        await self.embedder.stop()

    async def _fill_some(self, worker: IndexWorker, assistant: str) -> bool:
        """Give one batch of memories their vectors. Return False when none is left, or none can be made now."""
        model = self.embedder.model
        missing = await worker.run(lambda index: index.vectors_missing(assistant, model, MAX_BATCH))
        made = await self._embed([text[:_MAX_CHARS] for _, text in missing]) if missing else []
        vectors = [(key, vector) for (key, _), vector in zip(missing, made, strict=False) if vector is not None]

        def put(index: RecallIndex) -> None:
            index.put_vectors(assistant, model, vectors)

        if vectors:
            await worker.run(put)
        return len(missing) == MAX_BATCH and len(vectors) == MAX_BATCH

    async def _embed(self, texts: list[str], deadline: Deadline | None = None) -> list[Vector | None]:
        """Return the vectors of the texts, none at all when the embedder fails or the time is over."""
        if self._clock.seconds() < self._not_before:
            return []
        try:
            made = self.embedder.embed(texts)
            rows = await (made if deadline is None else deadline.bound(Deferred.fromCoroutine(made)))
        except CancelledError:
            raise
        except DeadlineExceeded:
            return []
        except LLMError as failed:
            self._not_before = self._clock.seconds() + PAUSE_SECONDS
            _log.warn("sentence vectors cannot be made now, so words find memories: {why}", why=str(failed))
            return []
        return [make_vector(self.embedder.model, row) for row in rows]
