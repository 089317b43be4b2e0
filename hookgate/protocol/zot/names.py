"""How an extension is told apart from other hooks and other providers of tools: by what its name begins with here."""

from __future__ import annotations

EXTENSION = "zot:"
"""Before the extension's own name, as a hook and as the provider of its tools."""
