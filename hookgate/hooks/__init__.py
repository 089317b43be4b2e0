"""The gate: hooks in order, their processes, and what their answers lead to."""
