"""`hookgate approvals` and `hookgate audit`: what waits for people, and the record of what they decided."""
