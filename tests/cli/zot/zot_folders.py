"""Folders of real extensions: the one with every manner, and one with a panel that hears keys."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

EXTENSION = Path(__file__).parents[2] / "children" / "zot_ext.py"

# A list whose cursor moves; `x` ends it by itself, `s` submits, `!` opens another panel over it.
PANEL = """
import json, sys

def say(*frames):
    for frame in frames:
        print(json.dumps(frame), flush=True)

def panel():
    lines = [("* " if row == cursor else "  ") + f"row {row}" for row in range(3)]
    return {"lines": [*lines, "last " + last], "footer": "closes with x"}

cursor, last = 0, "none"
register = [{"type": "register_command", "name": name} for name in ("rows", "heard", "hang")]
say({"type": "hello", "name": "panel", "version": "1"}, *register, {"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    match frame["type"]:
        case "command_invoked" if frame["name"] == "rows":
            shown = {"id": "rows", "title": "Rows", **panel()}
            say({"type": "command_response", "id": frame["id"], "action": "open_panel", "open_panel": shown})
        case "command_invoked" if frame["name"] == "heard":
            say({"type": "command_response", "id": frame["id"], "action": "display", "display": "last " + last})
        case "command_invoked":
            say({"type": "notify", "level": "info", "message": "thinking"})
        case "panel_key":
            last = frame["key"] + (":" + frame["text"] if "text" in frame else "")
            cursor += {"down": 1, "up": -1}.get(frame["key"], 0)
            match frame.get("text"):
                case "x":
                    say({"type": "panel_close", "panel_id": "rows"})
                case "s":
                    say({"type": "submit", "text": "from the panel"})
                case "!":
                    say({"type": "open_panel", "panel": {"id": "other", "title": "Other", "lines": ["alone"]}})
                case _:
                    say({"type": "panel_render", "panel_id": frame["panel_id"], **panel()})
        case "panel_close":
            last = "closed " + frame["panel_id"]
        case "shutdown":
            break
"""


def extension(folder: Path, name: str, *more: dict[str, Any], mode: str = "plain", **members: Any) -> Path:
    """The extension with every manner in a folder of its own; `more` are frames that it sends at its start."""
    # The folder's path marks its process as this test's.
    args = [str(EXTENSION), mode, json.dumps(more), str(folder)]
    return _manifest(folder / name, {"name": name, "exec": sys.executable, "args": args, **members})


def panel_extension(folder: Path) -> Path:
    directory = _manifest(folder / "panel", {"name": "panel", "exec": sys.executable, "args": ["panel.py"]})
    (directory / "panel.py").write_text(PANEL)
    return directory


def _manifest(directory: Path, members: dict[str, Any]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "extension.json").write_text(json.dumps(members))
    return directory


def installed(home: Path) -> Path:
    """Where a chat finds extensions by itself, and runs them without a question."""
    return home / ".local" / "share" / "hookgate" / "extensions"


def project(folder: Path) -> Path:
    """Where it finds those that came with the project."""
    return folder / ".hookgate" / "extensions"


def do(**wish: Any) -> str:
    """What is typed to make the extension answer its command so: `frames` first, then `answer`."""
    return f"/do {json.dumps(wish)}"


def tool(name: str) -> dict[str, Any]:
    return {"type": "register_tool", "name": name, "description": f"the tool {name}", "schema": {"type": "object"}}


def command(name: str) -> dict[str, Any]:
    return {"type": "register_command", "name": name, "description": f"the command {name}"}
