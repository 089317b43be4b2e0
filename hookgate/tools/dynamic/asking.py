"""What a person reads before a tool is made or removed: all of its code, what changes, what it will be able to do.

Never raises: a call that is going to be refused is shown with the reason.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path

from hookgate.protocol.approval import Lasting
from hookgate.protocol.catalog import ToolRow
from hookgate.protocol.codec import encode
from hookgate.protocol.values import ToolCall
from hookgate.tools import arguments
from hookgate.tools.dynamic.cell.cell import walls_note
from hookgate.tools.dynamic.cell.folder import MAX_FOLDER_BYTES
from hookgate.tools.dynamic.draft import NEW_TOOL, Draft, read_draft
from hookgate.tools.dynamic.identity import CALL_TIMEOUT_S, digest
from hookgate.tools.dynamic.ledger import Ledger
from hookgate.tools.dynamic.packages import required
from hookgate.tools.dynamic.scaffold import body_of, program_text
from hookgate.tools.dynamic.shelf import read_program, read_text
from hookgate.tools.dynamic.workshop import APPROVE, UNREGISTER_TOOL, Workshop
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
    approved = digest(text, draft.members)
    lines = [
        f"A tool {draft.name} that returns {draft.returns}: {_one_line(draft.description)}",
        walls_note(workshop.place.sandbox),
        f"Requires packages: {', '.join(draft.requires) or 'none'}",
        f"Arguments: {encode(draft.parameters).decode('utf-8', 'replace')}",
        f"SHA-256 of program and spec: {approved}",
        *_instead_of(workshop.ledger, draft, approved),
        "Its code:",
        draft.body.strip("\n"),
    ]
    return "\n".join(lines)


def vouched_text(workshop: Workshop, row: ToolRow) -> str:
    """A kept tool as it is, for the operator who vouches for it. Reads its program, which blocks.

    Raises ToolError (stale) where that is not what was kept.
    """
    data = read_program(Path(row.source))
    if data is None or _kept_digest(row, data) != row.sha256:
        raise ToolError("stale", APPROVE, f"{row.source} is not what was approved, or gone")
    lines = [
        f"The tool {row.name} ({row.origin}'s): {_one_line(str(row.spec.get('description', '')))}",
        walls_note(workshop.place.sandbox),
        f"Limits of a call: {CALL_TIMEOUT_S:g} s, 1 GiB of memory, {MAX_FOLDER_BYTES} bytes in its private folder",
        f"Requires packages: {', '.join(required(row)) or 'none'}",
        f"Arguments: {encode(row.spec.get('parameters')).decode('utf-8', 'replace')}",
        f"SHA-256 of program and spec: {row.sha256}",
        f"Its program, {row.source}:",
        data.decode("utf-8", "replace").strip("\n"),
    ]
    return "\n".join(lines)


def _kept_digest(row: ToolRow, data: bytes) -> str:
    program = data.decode("utf-8", "replace") if row.kind == "process" else sha256(data).hexdigest()
    return digest(program, row.spec)


def _one_line(text: str) -> str:
    """What a model wrote must not look like hookgate's own lines."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _instead_of(ledger: Ledger, draft: Draft, approved: str) -> list[str]:
    row, there = ledger.row(draft.name), read_text(ledger.shelf.path(draft.name))
    if row is not None and row.sha256 == approved:
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
