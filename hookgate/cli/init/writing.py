"""`hookgate init`: a first hookgate.toml and a working hook. Knows where they go, not what they say."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from hookgate.cli.init.languages import FirstHook, first_hook
from hookgate.cli.printing import failed, say
from hookgate.config import FILE_NAME
from hookgate.protocol.codec import encode

HERE = Path(__file__).parent

OLLAMA = f"in {FILE_NAME} take the # from the line of Ollama's model"
GATED = (
    "Gated: bash, write and edit ask you before each call (or once for a conversation), bash runs in a sandbox where "
    "the machine has one, the example hook denies rm -rf, and of calls that a model writes into its text every one "
    "asks.\n"
    "Not gated: read, ls, glob, grep and web_fetch run at once; they reach files of the workspace, and public pages."
)


def run_init(folder: Path, *, force: bool, gateway: bool = False, sdk: str = "none") -> int:
    """The exit status: 1 with one line on stderr, and nothing written, where a file is in the way."""
    hook = first_hook(sdk)
    contents = {FILE_NAME: _configuration(hook, gateway=gateway), **hook.files}
    present = [name for name in contents if os.path.lexists(folder / name)]
    if present and not force:
        return failed(f"{folder / present[0]} exists; --force overwrites it")
    inside = folder.resolve()
    astray = [name for name in contents if not (folder / name).parent.resolve().is_relative_to(inside)]
    if astray and not force:
        return failed(f"{(folder / astray[0]).parent} leads out of {inside}; --force writes there")
    try:
        _write({folder / name: text for name, text in contents.items()})
    except OSError as error:
        return failed(f"cannot write {error.filename or folder}: {error.strerror or error}")
    say(_next_steps(folder, hook, "serve" if gateway else "chat"))
    return 0


def _configuration(hook: FirstHook, *, gateway: bool) -> str:
    names = ("hookgate.toml", "gateway.toml") if gateway else ("hookgate.toml",)
    text = "".join((HERE / name).read_text(encoding="utf-8") for name in names)
    command = encode(hook.command).decode().replace(",", ", ")
    for mark, value in {"@ABOUT@": hook.about, "@NAME@": hook.name, "@COMMAND@": command}.items():
        text = text.replace(mark, value)
    return text


def _write(contents: Mapping[Path, str]) -> None:
    # All folders before the first file: what cannot be made must not leave half a beginning.
    for file in contents:
        file.parent.mkdir(parents=True, exist_ok=True)
    for file, text in contents.items():
        file.write_text(text, encoding="utf-8")


def _next_steps(folder: Path, hook: FirstHook, command: str) -> str:
    enter = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    steps = [
        *hook.before,
        f"hookgate hooks check -- {shlex.join(hook.command)}",
        f"export OPENAI_API_KEY=...   # or ANTHROPIC_API_KEY; or {OLLAMA}; or none: `hookgate docs scripted`",
        "hookgate config check",
        f"hookgate {command}",
    ]
    steps[0] = enter + steps[0]
    lacks = f"\n! {hook.lacks}." if hook.lacks else ""
    *first, last = FILE_NAME, *_shown(hook)
    told = (f"Wrote {', '.join(first)} and {last}.", f"{GATED}{lacks}", "What to do next:")
    return "\n".join([*told, *(f"  {step}" for step in steps)])


def _shown(hook: FirstHook) -> list[str]:
    """The hook's files; of a folder full of them the folder."""
    return list(hook.files) if len(hook.files) < 3 else [f"{Path(next(iter(hook.files))).parent}/"]
