"""How the channels of a gateway are: each by its own word, over HTTP, for operators, and where none runs."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from hookgate.control.gateway import gateway_methods
from hookgate.operations.channels import ChannelStatus
from hookgate.protocol.chat.channel import ChannelState, Reception
from hookgate.serve.readiness import Readiness
from tests.cli.program import run
from tests.serve.gateway import configured, get, open_served

PAGE = '[channels.page]\nkind = "web"\n'


def test_a_state_is_as_old_as_it_has_been_so_and_says_the_last_reason() -> None:
    state = ChannelState("receiving", 1.0).become("down", "no network", 2.0)
    assert state == ChannelState("down", 2.0, "no network")
    assert state.become("down", "the token is revoked", 3.0) == ChannelState("down", 2.0, "the token is revoked")
    assert state.become("receiving", "", 4.0) == ChannelState("receiving", 4.0)


async def test_a_page_receives_while_its_server_accepts_and_ready_judges_by_it(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE)) as served:
        page = served.runtime.pages["page"].channel
        status, ready = await get(served, "/ready")
        assert (status, ready["channels"]["page"]) == (
            200,
            {"state": "receiving", "since": page.state.since, "why": ""},
        )
        # One that is there as long as the gateway is has been since its start.
        started = served.runtime.telemetry.started_at
        assert ready["channels"]["rpc"] == {"state": "receiving", "since": started, "why": ""}
        page.served(accepting=False)
        listed = await gateway_methods(served.runtime)["channels.list"].call()
        down = ("page", "web", "down", page.state.since, "its server takes no connections")
        assert listed == (ChannelStatus(*down), ChannelStatus("rpc", "", "receiving", started))
    assert page.state.state == "down"


def test_a_channel_that_is_degraded_or_held_elsewhere_is_ready_and_one_that_is_down_is_not() -> None:
    states = {state: Readiness({"page": ChannelState(state)}).ready for state in get_args(Reception)}
    assert states == {"receiving": True, "degraded": True, "elsewhere": True, "down": False}


async def test_without_a_gateway_the_command_shows_what_would_be_opened(tmp_path: Path) -> None:
    configured(tmp_path, PAGE)
    shown = await run(tmp_path, "channels")
    head, row = shown.stdout.decode().splitlines()[1:]
    assert (head.split(), row.split()) == (
        ["name", "kind", "state"],
        ["page", "web", "stopped"],
    )
