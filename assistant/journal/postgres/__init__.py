"""The journal in PostgreSQL, for assistants on several machines. The only room that imports psycopg."""
