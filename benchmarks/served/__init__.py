"""`hookgate serve` as people have it: a program of its own, asked over HTTP."""
