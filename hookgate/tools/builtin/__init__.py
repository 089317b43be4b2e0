"""The tools that come with hookgate, made for one workspace and one sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Replacing, Tool
from hookgate.tools.builtin.bash import Bash
from hookgate.tools.builtin.bash_kill import BashKill
from hookgate.tools.builtin.bash_output import BashOutput
from hookgate.tools.builtin.edit import Edit
from hookgate.tools.builtin.glob import Glob
from hookgate.tools.builtin.grep import Grep
from hookgate.tools.builtin.ls import Ls
from hookgate.tools.builtin.read import Read
from hookgate.tools.builtin.send_file import SendFile
from hookgate.tools.builtin.web_fetch import WebFetch
from hookgate.tools.builtin.write import Write
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.output import Form
from hookgate.tools.shell.background import Background
from hookgate.tools.shell.sandbox import Sandbox, Shelter


@dataclass(frozen=True)
class Parts:
    """What the built-ins work with. With `media`, where there are chats to send files to, and `redactor` files can be
    sent. `environment` is all that shell commands see: PATH, HOME and their like (TMPDIR is the
    sandbox's). Without `background` there are no background commands."""

    workspace: Workspace
    sandbox: Sandbox | Shelter
    environment: Mapping[str, str]
    background: Background | None = None
    allow_private_fetch: bool = False
    output: Form = "labeled"
    media: MediaStore | None = None
    redactor: Replacing | None = None


def builtin_tools(parts: Parts) -> tuple[Tool, ...]:
    """Sorted by name."""
    workspace, output = parts.workspace, parts.output
    background: tuple[Tool, ...] = ()
    if parts.background is not None:
        background = (BashKill(parts.background), BashOutput(parts.background, output))
    sends: tuple[Tool, ...] = ()
    if parts.media is not None and parts.redactor is not None:
        sends = (SendFile(workspace, parts.media, parts.redactor),)
    return (
        Bash(parts.sandbox, parts.environment, parts.background),
        *background,
        Edit(workspace),
        Glob(workspace, output),
        Grep(workspace, parts.environment, output),
        Ls(workspace, output),
        Read(workspace),
        *sends,
        WebFetch(parts.allow_private_fetch),
        Write(workspace),
    )
