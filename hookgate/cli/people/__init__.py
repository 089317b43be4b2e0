"""`hookgate people`, `hookgate keys`, `hookgate approvals` and `hookgate audit`: who is known and by which keys, what
waits for them, and the record of what they decided."""
