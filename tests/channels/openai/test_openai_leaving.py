"""Clients that leave, keys that are revoked in the middle, people who are waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio

from hookgate.protocol.approval import Decision, Voter
from tests.channels.openai.serving_api import Api, asking, open_api
from tests.model_server import calls, hang, says

BASH = ("m1", "bash", '{"command":"echo done > made.txt"}')
RULE = 'approval_wait_s = 0.2\n[[approvals]]\ntools = ["bash"]\n'


async def until(look: Callable[[], Awaitable[Any]]) -> Any:
    while not (found := await look()):
        await trio.sleep(0.02)
    return found


async def outcomes(api: Api) -> list[str]:
    """Of all requests, once each has one."""
    rows = await api.served.runtime.journal.chats.listed("api:")
    said = [await api.served.runtime.journal.chats.said(it.conversation) for it in rows]
    found = [it.outcome for its in said for it in its if it.inbound and not it.inbound.text.startswith("/")]
    return [it for it in found if it] if found and all(found) else []


async def leave_in_the_middle(api: Api) -> None:
    body = asking("Go on.", stream=True)
    with trio.CancelScope() as scope:
        async with api.ann.stream("POST", "/chat/completions", json=body) as answered:
            async for line in answered.aiter_lines():
                if "partly" in line:
                    scope.cancel()


async def test_a_client_that_leaves_ends_its_turn(tmp_path: Path) -> None:
    async with open_api(tmp_path, hang(says("partly ", "never"), 2)) as api:
        await leave_in_the_middle(api)
        assert await until(lambda: outcomes(api)) == ["dropped"]
        [found] = await api.served.runtime.journal.books.where("M1")
        assert (found.passages[2].what, found.passages[2].why) == ("dropped", "the client left")


async def test_or_the_turn_goes_on_where_that_is_configured(tmp_path: Path) -> None:
    slow = replace(says("partly ", "done"), pause_s=0.1)
    async with open_api(tmp_path, slow, more='on_disconnect = "detach"\n') as api:
        await leave_in_the_middle(api)
        assert await until(lambda: outcomes(api)) == ["answered"]


async def test_who_leaves_while_another_request_is_answered_is_answered_no_more(tmp_path: Path) -> None:
    async with open_api(tmp_path, hang(says("partly ", "never"), 2)) as api:
        async with trio.open_nursery() as nursery:
            first = trio.CancelScope()

            async def ask(scope: trio.CancelScope, text: str) -> None:
                with scope:
                    await api.ask(text, session_id="s")

            nursery.start_soon(ask, first, "One.")
            await api.model.arrived.wait()
            second = trio.CancelScope()
            nursery.start_soon(ask, second, "Two.")
            key = "api:ann:/s"
            jobs = api.served.runtime.gateway.sessions[key].jobs
            while not jobs.waiting:
                await trio.sleep(0.02)
            second.cancel()
            while jobs.waiting:
                await trio.sleep(0.02)
            assert jobs.current is not None
            first.cancel()
        assert await until(lambda: outcomes(api)) == ["dropped", "dropped"]
        assert len(api.model.requests) == 1


async def test_a_key_that_is_revoked_ends_its_stream_with_an_error(tmp_path: Path) -> None:
    async with open_api(tmp_path, hang(says("partly ", "never"), 2)) as api:
        keys, got = api.served.runtime.keys, list[str]()
        async with api.ann.stream("POST", "/chat/completions", json=asking("Go.", stream=True)) as answered:
            async for line in answered.aiter_lines():
                got.append(line)
                if "partly" in line:
                    await keys.revoke(keys.listed()[0], "test")
        assert any('"invalid_api_key"' in line for line in got)
        assert [it for it in got if it][-1] == "data: [DONE]"
        assert (await api.ask("Hi.")).status_code == 401


async def test_who_waits_for_a_person_too_long_reads_where_to_ask_and_gets_the_answer_next(tmp_path: Path) -> None:
    async with open_api(tmp_path, calls(BASH), says("It is made."), more=RULE) as api:
        waiting = await api.ask("Make it.", session_id="s")
        text = waiting.json()["choices"][0]["message"]["content"]
        assert waiting.json()["choices"][0]["finish_reason"] == "stop"
        assert "/approve " in text
        assert not (tmp_path / "made.txt").exists()
        still = (await api.ask("And?", session_id="s")).json()["choices"][0]["message"]["content"]
        assert "/approve " in still
        command = text[text.index("/approve ") :].split(" or ")[0]
        refused = (await api.ask(command, session_id="s")).json()["choices"][0]["message"]["content"]
        assert "Not counted: not all of it has been shown." in refused
        assert not (tmp_path / "made.txt").exists()
        shown = (await api.ask(command.replace("approve", "pending"), session_id="s")).json()
        assert "made.txt" in shown["choices"][0]["message"]["content"]
        answered = (await api.ask(command, session_id="s")).json()["choices"][0]["message"]["content"]
        assert answered.endswith("It is made.")
        assert (tmp_path / "made.txt").exists()


async def test_what_was_waited_for_comes_before_what_is_asked_next(tmp_path: Path) -> None:
    """Decided elsewhere meanwhile."""
    async with open_api(tmp_path, calls(BASH), says("It is made."), more=RULE) as api:
        await api.ask("Make it.", session_id="s")
        (open_one,) = await api.served.runtime.journal.decisions.pending()
        async with await api.client("bob") as bob:
            refused = await bob.post("/chat/completions", json=asking(f"/approve {open_one.request.id}"))
            assert "made" not in refused.json()["choices"][0]["message"]["content"]
        assert (await api.served.runtime.journal.decisions.pending()) != ()
        approvals = api.served.runtime.agent.approvals
        await approvals.decide(open_one.request.id, Decision(True, "ann"), Voter("api", "ann"))
        answered = await api.ask("Next.", session_id="s", stream=True)
        assert answered.text.index("made.") < answered.text.index("Next.")
