"""What to do about a failure, from what the program wrote to stderr and what lies where it should be: the mistakes of
a first hook. Does not know how a failure was found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hookgate.check.report import Finding
from hookgate.processes.pipes import Program
from hookgate.protocol.dataclasses import replace

RAISED_FIX = "the handler failed: the last lines of its stderr below say where; answer with an action instead"
SILENT_FIX = "it ended without a word: does it call plugin.run()?"
ENDED_FIX = "it ended before it said hello: mend what its stderr says; does it call plugin.run()?"
NODE_FIX = "this node is too old for TypeScript: take 22.18 or later (from 22.6 on with --experimental-strip-types)"
NO_SDK_FIX = "the SDK is not beside it: `hookgate init --sdk python` in an empty folder writes it, or pip installs it"
_NO_SDK = "No module named 'hookgate_plugin'"
_RAISED = ("Traceback (most recent call last)", "\n    at ", "goroutine ")
_TOO_OLD = ('Unknown file extension ".mts"', 'Unknown file extension ".ts"', "bad option: --experimental-strip-types")


def not_started(start: Program, otherwise: str) -> str:
    """A program that is not there, in a folder with Go in it, has not been built."""
    folder = (Path(start.directory) / start.command[0]).parent
    built = "/" in start.command[0] and any(any(it.glob("*.go")) for it in (folder, folder.parent))
    return f"it is not built yet: go build; otherwise {otherwise}" if built else otherwise


def about_node(stderr: Sequence[str]) -> str:
    """What to do where a node has said that it does not know TypeScript; empty: none has."""
    text = "\n".join(stderr)
    return NODE_FIX if any(sign in text for sign in _TOO_OLD) else ""


def advised(finding: Finding) -> Finding:
    """With its stderr in it. One that ended before it said hello has its last line in `what`."""
    text = "\n".join(finding.stderr)
    if fix := about_node(finding.stderr):
        return replace(finding, fix=fix)
    if finding.check == "hello" and finding.came == "the end of the process":
        if not finding.stderr:
            return replace(finding, fix=SILENT_FIX)
        fix = NO_SDK_FIX if _NO_SDK in text else ENDED_FIX
        return replace(finding, what=f"{finding.what}: {finding.stderr[-1].strip()}", fix=fix)
    if finding.came.startswith("error ") and any(sign in text for sign in _RAISED):
        return replace(finding, fix=RAISED_FIX)
    return finding
