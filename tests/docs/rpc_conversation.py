"""Plays a conversation that a page shows, with the real program: `→` is sent, `←` must come; `...` skips."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.cli.rpc_client import Client
from tests.docs.page import Page

_APPROVAL, _DIGEST = re.compile(r'"approval": "[0-9a-f]{16}"'), re.compile(r'"digest": "[0-9a-f]{64}"')
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def write_files(page: Page, folder: Path, *names: str) -> None:
    """The files that the page tells to make."""
    for part in page.marked("file"):
        name = part.mark.split()[1]
        if name in names:
            (folder / name).write_text(part.text)


async def play(client: Client, lines: Iterable[str]) -> None:
    skipping, ids = False, dict[str, str]()
    for line in lines:
        match line[0]:
            case "→":
                sent = line[2:]
                for shown, true in ids.items():
                    sent = sent.replace(shown, true)
                await client.raw(sent.encode())
            case "←":
                expected = json.loads(line[2:])
                found = await client.next()
                while skipping and found["type"] != expected["type"]:
                    found = await client.next()
                skipping = False
                if "approval" in expected:
                    ids[expected["approval"]] = found["approval"]
                assert masked(found) == masked(expected), (found, expected)
            case _:
                skipping = True


def masked(frame: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run."""
    text = _TIME.sub("TIME", json.dumps(frame))
    text = _APPROVAL.sub('"approval": "ID"', _DIGEST.sub('"digest": "SHA"', text))
    members = json.loads(text)
    if "cwd" in members.get("data", {}):
        members["data"]["cwd"] = "CWD"
    return members
