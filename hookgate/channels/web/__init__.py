"""The web page as a place to chat."""
