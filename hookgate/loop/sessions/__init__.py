"""One conversation: its queue, its transcript, its claim, and how it goes on after a crash."""
