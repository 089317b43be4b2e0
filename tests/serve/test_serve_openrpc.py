"""What a gateway says of its methods holds: the document is one of OpenRPC's, and each method takes and gives what it
says."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hookgate.control.gateway import gateway_methods
from hookgate.control.methods import Methods
from hookgate.control.rpc import dispatch
from hookgate.protocol.approval import Voter
from hookgate.protocol.codec import decode, encode
from tests.control.openrpc import document_validator, said_of
from tests.serve.gateway import configured, open_served
from tests.serve.test_serve_rpc import ASKS, RULE

PAGE = Path(__file__).parents[2] / "docs" / "openrpc.json"
ANEW = "hookgate control rpc.discover | python3 -m json.tool --indent 1 > docs/openrpc.json, with hookgate serve"
REFUSED = (
    *("mcp.show", "mcp.approve", "mcp.forget", "people.pair", "letters.retry", "letters.drop", "hooks.restart"),
    "hooks.recorded",
)
"""What there is nothing for here: no server, no stranger, nothing given up, no hook of that name."""
GIVEN: dict[str, dict[str, Any]] = {
    "message.wait": {"message": "M1", "timeout_s": 50, "asked": True},
    "people.add": {"name": "eve", "ids": ["web:eve"], "roles": ["ops"]},
    "people.role": {"name": "eve", "roles": []},
    "keys.add": {"name": "eve", "channel": "rpc", "role": "ops", "same_person": True},
    "keys.revoke": {"name": "eve"},
    "approvals.decide": {"request": "", "approved": True, "grant": "session"},
    "approvals.revoke": {"grant": "none"},
    "journal.where": {"message": "M1"},
    "sessions.show": {"conversation": "rpc:operator/default/0"},
    "sessions.stop": {"session": "rpc:operator"},
    "hooks.restart": {"name": "none"},
    "hooks.recorded": {"recording": "none", "wait_s": 0},
    "hooks.record_end": {"recording": "none"},
    "letters.retry": {"letter": "none"},
    "letters.drop": {"letter": "none"},
    "mcp.show": {"name": "none"},
    "mcp.forget": {"name": "none"},
    "mcp.approve": {"name": "none", "row": "", "tools": {}},
    "people.pair": {"code": "none"},
    "people.remove": {"name": "eve"},
    "sessions.forget": {"session": "rpc:operator"},
    "message.send": {"text": "again", "session": "other"},
}
"""In an order in which each finds something; what is not here takes nothing, or nothing that it must have."""


@asynccontextmanager
async def open_methods(folder: Path) -> AsyncGenerator[tuple[Methods, Any]]:
    """Of a gateway in which a call waits for somebody, and what they say of themselves."""
    async with open_served(configured(folder, RULE, ASKS)) as served:
        methods = gateway_methods(served.runtime)
        await answered(methods, "message.send", {"text": "list it"})
        asked = await answered(methods, "message.wait", GIVEN["message.wait"])
        GIVEN["approvals.decide"]["request"] = asked["result"]["requests"][0]
        yield methods, (await answered(methods, "rpc.discover", {}))["result"]


async def answered(methods: Methods, method: str, params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    frame = await dispatch(encode(request), methods)
    assert frame is not None
    return decode(frame)


async def test_the_document_is_what_openrpc_asks_for_and_the_one_that_the_page_names(tmp_path: Path) -> None:
    async with open_methods(tmp_path) as (methods, document):
        problems = [f"{it.instance_path}: {it.message}"[:300] for it in document_validator().iter_errors(document)]
        assert problems == []
        assert {it["name"] for it in document["methods"]} == methods.keys()
        assert [it["name"] for it in document["methods"] if not it["summary"]] == []
        written = json.dumps(document, indent=1) + "\n"
        assert PAGE.read_text() == written, (
            f"write it anew:\nhookgate control rpc.discover | python3 -m json.tool --indent 1 > {PAGE}"
        )


async def test_every_method_takes_what_it_says_and_gives_what_it_says(tmp_path: Path) -> None:
    async with open_methods(tmp_path) as (methods, document):
        described = {it["name"]: it for it in document["methods"]}
        for name in [*GIVEN, *sorted(methods.keys() - GIVEN.keys() - {"message.send"}), "message.send"]:
            its, params = (
                described[name],
                {"text": "again", "session": "x"} if name == "message.send" else GIVEN.get(name, {}),
            )
            shapes = {it["name"]: it for it in its["params"]}
            assert {it["name"] for it in its["params"] if it["required"]} <= params.keys() <= shapes.keys(), name
            for given, value in params.items():
                said_of(document, shapes[given]["schema"]).validate(value)
            answer = await answered(methods, name, params)
            if name in REFUSED:
                assert answer["error"]["code"] == its["errors"][0]["code"] == -32000, answer
            else:
                assert "result" in answer, (name, answer)
                said_of(document, its["result"]["schema"]).validate(answer["result"])
            for given, shape in shapes.items():
                if shape["schema"].get("type") in ("string", "number", "integer", "boolean"):
                    wrong = await answered(methods, name, {**params, given: {"not": "this"}})
                    assert wrong["error"]["code"] == -32602, (name, given)


async def test_a_program_that_is_no_operator_is_told_of_its_own_methods(tmp_path: Path) -> None:
    from hookgate.control.programs import program_methods

    async def nowhere(_by: str, _did: str, _about: str) -> None:
        pytest.fail("it changes nothing that is recorded")

    async with open_served(configured(tmp_path)) as served:
        own = program_methods(served.runtime, Voter("rpc", "bob"), nowhere, operates=False)
        document = (await answered(own, "rpc.discover", {}))["result"]
        names = [it["name"] for it in document["methods"]]
        assert names == ["approvals.decide", "approvals.list", "message.send", "message.wait", "rpc.discover"]
        assert [*document_validator().iter_errors(document)] == []
        operators = program_methods(served.runtime, Voter("rpc", "ann"), nowhere, operates=True)
        assert {it["name"] for it in (await answered(operators, "rpc.discover", {}))["result"]["methods"]} == set(
            operators
        )
