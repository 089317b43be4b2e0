"""`hookgate store` and `hookgate sessions`: the journal of stored conversations."""
