"""Telegram: the Bot API over HTTP, by long poll or webhook."""
