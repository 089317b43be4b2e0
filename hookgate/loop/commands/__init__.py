"""Slash commands: the table of them, the rows that every chat has, and what happens when one is invoked."""
