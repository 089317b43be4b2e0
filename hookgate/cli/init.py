"""`hookgate init`: a first hookgate.toml and a working hook. Knows where they go, not what they say."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from hookgate.cli.printing import failed
from hookgate.config import FILE_NAME

HERE = Path(__file__).parent
FILES = {FILE_NAME: "init.toml", "hooks/example_hook.py": "init_hook.py"}
GATEWAY = "init_gateway.toml"
"""What is written, and which of the files beside this one it is made from; GATEWAY goes behind the first."""


OLLAMA = f"in {FILE_NAME} take the # from the line of Ollama's model"
GATED = """\
Gated: bash, write and edit ask you before each call (or once for a conversation), bash runs in a sandbox where the
machine has one, the example hook denies rm -rf, and of calls that a model writes into its text every one asks.
Not gated: read, ls, glob, grep and web_fetch run at once; they reach files of the workspace, and public pages."""


def run_init(folder: Path, *, force: bool, gateway: bool = False) -> int:
    """The exit status: 1 with one line on stderr, and nothing written, where a file is in the way."""
    present = [name for name in FILES if os.path.lexists(folder / name)]
    if present and not force:
        return failed(f"{folder / present[0]} exists; --force overwrites it")
    contents = {folder / name: (HERE / source).read_text(encoding="utf-8") for name, source in FILES.items()}
    if gateway:
        contents[folder / FILE_NAME] += (HERE / GATEWAY).read_text(encoding="utf-8")
    try:
        _write(contents)
    except OSError as error:
        return failed(f"cannot write {error.filename or folder}: {error.strerror or error}")
    sys.stdout.write(_next_steps(folder, "serve" if gateway else "chat"))
    return 0


def _write(contents: Mapping[Path, str]) -> None:
    # All folders before the first file: what cannot be made must not leave half a beginning.
    for file in contents:
        file.parent.mkdir(parents=True, exist_ok=True)
    for file, text in contents.items():
        file.write_text(text, encoding="utf-8")


def _next_steps(folder: Path, command: str) -> str:
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    steps = (
        f"{enter}export OPENAI_API_KEY=...   # or ANTHROPIC_API_KEY; or {OLLAMA}",
        "hookgate config check",
        f"hookgate {command}",
    )
    return f"Wrote {' and '.join(FILES)}.\n{GATED}\nWhat to do next:\n" + "".join(f"  {step}\n" for step in steps)
