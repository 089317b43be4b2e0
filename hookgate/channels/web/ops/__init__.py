"""The operators' page, beside the chats of a web channel and behind the same door."""
