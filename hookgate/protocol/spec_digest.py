"""Whether a tool is still the one that it was: a digest of all that is said of it. Knows no call."""

from __future__ import annotations

from hashlib import sha256

from hookgate.protocol.codec import canonical
from hookgate.protocol.values import ToolSpec

MAX_KNOWN = 4096
# With the spec itself, so that its identity is not given to another.
_known: dict[int, tuple[ToolSpec, str]] = {}


def spec_digest(spec: ToolSpec) -> str:
    """SHA-256, in hex; whose tool it is stands beside it."""
    known = _known.get(id(spec))
    if known is None or known[0] is not spec:
        flags = [spec.mutates, spec.affects_workspace, spec.pure, spec.access, spec.timeout_s]
        said = canonical([spec.name, spec.description, spec.parameters, flags])
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        known = _known[id(spec)] = spec, sha256(said).hexdigest()
    return known[1]
