"""The Agent Client Protocol, version 1, as values: what an editor and its agent say to each other. No I/O."""
