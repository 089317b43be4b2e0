"""`hookgate chat --once`: one question, with what is piped to it, and its answer."""
