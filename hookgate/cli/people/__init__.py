"""`hookgate people`, `hookgate approvals` and `hookgate audit`: who is known, what waits for them, and the record of
what they decided."""
