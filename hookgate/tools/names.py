"""The names of hookgate's own tools, for whoever must know them without making one. Knows no tool."""

from __future__ import annotations

WRITERS = ("bash", "write", "edit")
SEND_FILE = "send_file"
DELEGATE = "delegate"
BUILTINS = (
    *("bash", "bash_kill", "bash_output", "edit", "glob", "grep", "ls", "read", "web_fetch", "write"),
    # There only where there are skills, hookgate's own everywhere: a model must not take a stranger for it.
    "skill",
    # In a gateway, where there are chats to send to.
    SEND_FILE,
    # Where an agent may hand tasks to others.
    DELEGATE,
)
ALL = (*BUILTINS, "new_tool", "unregister_tool", "mcp_connect", "mcp_disconnect", "mcp_list")
"""With those that change the tools while hookgate runs."""

RESERVED = frozenset({*WRITERS, "read", "skill"})
"""Of these no extension brings its own, also where they are switched off."""
