"""How a running gateway is, asked while turns are at different things, and what an operator does about it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.control.gateway import gateway_methods
from hookgate.operations.metrics import metrics
from hookgate.operations.refused import OperationRefused
from hookgate.operations.status import TurnStatus, status
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.dataclasses import replace
from hookgate.serve.run import Served
from tests.processes import until
from tests.serve.gateway import configured, open_served

PAGE = """
[channels.page]
kind = "web"
[gateway]
max_turns = 2
[[approvals]]
tools = ["write"]
[tools]
sandbox = "off"
"""
WRITE = {"name": "write", "arguments": {"path": "a.txt", "content": "x"}}
WAIT = {"name": "bash", "arguments": {"command": "while [ ! -e go ]; do sleep 0.02; done"}}


def script(*steps: object) -> str:
    return json.dumps({"steps": steps})


async def say(served: Served, chat: str, text: str) -> None:
    await served.runtime.gateway.receive(Inbound(Chat("page", chat, "owner"), text, message_id=f"{chat}-{text}"))


async def turns(served: Served) -> dict[str, TurnStatus]:
    return {it.session: it for it in (await status(served.runtime)).turns}


async def until_all(served: Served, **doing: str) -> dict[str, TurnStatus]:
    """Once the turn of each chat does this."""
    wanted = {f"page:{chat}": what for chat, what in doing.items()}
    while True:
        found = await turns(served)
        if {key: it.doing for key, it in found.items()} == wanted:
            return found
        await trio.sleep(0.01)


async def test_each_turn_says_what_it_does_and_what_ends_it_is_at_hand(tmp_path: Path) -> None:
    slow = script({"when": "wait", "calls": [WAIT]}, {"when": "write", "calls": [WRITE]})
    async with open_served(configured(tmp_path, PAGE, slow)) as served:
        methods = gateway_methods(served.runtime)
        for chat in ("a", "b", "c"):
            await say(served, chat, "write" if chat == "c" else "wait")
        await say(served, "a", "and then")
        found = await until_all(served, a="tool", b="tool", c="slot")
        first = found["page:a"]
        assert (first.agent, first.channel, first.message, first.name, first.behind) == (
            "main",
            "page",
            "M1",
            "bash",
            1,
        )
        assert 0 < first.since <= first.doing_since
        assert await methods["sessions.stop"].call(session="page:b")
        waiting = (await until_all(served, a="tool", c="person"))["page:c"]
        assert (waiting.name, waiting.message) == ("write", "M3")
        whole = await status(served.runtime)
        [request] = whole.approvals
        assert (request.tool, whole.sessions.at_work, whole.sessions.most, whole.queues.waiting) == ("write", 2, 2, 1)
        assert (whole.problems, whole.pid, whole.store_state) == ((), os.getpid(), "ok")
        assert whole.started_at <= whole.at
        await methods["approvals.decide"].call(request=request.request, approved=True)
        (tmp_path / "go").touch()
        await until_all(served)
        await served.runtime.gateway.idle("page:c")
        whole = await status(served.runtime)
        assert (tmp_path / "a.txt").read_text() == "x"
        assert whole.calls.calls == whole.calls.denied + whole.calls.answered + whole.calls.allowed > 0
        assert (whole.queues.unfinished, whole.sessions.loaded) == (0, 3)
        assert whole.audit.records > 0


async def test_what_waits_in_a_task_says_whose_task_it_is(tmp_path: Path) -> None:
    hand = {"name": "delegate", "arguments": {"task": "write"}}
    steps = script({"when": "go", "calls": [hand]}, {"when": "write", "calls": [WRITE]})
    settings = configured(tmp_path, f'{PAGE}[agents.reviewer]\nmodel = "p/m"\n', steps)
    assert settings.file is not None
    settings.file.write_text(settings.file.read_text().replace("[agent]\n", '[agent]\ndelegates_to = ["reviewer"]\n'))
    config, _file = configuration.load(settings.file)
    async with open_served(replace(settings, config=config)) as served:
        await say(served, "a", "go")
        turn = (await until_all(served, a="person"))["page:a"]
        assert (turn.agent, turn.task_of) == ("main", "reviewer")
        [found] = await gateway_methods(served.runtime)["journal.find"].call(words="go")
        assert found.waits_for.startswith("for a person, in the task of agent reviewer: ")


class Refusing:
    """Stands for `send` of a channel whose chats do not want anything."""

    def __init__(self) -> None:
        self.refuses = True
        self.sent = list[str]()

    async def __call__(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        if self.refuses:
            raise Undelivered("the bot was blocked", final=True)
        self.sent.append(outbound.text)
        return ""


async def test_a_gateway_that_is_stopping_says_so_first(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE)) as served:
        assert (await status(served.runtime)).problems == ()
        await served.runtime.gateway.drain()
        [said] = (await status(served.runtime)).problems
        assert said.startswith("it is stopping: nothing is begun any more")


async def test_a_store_that_cannot_be_read_is_named_beside_all_that_is_known_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unread() -> None:
        await trio.lowlevel.checkpoint()
        raise StoreFailed("the disk is gone")

    async with open_served(configured(tmp_path, PAGE, script({"when": "write", "calls": [WRITE]}))) as served:
        await say(served, "c", "write")
        await until_all(served, c="person")
        monkeypatch.setattr(served.runtime.journal.books, "overview", unread)
        found = await status(served.runtime)
        assert found.problems == ("nothing can be stored: the disk is gone",)
        assert [(it.session, it.doing) for it in found.turns] == [("page:c", "person")]
        assert len(await metrics(served.runtime, "the disk is gone")) > 10


async def test_what_is_wrong_is_said_and_a_dead_letter_is_tried_again_or_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = json.dumps([sys.executable, "-c", "exit(3)"])
    hook = f"[hooks.processes.broken]\ncommand = {command}\nobserve = ['turn_end']\n"
    async with open_served(configured(tmp_path, PAGE + hook)) as served:
        runtime, sending = served.runtime, Refusing()
        monkeypatch.setattr(runtime.channels["page"], "send", sending)
        methods = gateway_methods(runtime)
        await runtime.tried()
        for chat in ("a", "b"):
            await say(served, chat, "hello")
            await runtime.gateway.idle(f"page:{chat}")
        runtime.pages["page"].channel.served(accepting=False)
        found = await status(runtime)
        assert found.dead == 2
        told = "\n".join(found.problems)
        assert "channel page is down: its server takes no connections" in told
        assert "hook broken is " in told
        assert "2 dead letters" in told
        second, first = found.letters
        assert (first.session, first.message, first.text, first.why) == (
            "page:a",
            "M1",
            "Hello.",
            "the bot was blocked",
        )
        sending.refuses = False
        assert await methods["letters.retry"].call(letter=first.id)
        await until(lambda: sending.sent == ["Hello."])
        assert "1 dead letter: try it again or drop it" in (await status(runtime)).problems
        assert await methods["letters.drop"].call(letter=second.id)
        assert await methods["letters.list"].call() == ()
        with pytest.raises(OperationRefused, match="there is no dead letter"):
            await methods["letters.retry"].call(letter=second.id)
        assert await runtime.journal.books.retry("M99", "ann") is None
