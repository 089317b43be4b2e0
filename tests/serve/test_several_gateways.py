"""Gateways that share a database: what each shows of all, how they take a configuration over, one after the other."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.approvals.rules import Rule
from hookgate.assembly.settings import Settings
from hookgate.cli.hooks.reloading import reload_hooks
from hookgate.cli.status.lines import report
from hookgate.config import ConfigError
from hookgate.control.gateway import gateway_methods
from hookgate.operations.gateways import GatewayStatus, other_rules, read_gateway
from hookgate.operations.metrics import metrics
from hookgate.operations.refused import OperationRefused
from hookgate.operations.status import status
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.cluster import Member
from hookgate.protocol.journal.values import Upstream
from hookgate.sections import ControlSection
from hookgate.serve.run import Served
from hookgate.store.postgres import cluster
from hookgate.telemetry.exposition import exposition
from tests.cli.program import PLUGINS, hook
from tests.postgres import Server
from tests.serve.gateway import configured
from tests.serve.several import open_several, sharing

WEB = '[channels.web]\nkind = "web"\n[tools]\nsandbox = "off"\n'
CHAT = Chat("web", "ann", "ann", thread="1")
RULE = '[[approvals]]\ntools = ["write"]\n'


async def test_each_shows_all_of_them_by_name(server: Server, tmp_path: Path) -> None:
    address = server.database()
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    first = sharing(one, address, WEB + hook(one, "guard", 'intercept = ["before_tool"]'))
    async with open_several(first, sharing(two, address, WEB + RULE)) as (a, b):
        for served in (a, b):
            found = await status(served.runtime)
            assert [it.config for it in found.gateways] == [str(it / "hookgate.toml") for it in (one, two)]
            assert [it.here for it in found.gateways] == [served is a, served is b]
            assert {it.state for each in found.gateways for it in each.channels} == {"receiving"}
            assert ["has other approval rules" in it for it in found.problems] == [True]
            rows = await gateway_methods(served.runtime)["hooks.list"].call()
            name = found.gateways[0].name
            assert [(it.gateway, it.here) for it in rows if it.command] == [(name, served is a)]
            lines = "\n".join(report(found, None))
            assert lines.count(name) > len(rows)
            assert b"hookgate_gateways 2" in exposition(await metrics(served.runtime, "ok"), openmetrics=False)


def test_what_a_gateway_of_another_version_says_of_itself_is_understood_or_left_alone() -> None:
    member = Member("id", "host:1", "9.0", 5.0)
    newer = {
        "name": "x",
        "version": "9.0",
        "since": 1,
        "config": "/c",
        "mood": "good",
        "hooks": [{"name": "h", "state": "up", "x": 1}],
    }
    found = read_gateway(member, encode(newer).decode())
    assert (found.name, found.config, found.hooks[0].state) == ("host:1", "/c", "up")
    for text in ("", "[", '{"name": 1}', '{"name": "x", "version": "9", "since": 1, "hooks": {"h": "up"}}'):
        assert read_gateway(member, text) == GatewayStatus("host:1", "9.0", 5.0)


def test_rules_are_compared_with_those_of_the_one_that_was_asked_unless_it_is_buried() -> None:
    here, same, other = (GatewayStatus("host", "9.0", 5.0, here=it == "h", rules=it) for it in ("h", "h", "o"))
    same = replace(same, here=False)
    assert other_rules((here, same, other)) == (other,)
    assert other_rules((same, other)) == ()


# --- a reload -----------------------------------------------------------------------------------------------


def approving(folder: Path, *, log: Path, mark: str = "") -> str:
    """An approver that writes down when it comes and goes."""
    program = folder / "approver.py"
    program.write_text(APPROVER.format(log=log, mark=mark))
    plugin = folder / "hookgate_plugin.py"
    plugin.write_text((PLUGINS / "hookgate_plugin.py").read_text())
    command = f'["{sys.executable}", "{program}", "{mark}"]'
    return f'[hooks.processes.approver]\ncommand = {command}\nintercept = ["approve_tool"]\n'


APPROVER = """
import os
from hookgate_plugin import Plugin

plugin = Plugin("approver")

@plugin.approve_tool
def approve(call):
    return plugin.approve()

def note(what):
    with open("{log}", "a") as log:
        log.write(what + " {mark} " + os.path.dirname(__file__) + "\\n")

note("begins")
plugin.run()
note("ends")
"""


async def test_a_reload_goes_from_one_to_the_next_and_an_approver_is_there_before_the_old_one_goes(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, log = server.database(), tmp_path / "log"
    folders = [tmp_path / name for name in ("one", "two", "three")]
    settings = list[Settings]()
    for folder in folders:
        folder.mkdir()
        settings.append(sharing(folder, address, WEB + approving(folder, log=log, mark="old")))
    socket = tmp_path / "socket"
    config = settings[0].config
    settings[0] = replace(settings[0], config=config.model_copy(update={"control": ControlSection(path=str(socket))}))
    async with open_several(*settings) as all_:
        log.write_text("")
        for folder in folders:
            sharing(folder, address, WEB + RULE + approving(folder, log=log, mark="new"))
        done = await gateway_methods(all_[1].runtime)["hooks.reload"].call()
        assert [it.outcome for it in done.gateways] == ["reloaded"] * 3
        assert len({it.configuration for it in done.gateways}) == 3
        assert (done.restarted, done.approvals_changed) == (("approver",), True)
        begun = [it for it in log.read_text().splitlines() if it.startswith("begins")]
        assert begun == [f"begins new {it}" for it in folders]
        for served in all_:
            assert [it.state for it in served.runtime.mounts.hooks] == ["up"]
            assert "write" in {tool for it in served.runtime.agent.approvals.rules for tool in patterns(it)}
        # One alone, as it is asked.
        sharing(folders[0], address, WEB + approving(folders[0], log=log, mark="alone"))
        alone = await gateway_methods(all_[0].runtime)["hooks.reload"].call(here=True)
        assert (alone.restarted, alone.gateways) == (("approver",), ())
        # As a person asks for it.
        sharing(folders[1], address, WEB + RULE)
        capsys.readouterr()
        asked = partial(reload_hooks, None, socket, as_json=False)
        assert await trio.to_thread.run_sync(partial(asked, here=False)) == 0
        names = [it.name for it in all_[0].runtime.journal.cluster.members]
        shown = [line.split(None, 2) for line in capsys.readouterr().out.splitlines()]
        assert shown[1:] == [
            [
                names[0],
                "reloaded",
                "no hook and no rule differs. What changed in control counts only after a restart.",
            ],
            [names[1], "reloaded", "gone: approver."],
            [names[2], "reloaded", "no hook and no rule differs."],
        ]
        await trio.to_thread.run_sync(partial(asked, here=True))
        assert capsys.readouterr().out.startswith("Reloaded: no hook and no rule differs.")


def patterns(rule: Rule) -> tuple[str, ...]:
    return rule.match.criteria["tools"].patterns


async def test_a_reload_that_fails_at_one_stops_there_and_the_others_stay_as_they_were(
    server: Server, tmp_path: Path
) -> None:
    address = server.database()
    folders = [tmp_path / name for name in ("one", "two", "three")]
    async with open_several(*(sharing(it, address, WEB) for it in folders)) as all_:
        for folder in folders:
            sharing(folder, address, WEB + RULE)
        (folders[1] / "hookgate.toml").write_text("[")
        with pytest.raises(OperationRefused) as refused:
            await gateway_methods(all_[2].runtime)["hooks.reload"].call()
        said = str(refused.value)
        name = all_[0].runtime.journal.cluster.members[0].name
        assert said.startswith(f"gateway {name}: nothing was changed: ")
        assert f"; reloaded: {name}; not asked: {name}; configurations that run: {name} " in said
        assert [len(it.runtime.agent.approvals.rules) for it in all_] == [1, 0, 0]


async def test_a_gateway_that_dies_while_it_is_asked_is_passed_over(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("LEASE_S", 3.0), ("BEAT_S", 0.1)):
        monkeypatch.setattr(cluster, name, value)
    address = server.database()
    async with open_several(*(sharing(tmp_path / it, address, WEB) for it in ("one", "two"))) as (one, _):
        add = "INSERT INTO gateways (id, name, version, since) VALUES ('dead', 'far', '0', 0)"
        server.sql(f"SET search_path = hookgate; {add}", address)
        while not any(it.id == "dead" for it in one.runtime.journal.cluster.members):
            await trio.sleep(0.02)
        done = await gateway_methods(one.runtime)["hooks.reload"].call()
        far, *others = done.gateways
        assert (far.name, far.outcome) == ("far", "gone")
        assert [it.outcome for it in others] == ["reloaded"] * 2


# --- a hook that only one of them runs ----------------------------------------------------------------------

WATCHER = """
import os
from hookgate_plugin import Plugin

plugin = Plugin("watcher")

@plugin.event
def see(event):
    with open("{log}", "a") as log:
        log.write(f"{{os.getpid()}} {{event.kind}}\\n")

plugin.run()
"""


async def test_one_gateway_runs_a_singleton_which_hears_of_all_and_moves_when_that_one_goes(
    server: Server, tmp_path: Path
) -> None:
    address, log = server.database(), tmp_path / "log"
    (tmp_path / "watcher.py").write_text(WATCHER.format(log=log))
    (tmp_path / "hookgate_plugin.py").write_text((PLUGINS / "hookgate_plugin.py").read_text())
    command = f'command = ["{sys.executable}", "{tmp_path}/watcher.py"]'
    hook_ = f'[hooks.processes.watcher]\n{command}\nobserve = ["turn_*"]\nsingleton = true\n'
    one, two = (sharing(tmp_path / it, address, WEB + hook_) for it in ("one", "two"))
    async with open_several(one, two) as (first, second):
        [here], [there] = (it.runtime.mounts.hooks for it in (first, second))
        while (here.state, there.state) != ("up", "elsewhere"):
            await trio.sleep(0.05)
        name = first.runtime.journal.cluster.members[0].name
        assert there.reason == f"it runs at {name}"
        for served, text, many in ((second, "hello", 2), (first, "and here", 4)):
            await say(served, text)
            await until_lines(log, many)
        assert log.read_text().splitlines() == [f"{here.pid} turn_start", f"{here.pid} turn_end"] * 2
        await first.runtime.gateway.drain()
        while there.state != "up":
            await trio.sleep(0.05)
        assert (here.pid, there.restarts, there.events_dropped) == (None, 0, 0)
        await say(second, "moved")
        await until_lines(log, 6)
        assert log.read_text().splitlines()[4:] == [f"{there.pid} turn_start", f"{there.pid} turn_end"]


async def say(served: Served, text: str) -> None:
    chat = replace(CHAT, thread=text)
    await served.runtime.gateway.receive(Inbound(chat, text))
    await served.runtime.gateway.idle(chat.session_key)


async def until_lines(log: Path, many: int) -> None:
    while len(lines_of(log)) < many:
        await trio.sleep(0.02)


def lines_of(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("more", ['intercept = ["before_tool"]', 'observe = ["*"]\nrequired = true'])
def test_what_every_gateway_needs_is_no_singleton(tmp_path: Path, more: str) -> None:
    hook_ = f'[hooks.processes.h]\ncommand = ["true"]\nsingleton = true\n{more}\n'
    with pytest.raises(ConfigError, match="each gateway needs one of its own"):
        configured(tmp_path, WEB + hook_)


# --- growing and shrinking ----------------------------------------------------------------------------------


async def test_messages_are_answered_once_and_in_order_while_one_comes_and_one_drains(
    server: Server, tmp_path: Path
) -> None:
    address, chats = server.database(), [replace(CHAT, thread=f"t{number}") for number in range(30)]
    one, two, three = (sharing(tmp_path / it, address, WEB, '{"steps": []}') for it in ("one", "two", "three"))

    async def send(served: Served, number: int) -> None:
        for chat in chats:
            said = Inbound(chat, f"m{number}", message_id=f"{chat.thread}-{number}")
            await served.runtime.gateway.receive(said, Upstream("bot"))

    third, gone = trio.Event(), trio.Event()

    async def drained(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with open_several(one) as (drains,):
            await send(drains, 0)
            task_status.started()
            await third.wait()
            await drains.runtime.gateway.drain()
        gone.set()

    async with open_several(two) as (stays,), trio.open_nursery() as nursery:
        await nursery.start(drained)
        async with open_several(three) as (comes,):
            await send(stays, 1)
            third.set()
            await send(comes, 2)
            await gone.wait()
            await send(stays, 3)
            journal = comes.runtime.journal
            for chat in chats:
                texts = list[str]()
                while len(texts) < 8:
                    await trio.sleep(0.02)
                    conversation = await journal.intake.conversation(chat.session_key, "main")
                    texts = [it.message.content for it in (await journal.work.load(conversation)).entries]
                assert texts == [f"m{number}" for number in range(4) for _ in range(2)]
            assert await journal.intake.unfinished() == ()


# --- other rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("approved", [True, False])
async def test_what_was_asked_under_the_rules_of_one_is_not_run_under_the_weaker_ones_of_another(
    server: Server, tmp_path: Path, approved: bool
) -> None:
    address, script = (
        server.database(),
        '{"steps": [{"calls": [{"name": "write", "arguments": WRITTEN}]}, {"text": "Done."}]}',
    )
    script = script.replace("WRITTEN", '{"path": "a.txt", "content": "x"}')
    strict = sharing(tmp_path / "strict", address, WEB + RULE, script)
    lax = sharing(tmp_path / "lax", address, WEB)
    assert lax.file is not None
    lax.file.write_text(lax.file.read_text().replace(f'"{tmp_path}/lax"\n', f'"{tmp_path}/strict"\n', 1))
    config, _file = configuration.load(lax.file)
    async with open_several(replace(lax, config=config)) as (two,):
        async with open_several(strict) as (one,):
            accepted = await one.runtime.gateway.receive(Inbound(CHAT, "write it", message_id="m"))
            while not (waiting := await one.runtime.journal.decisions.pending()):
                await trio.sleep(0.02)
        # It is at the other one now, whose rules want nobody asked.
        taken = two.runtime.gateway.sessions
        while CHAT.session_key not in taken or not taken[CHAT.session_key].busy:
            await trio.sleep(0.02)
        methods = gateway_methods(two.runtime)
        [asked] = waiting
        outcome = await methods["approvals.decide"].call(request=asked.request.id, approved=approved)
        assert outcome.counted
        await two.runtime.gateway.idle(CHAT.session_key)
        assert (tmp_path / "strict" / "a.txt").exists() == approved
        assert not accepted.known
        standing = await two.runtime.journal.decisions.standing(asked.request.id)
        assert standing is not None
        assert standing.state == ("spent" if approved else "refused")
