"""An extension that refuses dangerous shell commands and writes down what happens.

It reads the command's text and so stops accidents, not an attacker; the sandbox is what confines. GUARD_PATTERNS,
one regular expression a line, replaces its list. The log is guard-extension.log in the folder for temporary files,
or what GUARD_LOG names; each line of it goes to stderr too.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time

from hookgate_extension import Event, Extension

PATTERNS = r"""
(?i)\brm\s+-rf\b
\brm\b(?=[^;&|\n]*\s(?:-\w*[rR]|--recursive))(?=[^;&|\n]*\s(?:-\w*f|--force))
(?i)\bsudo\b
\bdd\b[^;&|\n]*\bof=["']?/
\bmkfs\b
\bchmod\s+-\w*R\w*\s+0?777\b
:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}
"""

ext = Extension("guard")
patterns = [re.compile(line) for line in os.environ.get("GUARD_PATTERNS", PATTERNS).splitlines() if line.strip()]


@ext.on("session_start", "turn_start", "tool_call", "turn_end")
def write_down(event: Event) -> None:
    record({name: value for name, value in event.raw.items() if name != "type"})


@ext.intercept("tool_call", tools="bash")
def look_first(event: Event) -> object:
    found = danger(str(event.tool_args.get("command", "")))
    if found is None:
        return None
    record({"event": "refused", "tool_id": event.tool_id, "pattern": found})
    quoted = json.dumps(found)
    return ext.block(f"guard refused: command matches the danger pattern {quoted}. Ask the user before running this.")


def danger(command: str) -> str | None:
    """The pattern that the command matches."""
    return next((pattern.pattern for pattern in patterns if pattern.search(command)), None)


def record(entry: dict[str, object]) -> None:
    line = json.dumps({"time": time.time(), **entry})
    ext.log(line)
    path = os.environ.get("GUARD_LOG") or os.path.join(tempfile.gettempdir(), "guard-extension.log")
    # Others may write to the folder too: their link must not say which file grows.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(file, "a", encoding="utf-8") as log:
        log.write(line + "\n")


if __name__ == "__main__":
    ext.run()
