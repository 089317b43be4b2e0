"""What extensions do in a conversation: commands, calls of their own, what they show."""
