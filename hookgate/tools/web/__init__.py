"""Fetching a page: addresses that may be reached, text from HTML."""
