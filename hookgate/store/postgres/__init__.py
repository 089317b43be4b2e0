"""The journal in PostgreSQL, which several gateways share: the steps are those of a file, and wait as trio does."""

from hookgate.store.postgres.opening import open_postgres_journal as open_postgres_journal
