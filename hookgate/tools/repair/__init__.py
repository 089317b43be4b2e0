"""Arguments as models write them, to an object with a record of what that took. Knows no tool, hook or turn."""

from hookgate.tools.repair.cascade import decode_arguments, plain_object
from hookgate.tools.repair.values import Decoded, Reading, Undecodable

__all__ = ["Decoded", "Reading", "Undecodable", "decode_arguments", "plain_object"]
