"""A hook that denies shell commands which destroy more than anyone asks for.

It reads the command's text and so stops accidents, not an attacker; the sandbox is what confines. GUARD_PATTERNS,
one regular expression a line, replaces its list.
"""

from __future__ import annotations

import os
import re

from hookgate_plugin import Call, Plugin

PATTERNS = r"""
\brm\b(?=[^;&|\n]*\s(?:-\w*[rR]|--recursive))(?=[^;&|\n]*\s(?:-\w*f|--force))[^;&|\n]*
\bmkfs\b
\bdd\b[^;&|\n]*\bof=["']?/dev/
>\s*["']?/dev/(?:sd|hd|vd|nvme|mmcblk)
\bchmod\s+-\w*R\w*\s+0?777\b
:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}
\b(?:curl|wget)\b[^;&\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
"""

plugin = Plugin("guard")
patterns = [re.compile(line) for line in os.environ.get("GUARD_PATTERNS", PATTERNS).splitlines() if line.strip()]


@plugin.before_tool(tools=["bash"])
def look_first(call: Call) -> object:
    found = first_danger(str(call.arguments.get("command", "")))
    return plugin.deny(f"{found!r} is not allowed here") if found else None


def first_danger(command: str) -> str:
    matches = (pattern.search(command) for pattern in patterns)
    return next((match.group() for match in matches if match), "")


if __name__ == "__main__":
    plugin.run()
