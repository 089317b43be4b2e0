"""Chats of the web channel: nothing that happens in one is lost to whoever has its page open, closed or asleep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from hookgate.channels.web.shapes import Snapshot
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.events.payloads import (
    ApprovalRequested,
    GateDecision,
    SteeringInjected,
    ToolExecEnd,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.decisions import StoredRequest
from hookgate.protocol.journal.values import CallRecord, Draft
from hookgate.protocol.values import Message, ProposedCall, Step, ToolCall, ToolResult
from tests.channels.web.site import TOKEN, Site, listening, opened, texts

END = TurnEnd("completed", 1, 1, 1)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with opened(tmp_path) as site:
        yield site


async def test_an_answer_is_seen_while_it_is_written_and_by_whoever_comes_later(site: Site) -> None:
    async with site.ann() as ann, listening(ann, "c1") as live:
        assert (await live.next("snapshot"))[1]["messages"] == []
        sent = await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "hello"})
        again = await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "hello"})
        assert (sent.status_code, sent.json()["known"], again.json()) == (202, False, {**sent.json(), "known": True})
        assert (await live.next("state"))[1] == {"running": False, "queued": [{"id": "k1", "text": "hello"}]}

        turn = await site.begin("k1")
        turn.tell(TurnStart("hello", 0))
        turn.tell(GateDecision("guard", "before_llm", "deny", 2_000_000, reason="no"))
        turn.tell(ToolExecStart("ls", {"path": "."}, "call1"))
        turn.tell(ToolExecEnd("ls", 1, 1, 0, False, False, "call1"))
        site.channel.stream(turn.chat, "**to ")
        site.channel.stream(turn.chat, "you**")
        names = [(await live.next("message", "trace", "tool"))[0] for _ in range(4)]
        assert names == ["message", "trace", "tool", "tool"]
        _, delta = await live.next("delta")
        assert (delta["text"], delta["html"]) == ("**to you**", "<p><strong>to you</strong></p>\n")
        before = live.last_id
        seen = (await ann.get("/api/chats/c1")).json()
        assert (seen["running"]["text"], [it["name"] for it in seen["running"]["tools"]]) == ("**to you**", ["ls"])
        assert list(texts(seen["messages"])) == [("user", "hello")]

        await turn.answer("**to you**")
        turn.tell(END)
        _, message = await live.next("message")
        assert (message["role"], message["html"]) == ("assistant", "<p><strong>to you</strong></p>\n")
        assert [it["hook"] for it in message["trace"]] == ["guard"]
        assert (await live.next("state"))[1]["running"] is False

        async with listening(ann, "c1", before) as replayed:
            assert (await replayed.next("message", "snapshot")) == ("message", message)
        async with listening(ann, "c1", "other-1") as stranger:
            name, snapshot = await stranger.next("message", "snapshot")
            assert (name, list(texts(snapshot["messages"]))) == (
                "snapshot",
                [("user", "hello"), ("assistant", "**to you**")],
            )
            assert snapshot["messages"][1] == {**message, "at": snapshot["messages"][1]["at"]}


async def test_what_is_written_while_a_snapshot_is_read_is_not_in_it_as_well(site: Site) -> None:
    async with site.ann() as ann, listening(ann, "c1") as live:
        await live.next("snapshot")
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "hello"})
        turn = await site.begin("k1")
        turn.tell(TurnStart("hello", 0))
        reading, read = trio.Event(), list[Snapshot]()

        async def snapshot() -> None:
            reading.set()
            read.append(await site.channel.snapshot(turn.chat))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(snapshot)
            await reading.wait()
            site.channel.stream(turn.chat, "later")
            await turn.answer("later")
            turn.tell(END)
        assert read[0].running is not None
        assert (read[0].running.text, [it.role for it in read[0].messages]) == ("", ["user"])
        events = site.channel.feeds.of(turn.chat).after(site.channel.feeds.cursor(read[0].cursor))
        assert sum(b"event: message" in event for _, event in events or ()) == 1


async def test_a_message_waits_once_and_only_until_it_is_dealt_with(site: Site) -> None:
    async with site.ann() as ann, listening(ann, "c1") as live:
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "first"})
        turn = await site.begin("k1")
        turn.tell(TurnStart("first", 0))
        feed = site.channel.feeds.of(turn.chat)
        for _ in range(2):
            await ann.post("/api/chats/c1/messages", json={"key": "k2", "text": "second"})
            assert list(feed.queued) == ["k2"]
        await turn.answer("one")
        assert list(feed.queued) == ["k2"]
        # Refused: nothing of it ever begins.
        await (await site.begin("k2", again=True)).answer("Too much at once.")
        assert (await live.next("message"))[1]["text"] == "first"
        assert not feed.queued


async def test_what_joins_a_turn_is_shown_and_what_is_dropped_without_a_word_waits_no_more(site: Site) -> None:
    async with site.ann() as ann, listening(ann, "c1") as live:
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "first"})
        turn = await site.begin("k1")
        turn.tell(TurnStart("first", 0))
        await live.next("message")
        joined = (await ann.post("/api/chats/c1/messages", json={"key": "k2", "text": "joins"})).json()["id"]
        await site.journal.work.join(turn.claim, joined, Message("user", "joins"))
        turn.tell(SteeringInjected(1, 5))
        assert (await live.next("message"))[1]["text"] == "joins"
        assert (await live.next("state"))[1]["queued"] == []
        dropped = (await ann.post("/api/chats/c1/messages", json={"key": "k3", "text": "dropped"})).json()["id"]
        assert [it["id"] for it in (await live.next("state"))[1]["queued"]] == ["k3"]
        await site.journal.intake.settle(dropped, "dropped")
        await site.journal.work.complete(turn.claim, "answered", [Draft(Message("assistant", "silence"))], [])
        turn.tell(END)
        while (await live.next("state"))[1] != {"running": False, "queued": []}:
            pass


async def test_other_tabs_see_a_chat_deleted_and_a_logout_ends_what_they_hear(site: Site) -> None:
    async with site.ann() as ann, listening(ann, "c1") as live:
        await live.next("snapshot")
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "hello"})
        await (await site.begin("k1")).answer("to you")
        await live.next("message")
        assert (await ann.delete("/api/chats/c1")).status_code == 204
        assert (await live.next("snapshot"))[1]["messages"] == []
        assert (await ann.post("/api/logout")).status_code == 204
        feed = site.channel.feeds.known("web:ann:c1")
        assert feed is not None
        site.channel.stream(feed.chat, "not for whoever has left")
        with pytest.raises(AssertionError, match="the stream has ended"):
            await live.next("delta")


async def test_a_restart_in_mid_answer_loses_neither_login_nor_chat(tmp_path: Path) -> None:
    async with opened(tmp_path) as site, site.ann() as ann, listening(ann, "c1") as live:
        await live.next("snapshot")
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "first"})
        turn = await site.begin("k1")
        turn.tell(TurnStart("first", 0))
        await ann.post("/api/chats/c1/messages", json={"key": "k2", "text": "second"})
        site.channel.stream(turn.chat, "half")
        await live.next("delta")
        cookies, csrf, last_id = ann.cookies, ann.headers["x-csrf-token"], live.last_id
        await site.journal.work.release(turn.claim)
        site.stop.set()
    async with opened(tmp_path) as site, site.client() as ann:
        ann.cookies, ann.headers["x-csrf-token"] = cookies, csrf
        async with listening(ann, "c1", last_id) as live:
            _, snapshot = await live.next("snapshot")
            assert list(texts(snapshot["messages"])) == [("user", "first")]
            assert snapshot["queued"] == [{"id": "k2", "text": "second"}]
            assert (await ann.post("/api/chats/c1/stop")).status_code == 204
            assert [it["id"] for it in (await ann.get("/api/chats")).json()] == ["c1"]


async def test_a_message_is_edited_and_asked_again_in_its_place(site: Site) -> None:
    async with site.ann() as ann:
        for key, text in (("k1", "one"), ("k2", "two")):
            await ann.post("/api/chats/c1/messages", json={"key": key, "text": text})
            await (await site.begin(key)).answer(f"to {text}")
        changed = {"key": "k3", "message": "k2", "text": "2"}
        assert (await ann.post("/api/chats/c1/edit", json=changed)).status_code == 202
        await (await site.begin("k3")).answer("to 2")
        assert (await ann.post("/api/chats/c1/regenerate", json={"key": "k4"})).status_code == 202
        await (await site.begin("k4")).answer("to 2 again")
        seen = (await ann.get("/api/chats/c1")).json()["messages"]
        expected = [("user", "one"), ("assistant", "to one"), ("user", "2"), ("assistant", "to 2 again")]
        assert list(texts(seen)) == expected
        gone = await ann.post("/api/chats/c1/edit", json={"key": "k5", "message": "k2", "text": "x"})
        assert gone.status_code == 404
        assert [it["title"] for it in (await ann.get("/api/chats", params={"search": "again"})).json()] == ["one"]
        assert (await ann.delete("/api/chats/c1")).status_code == 204
        assert (await ann.get("/api/chats")).json() == []
        assert (await ann.get("/api/chats/c1")).json()["messages"] == []


async def test_a_call_that_waits_is_a_card_and_the_first_of_two_opposite_decisions_counts(site: Site) -> None:
    async with site.ann() as ann, site.ann("bob", "bobs") as bob, site.client() as owner:
        assert (await owner.post("/api/login", json={"token": TOKEN})).status_code == 204
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "edit it"})
        turn = await site.begin("k1")
        edit = {"path": "a.txt", "edits": [{"oldText": "one\ntwo", "newText": "one\n2"}]}
        shown = ApprovalRequest(
            "r1", turn.chat, ToolCall("c", "edit", edit), "rule:x", "", "", ("ann", "bob"), 60, "d"
        )
        its = (turn.claim.conversation, turn.claim.message, "1.0", "d", "p", "rule:x")
        asked = Outbound(turn.chat, shown.title, kind="notice", request="r1")
        await site.journal.decisions.request(turn.claim, StoredRequest("r1", *its, shown), [asked])
        await site.deliver()
        [card] = (await ann.get("/api/chats/c1")).json()["approvals"]
        assert (card["tool"], card["arguments"], card["may"], card["of"]) == ("edit", edit, True, [0, 1])
        assert card["diff"].splitlines()[-2:] == ["-two", "+2"]
        assert [it["id"] for it in (await bob.get("/api/approvals")).json()] == ["r1"]
        assert (await ann.get("/api/chats")).json()[0]["waiting"] == 1
        # Who may decide it hears of it in whatever chat of theirs is open; others do not.
        async with listening(bob, "elsewhere") as hears, listening(owner, "elsewhere") as hears_not:
            for stream in (hears, hears_not):
                await stream.next("snapshot")
            turn.tell(ApprovalRequested("r1", "edit", "rule:x", "", 60, "d"))
            assert (await hears.next("approvals"))[1] == {}
            other = site.channel.feeds.of(Chat("web", "owner", "owner", thread="elsewhere"))
            other.publish("state", {})
            assert (await hears_not.next("approvals", "state"))[0] == "state"
        async with listening(ann, "c1") as hears:
            await hears.next("snapshot")
            yes = await bob.post("/api/approvals/r1", json={"approved": True})
            # No call has come back to its question yet, as after a restart.
            await site.deliver()
            assert (await hears.next("approval_done"))[1] == {"id": "r1", "text": "Allowed by bob."}
        assert [it["role"] for it in (await ann.get("/api/chats/c1")).json()["messages"]] == ["user"]
        no = await ann.post("/api/approvals/r1", json={"approved": False, "reason": "late"})
        assert (yes.json()["counted"], no.json()["counted"], no.json()["state"]) == (True, False, "approved")
        for wrong in ({"approved": "yes"}, {"approved": True, "grant": "everything"}, {}):
            assert (await ann.post("/api/approvals/r1", json=wrong)).status_code == 400


async def test_what_hooks_have_kept_from_people_stays_unseen_when_the_chat_is_read_again(site: Site) -> None:
    call = ToolCall("c1", "ls", {"path": "."})
    record, denied = CallRecord(call, None, "agent", 1), CallRecord(replace(call, id="c2"), None, "agent", 1)
    async with site.ann() as ann:
        for key, outbox in (("k1", ("notice", "withheld by guard")), ("k2", ("answer", "changed")), ("k3", None)):
            await ann.post("/api/chats/c1/messages", json={"key": key, "text": key})
            turn = await site.begin(key)
            asks = Message("assistant", "SECRET", (ProposedCall("c1", "ls", "{}"), ProposedCall("c2", "ls", "{}")))
            await site.journal.work.append(turn.claim, [Draft(asks, (record, denied), shown="seen")])
            result = Message("tool", "ERROR (unknown) x", tool_call_id="c1", is_error=True)
            refused = Draft(Message("tool", "not today", tool_call_id="c2"), shown="not today: it is Friday")
            kind, text = outbox or ("answer", "")
            sent = [Outbound(turn.chat, text, kind=kind)] if outbox else []  # type: ignore[arg-type]
            drafts = [Draft(result), refused, Draft(Message("assistant", "SECRET"))]
            await site.journal.work.complete(turn.claim, "answered" if outbox else "dropped", drafts, sent)
        await ann.post("/api/chats/c1/messages", json={"key": "k4", "text": "k4"})
        kept_out, why = await site.begin("k4", again=True), Outbound(turn.chat, "no such words", kind="notice")
        await site.journal.work.complete(kept_out.claim, "dropped", (), [why])
        seen = (await ann.get("/api/chats/c1")).json()["messages"]
        assert list(texts(seen)) == [
            *(("user", "k1"), ("assistant", "seen"), ("notice", "withheld by guard")),
            *(("user", "k2"), ("assistant", "seen\n\nchanged")),
            # Stopped: what had been read of it.
            *(("user", "k3"), ("assistant", "seen\n\nSECRET")),
            # A hook has kept it out of the conversation, and people are told so.
            *(("user", "k4"), ("notice", "no such words")),
        ]
        assert [(it["state"], it["summary"]) for it in seen[1]["tools"]] == [
            ("failed", '{"path":"."}'),
            ("denied", "not today: it is Friday"),
        ]


async def test_what_hooks_said_of_calls_stands_beside_an_answer_after_a_restart_too(tmp_path: Path) -> None:
    call = ToolCall("c1", "ls", {"path": "."})
    async with opened(tmp_path) as site, site.ann() as ann:
        await ann.post("/api/chats/c1/messages", json={"key": "k1", "text": "hello"})
        turn, work = await site.begin("k1"), site.journal.work
        record = CallRecord(id="2.0", call=call, unreadable=None, agent="agent", iteration=1)
        asks = Message("assistant", "", (ProposedCall("c1", "ls", '{"path": "."}'),))
        await work.append(turn.claim, [Draft(asks, (record,))])
        guard = Judgement("before_tool", "guard", "ab", "continue")
        heard = (guard, Judgement("after_tool", "reader", "cd", "deny_tool", "it names bob", failed=True))
        audit = CallAudit("2.0", Step("agent", "t", turn.inbound), call, "p", "ran", ToolResult("x"), heard)
        await work.append(turn.claim, [Draft(Message("tool", "x", tool_call_id="c1"))], (), [audit])
        await turn.answer("Done.")
    async with opened(tmp_path) as site, site.ann() as ann:
        [_, answer] = (await ann.get("/api/chats/c1")).json()["messages"]
        first = {"hook": "guard", "stage": "before_tool", "action": "continue", "reason": ""}
        why = "it names bob"
        second = {"hook": "reader", "stage": "after_tool", "action": "failed, deny_tool", "reason": why}
        assert answer["trace"] == [{**it, "ms": 0.0, "tool": "ls"} for it in (first, second)]
        conversation = await site.channel.conversation(Chat("web", "ann", "ann", thread="c1"))
        await site.journal.books.forget(conversation)
        assert await site.journal.chats.judged(conversation) == {}
