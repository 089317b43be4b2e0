"""Where a program of a made tool runs, and what is kept of what it does there."""
