"""The first hook in each language: its files and its SDK's, its command, and what is typed before it runs.

A hook with an SDK is the example that comes with it. None is started here; Node alone is asked for its version.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hookgate.config import ConfigError
from hookgate.extensions.sdk import plugins_folder
from hookgate.protocol.dataclasses import dataclass

NODE_S = 10.0
STRIPS = "--experimental-strip-types"
GO_MODULE = """\
module guard

go 1.21

require hookgate.internal/plugin v0.1.0

// The SDK lies beside this file.
replace hookgate.internal/plugin => ./hookgate
"""


@dataclass(frozen=True, slots=True)
class FirstHook:
    """`files`: their contents, by their places in the folder. `before`: what is typed first. `lacks`: what is not
    on this machine."""

    name: str
    about: str
    command: tuple[str, ...]
    files: Mapping[str, str]
    before: tuple[str, ...] = ()
    lacks: str = ""


def first_hook(language: str) -> FirstHook:
    """Raises ConfigError where the SDKs are not there."""
    if language == "none":
        about = "This one denies `rm -rf`. It is a short piece of plain Python; read it, then change it."
        text = Path(__file__).with_name("example_hook.py").read_text(encoding="utf-8")
        return FirstHook("example", about, ("python3", "hooks/example_hook.py"), {"hooks/example_hook.py": text})
    plugins = plugins_folder()
    if plugins is None:
        raise ConfigError("the SDKs are not installed beside hookgate")
    return {"python": _python, "go": _go, "typescript": _typescript}[language](plugins)


def _python(plugins: Path) -> FirstHook:
    about = "This one denies commands that destroy. Its SDK is the one file hookgate_plugin.py beside it."
    files = {f"hooks/{name}": _text(plugins / "python" / name) for name in ("guard.py", "hookgate_plugin.py")}
    return FirstHook("guard", about, ("python3", "hooks/guard.py"), files)


def _go(plugins: Path) -> FirstHook:
    about = "This one denies commands that destroy. `cd hooks/guard && go build` makes it anew when it has changed."
    sdk = plugins / "go"
    ours = [sdk / "go.mod", *(sdk / "hook").glob("*.go"), *(sdk / "stdio").glob("*.go")]
    copied = {file.relative_to(sdk).as_posix(): _text(file) for file in ours if not file.stem.endswith("_test")}
    files = {
        "hooks/guard/main.go": _text(sdk / "cmd" / "guard" / "main.go"),
        "hooks/guard/go.mod": GO_MODULE,
        **{f"hooks/guard/hookgate/{name}": text for name, text in sorted(copied.items())},
    }
    lacks = "" if shutil.which("go") else "there is no go on PATH, and the hook is to be built: Go 1.21 or later"
    return FirstHook("guard", about, ("hooks/guard/guard",), files, ("(cd hooks/guard && go build)",), lacks)


def _typescript(plugins: Path) -> FirstHook:
    about = "This one denies commands that destroy. Its SDK is the one file hookgate_plugin.mts beside it."
    names = ("guard.mts", "hookgate_plugin.mts", "tsconfig.json")
    files = {f"hooks/{name}": _text(plugins / "typescript" / name) for name in names}
    version = _node_version()
    flag = (STRIPS,) if (22, 6) <= version < (22, 18) or (23, 0) <= version < (23, 6) else ()
    return FirstHook("guard", about, ("node", *flag, "hooks/guard.mts"), files, lacks=_node_lacks(version))


def _node_lacks(version: tuple[int, ...]) -> str:
    if version >= (22, 6):
        return ""
    found = f"the node on PATH is {'.'.join(map(str, version))}" if version else "there is no node on PATH"
    return f"{found}, and the hook needs Node 22.18 or later (from 22.6 on with {STRIPS})"


def _node_version() -> tuple[int, ...]:
    """Of the one on PATH; empty where there is none that says so."""
    try:
        done = subprocess.run(
            ("node", "--version"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=NODE_S
        )
        return tuple(int(part) for part in done.stdout.strip().removeprefix("v").split("."))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
