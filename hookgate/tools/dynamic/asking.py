"""What a person reads before a tool is made or removed: all of its code, what changes, what it will be able to do.

Never raises: a call that is going to be refused is shown with the reason.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hookgate.protocol.approval import Lasting
from hookgate.protocol.codec import encode
from hookgate.protocol.values import ToolCall
from hookgate.tools import arguments
from hookgate.tools.dynamic.cell import walls_note
from hookgate.tools.dynamic.draft import NEW_TOOL, Draft, read_draft
from hookgate.tools.dynamic.identity import digest
from hookgate.tools.dynamic.ledger import Ledger
from hookgate.tools.dynamic.scaffold import body_of, program_text
from hookgate.tools.dynamic.shelf import read_text
from hookgate.tools.dynamic.workshop import UNREGISTER_TOOL, Workshop
from hookgate.tools.errors import ToolError


def approval_text(workshop: Workshop, call: ToolCall) -> str:
    """For `new_tool` and `unregister_tool`; empty for every other call. Reads the file of an older tool."""
    if call.name == NEW_TOOL:
        return _making(workshop, call)
    if call.name == UNREGISTER_TOOL:
        return _removing(workshop.ledger, arguments.text(call, "name"))
    return ""


def lasting(workshop: Workshop, call: ToolCall) -> Lasting | None:
    """What may be allowed for always: a tool exactly as it is. Nothing where the call is none that makes one."""
    if call.name != NEW_TOOL:
        return None
    try:
        draft = read_draft(call)
        text = program_text(draft)
    except ToolError:
        return None
    keep = partial(workshop.allow_always, digest(text, draft.members))
    return Lasting(f"{draft.name} comes back with every start, as long as it is exactly this", keep)


def _making(workshop: Workshop, call: ToolCall) -> str:
    try:
        draft = read_draft(call)
        text = program_text(draft)
    except ToolError as error:
        return f"It will be refused: {error.reason}"
    sha256 = digest(text, draft.members)
    lines = [
        f"A tool {draft.name} that returns {draft.returns}: {_one_line(draft.description)}",
        walls_note(workshop.place.sandbox),
        f"Requires packages: {', '.join(draft.requires) or 'none'}",
        f"Arguments: {encode(draft.parameters).decode('utf-8', 'replace')}",
        f"SHA-256 of program and spec: {sha256}",
        *_instead_of(workshop.ledger, draft, sha256),
        "Its code:",
        draft.body.strip("\n"),
    ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """What a model wrote must not look like hookgate's own lines."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _instead_of(ledger: Ledger, draft: Draft, sha256: str) -> list[str]:
    row, there = ledger.row(draft.name), read_text(ledger.shelf.path(draft.name))
    if row is not None and row.sha256 == sha256:
        return ["It is the tool that was approved before, unchanged."]
    if there is None:
        return []
    return [
        "It replaces another; the difference of their code:",
        *_difference(body_of(there), draft.body.strip("\n")),
    ]


def _difference(old: str, new: str) -> list[str]:
    # Needed for the rare question that replaces something.
    from difflib import unified_diff

    return list(unified_diff(_flat(old), _flat(new), "before", "after", lineterm="")) or ["(none)"]


def _flat(body: str) -> list[str]:
    """Lines without the step that a body has in its function, so that indentation alone is no difference."""
    lines = body.splitlines()
    moved = all(line.startswith("    ") for line in lines if line.strip())
    return [line[4:] if moved else line for line in lines]


def _removing(ledger: Ledger, name: str) -> str:
    row = ledger.row(name)
    if row is None:
        return "It will be refused: there is no such tool."
    return f"Removes the tool {name} ({row.origin}'s), made of {Path(row.source)}; the file stays."
