"""docs/json-rpc.md keeps its word: its requests are answered so by a gateway, and openrpc.json is what it says of
itself."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import trio

from hookgate.operations.approvals import PendingRequest
from hookgate.operations.programs import Progress
from hookgate.protocol.codec import decode
from tests.docs.page import codes, read_page
from tests.serve.gateway import configured, open_served

DOCS = Path(__file__).parents[2] / "docs"
PAGE = read_page(DOCS / "json-rpc.md")


async def test_the_requests_are_answered_as_the_page_shows(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path)) as served:
        keys = served.runtime.keys
        _key, shown = await keys.add("rpc", "build", "operator")
        env = {"KEY": shown, "URL": f"http://{served.address}", "PATH": "/usr/bin:/bin"}
        [part] = PAGE.marked("run")
        for block in re.split(r"^\$ ", part.text, flags=re.MULTILINE)[1:]:
            command, _, expected = block.partition("\n")
            ended = await trio.run_process(["sh", "-c", command], env=env, capture_stdout=True)
            assert decode(ended.stdout) == decode(expected), command


def test_what_it_says_of_approvals_is_what_they_take_and_give() -> None:
    text = (DOCS / "json-rpc.md").read_text()
    told = text[text.index("`approvals.list` takes") : text.index("`approvals.decide` takes")]
    assert {it.name for it in fields(PendingRequest)} <= set(codes(told))
    [example] = [decode(part.text.encode()) for part in PAGE.parts if part.language == "json"]
    methods = decode((DOCS / "openrpc.json").read_bytes())["methods"]
    [decide] = [it for it in methods if it["name"] == "approvals.decide"]
    assert list(example["params"]) == [it["name"] for it in decide["params"]]


def test_the_states_are_all_there_are() -> None:
    states = get_args(get_type_hints(Progress)["state"])
    flat = {it for state in states for it in (get_args(state) or (state,))}
    assert {code for row in PAGE.one("states").rows for code in codes(row[0])} == flat
