"""OpenAI's API as a channel: whoever speaks it is answered by a turn, through the whole gate."""
