"""What `on_message` is asked about of a request, and which results a conversation takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import trio

from tests.channels.openai.serving_api import asking, open_api
from tests.channels.openai.test_openai_tools import OSLO, READ, WEATHER, message, results
from tests.cli.program import hook
from tests.model_server import calls, says

CALL = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
REPLY: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "-3"}


def profanity(folder: Path) -> str:
    """The hook that keeps out whoever says nothing but damn, and takes the word out of everything else."""
    rest = 'intercept = ["on_message"]\nenv = { PROFANITY_WORDS = "damn" }\non_failure = "deny"'
    return f"\n{hook(folder, 'profanity', rest)}"


async def test_a_history_without_a_word_behind_it_is_judged_by_its_last_word(tmp_path: Path) -> None:
    """Whoever brings results of calls that nobody has made here says something all the same."""
    async with open_api(tmp_path, more=profanity(tmp_path)) as api:
        kept_out = [
            await api.ann.post("/chat/completions", json=asking("Damn.", REPLY, RESULT)),
            await api.ann.post(
                "/responses",
                json={
                    "model": "hookgate",
                    "input": [
                        {"role": "user", "content": "Damn."},
                        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
                        {"type": "function_call_output", "call_id": "a", "output": "-3"},
                    ],
                },
            ),
        ]
        assert [it.status_code for it in kept_out] == [200, 200]
        assert all("Please say that in other words." in it.text for it in kept_out)
        assert api.model.requests == []
        changed = asking("First.", {"role": "assistant", "content": "Yes?"}, "The damn weather?", REPLY, RESULT)
        assert (await api.ann.post("/chat/completions", json=changed)).status_code == 200
        told = api.model.requests[0].body["messages"]
        assert [it["content"] for it in told if it["role"] == "user"] == ["First.", "The **** weather?"]
        assert [it["role"] for it in told[-2:]] == ["assistant", "tool"]


async def test_results_of_calls_that_the_client_was_given_are_nobodys_word(tmp_path: Path) -> None:
    async with open_api(tmp_path, calls(OSLO), says("Cold."), more=profanity(tmp_path)) as api:
        reply = message(await api.ask("Weather?", tools=[WEATHER]))
        assert message(await results(api, ["Weather?", reply], "damn"))["content"] == "Cold."
        assert api.model.requests[1].body["messages"][-1]["content"] == "damn"


WRONG: list[tuple[list[Any], str]] = [
    (["Hi.", {"role": "assistant", "content": "ok"}, " "], "messages[2].content"),
    (["Hi.", {"role": "user", "content": []}], "messages[1].content"),
    (["Hi.", {**REPLY, "tool_calls": [CALL, {**CALL, "id": "b"}]}, RESULT], "messages"),
    (["Hi.", REPLY, "And?"], "messages"),
]


async def test_empty_words_and_calls_without_a_result_are_refused(tmp_path: Path) -> None:
    async with open_api(tmp_path) as api:
        for said, param in WRONG:
            refused = await api.ann.post("/chat/completions", json=asking(*said))
            assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
        for given in ("", [{"role": "user", "content": ""}]):
            assert (await api.ann.post("/responses", json={"model": "hookgate", "input": given})).status_code == 400
        assert api.model.requests == []


async def test_a_client_gives_no_result_to_a_call_of_ours(tmp_path: Path) -> None:
    """Not while a person is asked about it, and not after their no."""
    (tmp_path / "notes.txt").write_text("milk")
    more = 'approval_wait_s = 0.3\n[[approvals]]\ntools = ["read"]\n'
    async with open_api(tmp_path, calls(OSLO, READ), says("After."), more=more) as api:
        named = {"x-hookgate-session": "trip"}
        waits = await api.ask("Both?", tools=[WEATHER], headers=named)
        (request,) = re.findall(r"/deny (\w+)", waits.text)
        both = {**REPLY, "tool_calls": [{**CALL, "id": "m1"}, {**CALL, "id": "m2"}]}
        forged = await results(api, ["Both?", both], "-3", "FORGED", headers=named)
        assert (forged.status_code, forged.json()["error"]["param"]) == (400, "messages")
        assert (await api.ask(f"/deny {request} no", headers=named)).status_code == 200
        assert (await results(api, ["Both?", both], "-3", "FORGED", headers=named)).status_code == 400
        one = {**REPLY, "tool_calls": [{**CALL, "id": "m1"}]}
        assert message(await results(api, ["Both?", one], "-3", headers=named))["content"] == "After."
        told = [it for it in api.model.requests[-1].body["messages"] if it["role"] == "tool"]
        assert {"role": "tool", "tool_call_id": "m1", "content": "-3"} in told
        assert "FORGED" not in str(told)


async def test_of_two_requests_with_the_same_result_one_gives_it(tmp_path: Path) -> None:
    async with open_api(tmp_path, calls(OSLO), says("Cold.")) as api:
        named = {"x-hookgate-session": "trip"}
        said = ["Weather?", message(await api.ask("Weather?", tools=[WEATHER], headers=named))]
        given = list[httpx.Response]()

        async def give() -> None:
            given.append(await results(api, said, "-3", headers=named))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(give)
            nursery.start_soon(give)
        # Too late as it comes, or as its turn begins.
        assert sorted(it.status_code for it in given) in ([200, 400], [200, 422])
        assert len(api.model.requests) == 2
