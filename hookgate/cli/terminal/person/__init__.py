"""Whoever sits at the terminal: where they are asked, what they are shown there, and by which pager."""
