"""Where hookgate and its tools write: whether they may."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hookgate import config as configuration
from hookgate.cli.doctor.finding import Examined, Finding, broken, failing, ok
from hookgate.config import ConfigError
from hookgate.control.client import socket_path
from hookgate.control.place import ControlUnavailable, check_private
from hookgate.protocol.hook.match import Globs
from hookgate.tools.names import WRITERS

SOCKET_PATH_BYTES = 107
"""What the kernel has room for."""


async def folders(it: Examined) -> list[Finding]:
    config = it.config
    kept = config.dynamic.enabled or config.mcp.model_may_connect
    state, store = configuration.state_directory(), configuration.store_file(config).parent
    places = [
        ("state", state, "nothing is remembered from run to run", kept and store == state),
        *([("tool store", store, "no made tool or description is kept", kept)] if store != state else []),
        ("extensions", configuration.extensions_folder(), "`hookgate ext install` cannot install", False),
        ("temporary files", Path(tempfile.gettempdir()), "no tool can run", True),
    ]
    found = (_folder(name, folder, without, needed=needed) for name, folder, without, needed in places)
    return [_workspace(it), *found, _sockets(it)]


def _workspace(it: Examined) -> Finding:
    try:
        folder = configuration.workspace_folder(it.config)
    except ConfigError as error:
        return broken("workspace", str(error), "make the folder, or name another in [agent] workspace")
    writers = [name for name in WRITERS if Globs(it.config.tools.enabled).covers(name)]
    return _folder("workspace", folder, f"{', '.join(writers)} can change nothing", needed=bool(writers))


def _folder(subject: str, folder: Path, without: str, *, needed: bool) -> Finding:
    if problem := unwritable(folder):
        return failing(subject, f"{problem}: {without}", f"chown or chmod {folder}, or move it", needed=needed)
    return ok(subject, f"{folder}{'' if folder.exists() else ' (made when it is needed)'}")


def unwritable(folder: Path) -> str:
    """Why nothing can be written there; of a folder that is missing, why it cannot be made. Makes nothing."""
    there = next(it for it in (folder, *folder.absolute().parents) if os.path.lexists(it))
    if not os.path.isdir(there):
        return f"{there} is no folder"
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=True):
        return f"{there} cannot be written to"
    return ""


def _sockets(it: Examined) -> Finding:
    control = it.config.control
    if not control.enabled:
        return ok("control socket", "switched off by [control] enabled")
    path = Path(control.path) if control.path else socket_path(configuration.runtime_directory())
    problem = _no_socket(path, private=not control.path)
    if not problem:
        return ok("control socket", str(path.parent))
    without = f"{problem}: `hookgate hooks list` and `hookgate control` cannot ask a running hookgate"
    return failing("control socket", without, 'name another in [control] path = "..."', needed=bool(control.path))


def _no_socket(path: Path, *, private: bool) -> str:
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
        return f"{path} is longer than the {SOCKET_PATH_BYTES} bytes that a socket's path may have"
    if problem := unwritable(path.parent):
        return problem
    try:
        if private and path.parent.exists():
            check_private(path.parent)
    except ControlUnavailable as error:
        return str(error)
    return ""
