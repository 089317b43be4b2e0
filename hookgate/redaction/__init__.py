"""Takes secrets out of what leaves: known values, values under telling keys, texts of a telling shape."""

from hookgate.redaction.marks import holds_marker
from hookgate.redaction.redactor import Redactor

__all__ = ["Redactor", "holds_marker"]
