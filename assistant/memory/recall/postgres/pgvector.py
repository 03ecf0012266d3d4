"""Compares sentence vectors in PostgreSQL with pgvector, where its extension was created in the database.

The table `recall_embeddings` holds the numbers of `recall_vectors` once more, as pgvector's type. It is a copy: a
search that finds rows missing in it adds them, so processes that know nothing of it may write as they like. A row goes
with the one it was copied from. The table is apart so that a dump can be restored where there is no pgvector.

The rows are those nearest by the signs of their numbers, as without pgvector, and only their order is pgvector's. To
compare all of 20,000 rows takes longer and finds no more. An approximate index (HNSW) finds its nearest
rows first and filters then, which would lose most of what few people may hear.
"""

from __future__ import annotations

from dataclasses import dataclass

from assistant.journal.database import Database
from assistant.journal.postgres.connection import DATABASE_ERRORS
from assistant.memory.recall.candidates import DEPTH, Scope
from assistant.memory.recall.postgres.lists import PostgresLists
from assistant.memory.recall.postgres.schema import EMBEDDINGS
from assistant.memory.recall.vectors import Vector

#: So many rows are copied by one search, newest first: 0.1 s for 384 numbers each. Until all are there, it is made
#: without pgvector.
_COPIED = 1_000
#: From so many new rows on the server looks at the table at once, to find the fast way through it.
_MANY = 100
#: The schema of the extension, quoted, where this role may use it. It need not be in the search path.
_FIND = """SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
    WHERE extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')"""
#: DROP EXTENSION takes the column, and leaves the table.
_IS_THERE = f"""SELECT 1 FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid JOIN pg_namespace AS n
    ON n.oid = relnamespace WHERE nspname = current_schema() AND relname = '{EMBEDDINGS}' AND attname = 'embedding'"""
#: A row of the usual 384 numbers has 1.6 kB, one of 1,536 has 6 kB: kept in its page, it is found without a detour.
_TABLE = f"""CREATE TABLE {EMBEDDINGS} (assistant bigint NOT NULL, "row" bigint NOT NULL,
    embedding {{}}.vector NOT NULL,
    PRIMARY KEY (assistant, "row"), FOREIGN KEY (assistant, "row") REFERENCES recall_vectors ON DELETE CASCADE)
    WITH (toast_tuple_target = 8160)"""


def prepare_pgvector(db: Database) -> str:
    """Return the schema of pgvector, quoted, and make its table; empty where it is not there or not for us.

    To be called in a transaction, under the lock of `prepare_schema`.
    """
    found = db.execute(_FIND).fetchone()
    if found is None:
        return ""
    schema = str(found[0])
    if db.execute(_IS_THERE).fetchone() is not None:
        return schema
    db.execute("SAVEPOINT pgvector")
    try:
        db.execute(f"DROP TABLE IF EXISTS {EMBEDDINGS}")
        db.execute(_TABLE.format(schema))
    except DATABASE_ERRORS:  # this role may not, or the extension went meanwhile, or others hold a lock too long
        db.execute("ROLLBACK TO SAVEPOINT pgvector")
        return ""
    return schema


@dataclass(frozen=True, slots=True)
class PgvectorLists(PostgresLists):
    """The lines of one assistant, compared by meaning in the server. `schema` is that of pgvector, quoted."""

    schema: str = "public"

    def by_meaning(self, scope: Scope, vector: Vector) -> list[tuple[int, float]]:
        """Return the lines nearest in meaning, each with the cosine. It is empty without vectors of the same model."""
        found = self._nearest(scope, vector)
        if found is None and self._copy(vector.model):
            found = self._nearest(scope, vector)
        return PostgresLists.by_meaning(self, scope, vector) if found is None else found

    def _nearest(self, scope: Scope, vector: Vector) -> list[tuple[int, float]] | None:
        """Return the nearest rows, each with the cosine; None when one of them was not copied."""
        near, values = self.nearest_by_signs(scope, vector)
        found = self.tables.db.execute(
            f"""WITH near AS MATERIALIZED ({near})
            SELECT near.row, 1 - (e.embedding OPERATOR({self.schema}.<=>) CAST(? AS {self.schema}.vector)) AS cosine,
                e.row IS NULL AS missing
            FROM near LEFT JOIN {EMBEDDINGS} AS e ON e.assistant = {self.tables.number} AND e.row = near.row
            ORDER BY missing DESC, cosine DESC, near.row DESC LIMIT {DEPTH}""",
            (*values, f"[{','.join(map(str, vector.numbers))}]"),
        ).fetchall()
        if found and found[0][2]:
            return None
        return [(row, cosine) for row, cosine, _ in found]

    def _copy(self, model: str) -> bool:
        """Copy vectors that were not yet copied. Return whether that were all.

        The lock is that of all who write to this assistant's tables; while another has it, nothing is copied.
        """
        made = self.tables.db.execute(
            f"""WITH held AS MATERIALIZED (
                SELECT number FROM recall_assistants WHERE number = ? FOR UPDATE SKIP LOCKED),
            copied AS (
                INSERT INTO {EMBEDDINGS} (assistant, row, embedding)
                SELECT v.assistant, v.row, CAST(ARRAY(
                    SELECT (get_byte(v.numbers, place) # 128) - 128
                    FROM generate_series(0, length(v.numbers) - 1) AS place ORDER BY place) AS {self.schema}.vector)
                FROM held JOIN recall_vectors AS v ON v.assistant = held.number
                WHERE v.model = ? AND NOT EXISTS
                    (SELECT 1 FROM {EMBEDDINGS} AS e WHERE e.assistant = v.assistant AND e.row = v.row)
                ORDER BY v.row DESC LIMIT {_COPIED} ON CONFLICT DO NOTHING RETURNING 1)
            SELECT (SELECT COUNT(*) FROM held), (SELECT COUNT(*) FROM copied)""",
            (self.tables.number, model),
        ).fetchone()
        if made[1] >= _MANY:
            self.tables.db.execute(f"ANALYZE (SKIP_LOCKED) {EMBEDDINGS}")
        return bool(made[0]) and made[1] < _COPIED
