"""One tool iteration end to end: from a reply of the model to its next request."""

from benchmarks.iteration.measuring import measure

__all__ = ["measure"]
