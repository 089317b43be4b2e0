"""Who is known to a gateway that runs: let in and put out through its control socket, at once, and by its file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.control.client import ControlFailed, call
from hookgate.loop.doors.door import Door
from hookgate.operations.hooks import reload_hooks
from hookgate.protocol.chat import Chat, Inbound
from hookgate.serve.run import Served, open_gateway
from tests.serve.gateway import DEADLINE_S, configured

EVE = Chat("page", "66", "66")
PAGE = '[channels.page]\nkind = "web"\n[people.ann]\nids = ["page:7"]\n'


async def asked(control: Path, method: str, **params: Any) -> Any:
    return await trio.to_thread.run_sync(partial(call, control, method, params))


def strangers_are_paired(served: Served) -> None:
    """As at a platform: whoever writes there has no login."""
    doors = served.runtime.policies.doors
    doors.adopt({"page": Door(pairing=True)}, doors.people)


async def said(served: Served, text: str) -> str:
    """What became of it."""
    runtime = served.runtime
    accepted = await runtime.gateway.receive(Inbound(EVE, text))
    await runtime.gateway.idle(EVE.session_key)
    [found] = await runtime.journal.books.where(accepted.id)
    return next(it.what for it in found.passages if it.what in ("refused", "answered"))


async def test_a_stranger_is_let_in_and_put_out_while_the_gateway_runs(tmp_path: Path) -> None:
    settings, control = configured(tmp_path, PAGE), tmp_path / "control.sock"
    with trio.fail_after(DEADLINE_S):
        async with open_gateway(settings, control, trio.Event()) as served:
            strangers_are_paired(served)
            assert await said(served, "hello") == "refused"
            [waits] = await asked(control, "people.codes")
            assert waits["sender"] == "page:66"
            paired = await asked(control, "people.pair", code=waits["code"], name="eve")
            assert (paired["ids"], paired["roles"], paired["by"]) == (["page:66"], [], "operator")
            assert await said(served, "hello again") == "answered"
        # It is in the journal: the next start knows them, and a reload keeps them.
        async with open_gateway(settings, control, trio.Event()) as served:
            await reload_hooks(served.runtime)
            strangers_are_paired(served)
            assert await said(served, "still me") == "answered"
            assert [it["name"] for it in await asked(control, "people.list")] == ["ann", "eve"]
            assert await asked(control, "people.remove", name="eve") is True
            assert await said(served, "and now?") == "refused"
            for refused in ({"name": "eve", "ids": ["66"]}, {"name": "ann", "ids": ["page:8"]}):
                with pytest.raises(ControlFailed):
                    await asked(control, "people.add", **refused, roles=[])


async def test_a_key_is_made_and_revoked_in_the_gateway_that_runs_and_outlives_it(tmp_path: Path) -> None:
    settings, control = configured(tmp_path, PAGE), tmp_path / "control.sock"
    with trio.fail_after(DEADLINE_S):
        async with open_gateway(settings, control, trio.Event()) as served:
            made = await asked(control, "keys.add", name="eve", channel="rpc", role="operator")
            assert (made["holder"], made["roles"]) == ("rpc:eve", ["operator"])
            for refused in (
                {"name": "eve", "channel": "page"},
                {"name": "ann", "channel": "rpc", "role": "operator"},
            ):
                with pytest.raises(ControlFailed):
                    await asked(control, "keys.add", **refused)
            assert served.runtime.policies.operates("rpc", "eve")
            # Whoever is somebody else already does not become an operator with a key, unless that is said.
            await asked(control, "people.add", name="sue", ids=["page:9"], roles=["reader"])
            with pytest.raises(ControlFailed, match="sue is page:9 already"):
                await asked(control, "keys.add", name="sue", channel="rpc", role="operator")
            assert not served.runtime.policies.operates("page", "9")
            same = {"name": "sue", "channel": "rpc", "role": "operator", "same_person": True}
            assert (await asked(control, "keys.add", **same))["roles"] == ["reader", "operator"]
            await asked(control, "keys.revoke", name="sue")
        async with open_gateway(settings, control, trio.Event()) as served:
            keys = served.runtime.keys
            holder = keys.holder(made["key"])
            assert holder is not None
            assert (holder.channel, holder.name) == ("rpc", "eve")
            [row] = await asked(control, "keys.revoke", name="eve")
            assert (row["holder"], row["opens"]) == ("rpc:eve", True)
            assert keys.holder(made["key"]) is None
            assert await asked(control, "keys.list") == []
