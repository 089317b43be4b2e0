"""The tools that come with hookgate, made for one workspace and one sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.protocol.interfaces import Tool
from hookgate.tools.builtin.bash import Bash
from hookgate.tools.builtin.edit import Edit
from hookgate.tools.builtin.ls import Ls
from hookgate.tools.builtin.read import Read
from hookgate.tools.builtin.web_fetch import WebFetch
from hookgate.tools.builtin.write import Write
from hookgate.tools.sandbox import Sandbox, Shelter
from hookgate.tools.workspace import Workspace


def builtin_tools(
    workspace: Workspace,
    sandbox: Sandbox | Shelter,
    environment: Mapping[str, str],
    allow_private_fetch: bool = False,
) -> tuple[Tool, ...]:
    """Sorted by name. `environment` is all that shell commands see: PATH, HOME, LANG (TMPDIR is the sandbox's)."""
    return (
        Bash(sandbox, environment),
        Edit(workspace),
        Ls(workspace),
        Read(workspace),
        WebFetch(allow_private_fetch),
        Write(workspace),
    )
