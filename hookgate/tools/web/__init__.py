"""Fetching a page, and its text from HTML."""
