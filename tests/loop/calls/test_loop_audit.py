"""Each call leaves one whole record in the audit chain, however it ends, with what each hook has said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import Decision
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Approve, Deny, Failed, Modify, Respond
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolResult
from hookgate.providers.scripted import ScriptedCall
from hookgate.store.journal import open_journal
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.operators.looking import open_look
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]
ASKED = Rule("ask", Matcher({"tools": Globs(("ask",))}))


def records(file: Path, kind: str = "call") -> list[dict[str, Any]]:
    """The bodies of this kind, each with what stands beside it."""
    with open_look(file) as tables:
        chain = list(links(tables))
    found = [(json.loads(link.body), link.texts) for link in chain]
    return [{**body, **json.loads(texts["details"][1])} for body, texts in found if body["kind"] == kind]


def said(record: dict[str, Any]) -> list[str]:
    return [
        f"{it['stage']} {it['hook']} {it['action']}{' (failed)' if it['failed'] else ''}" for it in record["hooks"]
    ]


async def test_each_call_leaves_one_record_whoever_ended_it(bench: MakeBench, tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        "denied": Deny("too dangerous"),
        "answered": Respond(ToolResult("from a cache")),
        "broken": Failed("it died"),
    }

    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return answers.get(question.tool, CONTINUE)

    hooks = [
        hook("guard", {Stage.BEFORE_TOOL: judge}),
        hook("reader", {Stage.AFTER_TOOL: Modify({"for_llm": "changed"}), Stage.APPROVE_TOOL: Approve()}),
    ]
    names = ("read", "denied", "answered", "broken", "ask", "ask", "nowhere")
    tools = [FunctionTool("read", reads_only=True), *map(FunctionTool, ("denied", "answered", "broken", "ask"))]
    wanted = [ScriptedCall(name, json.dumps({"n": number})) for number, name in enumerate(names)]
    async with open_journal(tmp_path / "j.db", "process") as journal:
        made = bench(asks_for(*wanted), says("x"), tools=tools, hooks=hooks, rules=[ASKED], journal=journal)
        made.room.answers = [Decision(True, "ann"), Decision(False, "ann", "not today")]
        await made.play()
    found = records(tmp_path / "j.db")
    assert [(it["tool"], it["outcome"], it["error"]) for it in found] == [
        ("read", "ran", ""),
        ("denied", "denied", "permission"),
        ("answered", "answered", ""),
        ("broken", "ran", ""),
        ("ask", "ran", ""),
        ("ask", "denied", "permission"),
        ("nowhere", "not_run", "not_found"),
    ]
    asked_all = ["before_tool guard continue", "approve_tool reader approve"]
    assert [said(it) for it in found] == [
        [*asked_all, "after_tool reader modify"],
        ["before_tool guard deny_tool"],
        ["before_tool guard respond"],
        ["before_tool guard continue (failed)", "approve_tool reader approve", "after_tool reader modify"],
        [*asked_all, "after_tool reader modify"],
        asked_all,
        [],
    ]
    read, denied, _, _, approved, refused, _ = found
    assert (read["arguments"], read["result"]) == ({"n": 0}, "changed")
    assert (read["session"], read["chat"], read["actor"]) == ("test:1/main/0", "test:1", "test:ann")
    assert (read["call"], read["channel"], read["agent"], len(read["policy"])) == ("2.0", "test", "main", 64)
    assert (denied["denied_by"], denied["reasons"]) == ("hook:guard", ["too dangerous"])
    [request, _] = made.room.asked
    assert (approved["approvals"], approved["approvers"]) == ([request.id], ["test:ann"])
    assert refused["denied_by"].startswith("approval:")
    assert [it["call"] for it in records(tmp_path / "j.db", "intended")] == ["2.3", "2.4"]
    [guard, reader] = {it["digest"] for it in read["hooks"][:2]}
    assert guard != reader


@pytest.mark.parametrize("ends", ["a hook", "a person"])
async def test_a_call_that_its_turn_cuts_off_is_on_record(bench: MakeBench, tmp_path: Path, ends: str) -> None:
    begun = trio.Event()

    async def wait(_question: object) -> str:
        begun.set()
        await trio.sleep_forever()
        return ""

    if ends == "a hook":
        tools, hooks = [FunctionTool("t")], [hook("h", {Stage.AFTER_TOOL: Abort("enough")})]
    else:
        tools, hooks = [FunctionTool("t", wait)], [hook("h", {Stage.BEFORE_TOOL: CONTINUE})]
    async with open_journal(tmp_path / "j.db", "process") as journal:
        made = bench(asks_for("t", "t"), says("x"), tools=tools, hooks=hooks, journal=journal)
        async with made.opened():
            await made.say("go")
            if ends == "a person":
                await begun.wait()
                await made.say("/stop")
            await made.idle()
    found = records(tmp_path / "j.db")
    assert [(it["call"], it["outcome"]) for it in found] == [("2.0", "cut_off"), ("2.1", "cut_off")]
    assert [said(it) for it in found] == [
        ["after_tool h abort_turn" if ends == "a hook" else "before_tool h continue"],
        [],
    ]
