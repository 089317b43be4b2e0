"""Journals with something in them, for tests of what is done with stored ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hookgate.protocol.approval import ApprovalRequest, Voter
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.hook.answers import CONTINUE, Deny, Modify, Respond
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.decisions import StoredGrant, StoredRequest, Vote
from hookgate.protocol.journal.people import StoredPerson
from hookgate.protocol.journal.values import AnswerKey, Approval, Arrival, CallRecord, Conversation, Draft, Intent
from hookgate.protocol.values import Decode, Fault, Message, ProposedCall, Step, ToolCall, ToolResult
from hookgate.protocol.values.effects import FileEffect, ProcessEffect
from hookgate.store.journal import StoredJournal, open_journal

DAY_S = 86400.0
BEGUN = 1_790_000_040.0
"""A full minute; the journal's clock goes on from there, by what all this really takes."""


async def keep_old(file: Path) -> None:
    """A conversation that ended in 2001, in a journal of its own."""
    file.parent.mkdir(parents=True, exist_ok=True)
    async with open_journal(file, wall=lambda: 1e9) as journal:
        await journal.intake.accept(Arrival(Inbound(Chat("cli", ""), "hello"), "default", "k"))
        claim = await journal.work.claim("g", 60)
        assert claim is not None
        await journal.work.complete(claim, "answered", [Draft(Message("user", "hello"))])


async def fill(file: Path, agent: str = "default") -> None:
    """Ann asks for a file to be removed, which Bob allows; a day later Carl says something that nobody answers."""
    async with open_journal(file, wall=lambda: BEGUN) as journal:
        await _removed(journal, agent)
    async with open_journal(file, wall=lambda: BEGUN + DAY_S) as journal:
        await journal.intake.accept(Arrival(Inbound(Chat("telegram", "7", "carl"), "hello?"), agent, "u2"))


async def _removed(journal: StoredJournal, agent: str) -> None:
    chat = Chat("telegram", "42", "ann")
    accepted = await journal.intake.accept(
        Arrival(Inbound(chat, "Remove notes.txt\nplease", ("data:x",)), agent, "u1", offset="1")
    )
    claim = await journal.work.claim("gateway", 60)
    assert claim is not None
    asked = AnswerKey(accepted.id, "on_message", "guard", "c", "h")
    for answer in (CONTINUE, Modify({"text": "Remove it"}), Deny("no"), Respond(ToolResult("x"), {"name": "ls"})):
        await journal.work.answered(claim, asked, answer)
        assert await journal.work.answer(asked) == answer
    call = ToolCall(
        "c1", "bash", {"command": "rm notes.txt", "big": 1 << 80}, "text", Decode(("json",), guessed=True)
    )
    unreadable = ToolResult("ERROR", is_error=True, error=Fault("validation", "decode", "no JSON"))
    records = (
        CallRecord(
            id="2.0", call=call, unreadable=None, agent=agent, iteration=1, provider="builtin", spec_digest="ab"
        ),
        CallRecord(id="2.1", call=None, unreadable=unreadable, agent=agent, iteration=1),
    )
    asks = Message("assistant", "I will.", (ProposedCall("c1", "bash", '{"command": "rm notes.txt"}'),))
    await journal.work.append(claim, [Draft(Message("user", "Remove notes.txt\nplease")), Draft(asks, records)])
    shown = ApprovalRequest("A1", chat, call, "rule:shell", "Run bash?", "", ("bob",), 600.0, "d")
    its = (accepted.conversation, accepted.id, "2.0", "d", "p", "rule:shell")
    request = StoredRequest("A1", *its, replace(shown, unredacted=shown), 1, BEGUN + DAY_S)
    await journal.decisions.request(claim, request, [Outbound(chat, "May I?", kind="notice")])
    standing = await journal.decisions.standing("A1")
    assert standing is not None
    assert standing.request == request
    await journal.decisions.decide("A1", Vote("bob", True, grant="session"))
    await journal.decisions.grant(
        StoredGrant("G1", "scope", "bob", "rule:shell", "bash", accepted.conversation.session)
    )
    await journal.people.keep(StoredPerson("eve", (Voter("telegram", "66"),), (), "operator", BEGUN), "operator")
    heard = (Judgement("before_tool", "guard", "ab", "continue"),)
    await journal.work.intend(claim, Intent("2.0", "p", (Approval("A1", "d"),), ("G1",), "r", heard))
    effects = (FileEffect("delete", "notes.txt", source="observed"), ProcessEffect("rm notes.txt", 0))
    result = ToolResult("removed", effects=effects, data={"lines": [1, 2]}, artifact_tags=("a",))
    await journal.work.finish(claim, "2.0", result, 1_000_000)
    stored = await journal.work.load(accepted.conversation)
    assert (stored.entries[1].calls, stored.call("2.0").result) == (records, result)
    told = Message("tool", "removed", tool_call_id="c1")
    # As after a crash: what was said before the call began is known to the journal alone.
    heard = (Judgement("after_tool", "reader", "cd", "deny_tool", "it names bob"),)
    step = Step("default", "t", Inbound(chat, ""))
    audit = CallAudit("2.0", step, call, "p", "ran", ToolResult("removed" * 1000), heard)
    await journal.work.append(claim, [Draft(told)], (), [audit])
    await journal.work.complete(claim, "answered", [Draft(Message("assistant", "Done."))], [Outbound(chat, "Done.")])
    for _ in range(2):
        (row,) = await journal.posting.outgoing("telegram")
        await journal.posting.sent(row.id, "tg-1")


ANN = Conversation("telegram:42", "default")
CARL = Conversation("telegram:7", "default")
