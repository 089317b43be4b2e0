"""One file, two ways in: a hook of hookgate and a zot extension that follow the same rule.

As a hook: `command = ["python3", "review.py", "--hook"]` with `intercept = ["before_tool"]` in hookgate.toml. As an
extension: this folder, whose manifest passes --extension.
"""

from __future__ import annotations

import re

from hookgate_extension import Event, Extension, serve
from hookgate_plugin import Call, Plugin

REASON = "review: a forced push rewrites what others have; ask for it by name"
FORCED = re.compile(r"\bgit\b[^;&|\n]*\bpush\b[^;&|\n]*\s(?:-\w*f\b|--force(?!-with-lease))")

plugin = Plugin("review")
ext = Extension("review")


def forced(command: object) -> bool:
    return bool(FORCED.search(str(command)))


@plugin.before_tool(tools=["bash"])
def as_hook(call: Call) -> object:
    return plugin.deny(REASON) if forced(call.arguments.get("command")) else None


@ext.intercept("tool_call", tools="bash")
def as_extension(event: Event) -> object:
    return ext.block(REASON) if forced(event.tool_args.get("command")) else None


if __name__ == "__main__":
    serve(plugin, ext)
