"""Hooks as processes: one conversation each, supervised, exchanged as a set."""
