"""A tool that the model makes in one step and calls in the next, through the whole loop, with a person in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hookgate import config as configuration
from hookgate.assembly.tools.dynamic import dynamic_rules
from hookgate.protocol.approval import Decision
from hookgate.providers.scripted import ScriptedCall
from tests.flow.gateway import open_flow
from tests.loop.recording import Bench, asks_for, says
from tests.model_server import calls
from tests.model_server import says as answer
from tests.tools.dynamic.shops import Shop, open_shop

BODY = "return f\"hello {args['who']}\""
CONFIG = configuration.parse("dynamic.enabled = true", Path("hookgate.toml"))
WISH = {"name": "greet", "description": "Greets.", "body": BODY, "args": [{"name": "who"}]}


def wants(name: str, /, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name, json.dumps(arguments))


def bench(shop: Shop, *steps: Any) -> Bench:
    return Bench(*steps, registry=shop.registry, rules=dynamic_rules(CONFIG, shop.workshop))


async def test_a_tool_made_in_one_step_is_called_in_the_next_and_removed_in_the_last(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        talk = bench(
            shop,
            asks_for(wants("new_tool", **WISH)),
            asks_for(wants("greet", who="ann")),
            asks_for(wants("unregister_tool", name="greet")),
            asks_for(wants("greet", who="bob")),
            says("done"),
        )
        talk.room.answers = [Decision(True, "ann"), Decision(True, "ann")]
        assert (await talk.play("go"))[-1] == "done"
        made, greeted, removed, gone = talk.results()
        assert made == "Added the tool greet. You can call it from your next step on."
        assert greeted == "hello ann"
        assert removed == "Removed the tool greet."
        assert gone.startswith("ERROR (not_found) greet")
        assert [request.call.name for request in talk.room.asked] == ["new_tool", "unregister_tool"]
        assert talk.room.asked[0].text.endswith(f"Its code:\n{BODY}")
        assert talk.agent.tally.balanced


async def test_in_the_batch_that_makes_it_a_tool_is_not_there_yet(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        both = asks_for(wants("new_tool", **WISH), wants("greet", who="ann"))
        talk = bench(shop, both, says("done"))
        talk.room.answers = [Decision(True, "ann")]
        await talk.play("go")
        assert talk.results()[1].startswith("ERROR (not_found) greet")


async def test_a_tool_that_a_person_refuses_leaves_nothing(tmp_path: Path) -> None:
    async with open_shop(tmp_path) as shop:
        talk = bench(shop, asks_for(wants("new_tool", **WISH)), says("done"))
        talk.room.answers = [Decision(False, "ann", "not today")]
        await talk.play("go")
        assert "not today" in talk.results()[0]
        assert shop.names() == set()
        assert list(shop.folder.rglob("*")) == [] if shop.folder.exists() else True
        assert talk.agent.tally.balanced


async def test_through_the_whole_gateway_with_a_model_over_http_and_a_store_on_disk(tmp_path: Path) -> None:
    config = f"""
[dynamic]
enabled = true
folder = "{tmp_path}/made"
[store]
path = "{tmp_path}/hookgate.db"
"""
    answers = [
        calls(("c1", "new_tool", json.dumps(WISH))),
        calls(("c2", "greet", '{"who": "ann"}')),
        answer("done"),
    ]
    async with open_flow(tmp_path, config, answers) as flow:
        flow.room.answers = [Decision(True, "ann")]
        assert (await flow.say("go"))[-1] == "done"
        assert flow.results()[1] == "hello ann"
        offered = [[tool["function"]["name"] for tool in it.body["tools"]] for it in flow.server.requests]
        assert ["greet" in names for names in offered] == [False, True, True]
        assert [event.payload.wire()["added"] for event in flow.named("registry_changed")][-1] == ("greet",)
