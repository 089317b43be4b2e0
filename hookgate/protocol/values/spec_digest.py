"""Whether a tool is still the one that it was: a digest of all that is said of it. Knows no call."""

from __future__ import annotations

from hashlib import sha256

from hookgate.protocol.codec import canonical
from hookgate.protocol.identity import known_again
from hookgate.protocol.values import ToolSpec


@known_again(most=4096)
def spec_digest(spec: ToolSpec) -> str:
    """SHA-256, in hex; whose tool it is stands beside it."""
    flags = [spec.mutates, spec.affects_workspace, spec.pure, spec.access, spec.timeout_s]
    return sha256(canonical([spec.name, spec.description, spec.parameters, flags])).hexdigest()
