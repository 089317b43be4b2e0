"""Bounded fuzzing of what reads model text; no part of the product."""
