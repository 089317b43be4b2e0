"""The calls of one reply: prepared, asked of the hooks, run, and what the model is told of them."""
