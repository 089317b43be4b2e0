"""What an operator may do about approvals, asked over a real socket: look, decide, take back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.approvals.binding import NotApproved, Permit
from hookgate.approvals.rules import Rule
from hookgate.control.client import ControlFailed, call
from hookgate.control.gateway import approval_methods
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.values import Json, ToolCall
from hookgate.redaction import Redactor
from tests.approvals.asking import STEP, House, Person
from tests.control.methods import open_control

RULE = Rule("shell", Matcher({"tools": Globs(("bash",))}), approvers=("boss",))
SECRET = "s3cr3t-value"
CALL = ToolCall("c1", "bash", {"command": f"echo {SECRET}"})
DEADLINE_S = 60.0


class Operator:
    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def __call__(self, method: str, **params: Json) -> Any:
        return await trio.to_thread.run_sync(call, self._socket, f"approvals.{method}", params)


async def decided(house: House, operator: Operator, **decision: Json) -> tuple[Any, NotApproved | Permit]:
    """What an operator sees of a call that waits, decides about it, and what becomes of the call."""
    person, ended = Person(), list[NotApproved | Permit]()

    async def settle() -> None:
        ended.append(await house.settle(house.approvals.wishes(STEP, CALL), person, call=CALL))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(settle)
        await person.asked.wait()
        [row] = await operator("list", session=STEP.session_key)
        assert await operator("list", session="elsewhere") == []
        outcome = await operator("decide", request=row["request"], **decision)
        assert outcome["counted"]
    assert await operator("list") == []
    late = await operator("decide", request=row["request"], approved=False)
    assert (late["counted"], late["text"].split()[0]) == (False, "operator")
    return row, ended[0]


async def test_an_operator_sees_decides_and_takes_back(tmp_path: Path) -> None:
    house, socket = House(RULE, redactor=Redactor([SECRET])), tmp_path / "control.sock"
    with trio.fail_after(DEADLINE_S):
        async with open_control(socket, approval_methods(house.approvals)):
            operator = Operator(socket)
            row, refused = await decided(house, operator, approved=False, reason="not on a Friday")
            assert isinstance(refused, NotApproved)
            assert refused.reason == "not on a Friday"
            assert (row["tool"], row["asked_by"], row["title"]) == ("bash", "rule:shell", "Run bash?")
            assert (row["session"], row["approvers"], row["expires_at"]) == ("telegram:42", ["boss"], 1600.0)
            assert row["arguments"]["command"].startswith("echo [REDACTED:")
            _, permit = await decided(house, operator, approved=True, grant="session")
            assert isinstance(permit, Permit)
            [grant] = await operator("grants")
            assert (grant["session"], grant["by"]) == ("telegram:42", "operator")
            assert grant["text"] == "every bash call of this conversation that rule:shell asks about"
            assert await operator("grants", session="telegram:43") == []
            assert await operator("revoke", grant=grant["grant"]) is True
            assert await operator("revoke", grant=grant["grant"]) is False
            assert await operator("grants") == []


async def test_what_was_never_asked_is_unknown_and_no_error(tmp_path: Path) -> None:
    socket = tmp_path / "control.sock"
    with trio.fail_after(DEADLINE_S):
        async with open_control(socket, approval_methods(House().approvals)):
            came = await Operator(socket)("decide", request="5f1d8c3ab0e94726", approved=True)
            assert came == {"counted": False, "state": "unknown", "text": "There is no such request."}


@pytest.mark.parametrize("params", [{"approved": 1}, {"approved": "yes"}, {"approved": True, "grant": "for ever"}])
async def test_a_decision_of_another_shape_is_none(tmp_path: Path, params: dict[str, Json]) -> None:
    socket = tmp_path / "control.sock"
    with trio.fail_after(DEADLINE_S):
        async with open_control(socket, approval_methods(House().approvals)):
            with pytest.raises(ControlFailed) as failed:
                await Operator(socket)("decide", request="5f1d8c3ab0e94726", **params)
    assert failed.value.code == -32602
