"""Processes that hookgate starts: what stands above them, and that all of them end with it."""
