"""Searching files: ripgrep where it is, else a walk of our own."""
