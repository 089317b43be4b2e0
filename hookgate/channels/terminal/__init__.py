"""The terminal as a channel: one person, one conversation, questions at a prompt."""
