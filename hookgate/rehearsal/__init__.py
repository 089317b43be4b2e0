"""Hooks asked what nobody asks them for real: questions made up, recorded, repeated, timed."""
