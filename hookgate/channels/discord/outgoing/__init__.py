"""To the platform: messages, files, cards, the sign that the bot is at work."""
