"""The chain of what was decided, and the checkpoints that sign it."""
