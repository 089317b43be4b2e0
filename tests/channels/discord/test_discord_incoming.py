"""Messages on their way in: each stored before its place is, in order, whatever becomes of sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from hookgate.channels.discord.incoming import inbox, missed
from hookgate.channels.discord.incoming.place import Places, SessionPosition, latest, read_place
from hookgate.protocol.chat import Chat, Inbound
from tests.channels.discord.bench import benched, direct, opened
from tests.channels.discord.fake import ANN, BOB, CONTENT, ME, OPS, ROLE, FakeDiscord, Refused, open_fake, too_many
from tests.channels.storing import FULL, PNG

ROOM = "GET /channels/{channel_id}"
HISTORY = "GET /channels/{channel_id}/messages"


def told(fake: FakeDiscord, op: int) -> list[dict[str, object]]:
    return [it["d"] for it in fake.told if it["op"] == op]


async def test_a_message_is_stored_with_its_place_and_after_a_restart_the_session_goes_on(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake, failing=[FULL]) as bench:
                await fake.until(lambda: fake.listening)
                message = fake.say("hello")
                assert await bench.heard(1) == [Inbound(direct(), "hello", message_id=message["id"])]
                assert await bench.becomes("receiving") == ""
                place = json.loads(await bench.journal.intake.offset("dc", ME["id"]))
                assert place["session"] == next(iter(fake.sessions))
            assert fake.closes == [4000], "with 1000 the session would be over"
            missed = fake.say("while it was down")
            async with opened(tmp_path, fake) as bench:
                fake.say("again up")
                assert [it.text for it in await bench.heard(2)] == ["while it was down", "again up"]
                assert bench.received[0].message_id == missed["id"]
            [identified], [resumed] = told(fake, 2), told(fake, 6)
            assert identified["intents"] == 1 << 0 | 1 << 9 | 1 << 12 | CONTENT
            assert resumed["session_id"] == place["session"]
            assert fake.called(HISTORY) == []
            assert fake.wrong == []


async def test_what_was_missed_by_a_session_that_is_over_is_fetched_before_what_comes(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            thread = fake.thread()
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.listening)
                fake.say("one")
                fake.say("a", room=thread)
                await bench.heard(2)
            fake.sessions.clear()
            where = fake.direct(ANN)
            for number in range(250):
                fake.message(where, ANN, f"missed {number}")
            fake.message(thread, ANN, "b")
            fake.held[HISTORY] = trio.Event()
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.called(HISTORY))
                fake.say("now")
                fake.held[HISTORY].set()
                texts = [it.text for it in await bench.heard(252)]
                assert [it for it in texts if it != "b"] == [*(f"missed {n}" for n in range(250)), "now"]
                [post] = [it for it in bench.received if it.text == "b"]
                assert post.chat == Chat("dc", OPS, ANN["id"], "group", thread["id"])
                assert await bench.becomes("receiving") == ""
            assert len(told(fake, 2)) == 2
            assert fake.wrong == []


async def test_sessions_end_in_many_ways_and_nothing_is_lost_or_heard_twice(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        said = list[str]()
        for number, end in enumerate(
            (lambda: fake.raw({"op": 7, "d": None}), lambda: fake.hang_up(4000), lambda: fake.hang_up(4008))
        ):
            end()
            fake.say(f"{number}")
            said.append(f"{number}")
            assert [it.text for it in await bench.heard(len(said))] == said
        # The session is none any more: what comes meanwhile is fetched.
        fake.hang_up(4009)
        fake.sessions.clear()
        fake.say("fetched")
        assert [it.text for it in await bench.heard(4)] == [*said, "fetched"]
        assert fake.starts_left == 998
        assert fake.wrong == []


async def test_a_connection_that_answers_no_heartbeat_is_left_and_the_session_goes_on(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.heartbeat_ms, fake.deaf = 200, True
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: 4000 in fake.closes)
                fake.deaf = False
                await fake.until(lambda: told(fake, 6) and fake.listening)
                fake.say("hello")
                await bench.heard(1)
                await bench.becomes("receiving")


async def test_while_too_much_waits_nothing_more_is_read_but_hearts_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "MOST_WAITING", 5)
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.heartbeat_ms = 100
            fake.held[ROOM] = trio.Event()
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.listening)
                thread = fake.thread()
                for number in range(30):
                    fake.say(f"{number}", room=thread)
                await fake.until(lambda: fake.called(ROOM))
                beats = len(told(fake, 1))
                await fake.until(lambda: len(told(fake, 1)) > beats + 5)
                assert bench.received == []
                fake.held[ROOM].set()
                assert [it.text for it in await bench.heard(30)] == [f"{number}" for number in range(30)]
                assert fake.closes == []
                assert len(fake.called(ROOM)) == 1


def test_a_place_is_before_what_is_open_and_names_no_session_while_something_is_fetched() -> None:
    places = Places(read_place("{not one", "s"))
    places.begin("one", "wss://a", 1.0)
    for seq, message in ((1, 10), (2, 20), (3, 0)):
        places.receive(seq)
        places.take(seq, message)
    places.done(3)
    assert (places.now.seq, places.now.last, places.session.seq) == (0, 9, 3)
    places.done(1)
    assert (places.now.seq, places.now.last) == (1, 19)
    places.begin("two", "wss://b", 2.0)
    places.hold("missed", 15)
    places.done(2)
    assert (places.now.session, places.now.seq, places.now.last) == ("", 0, 14)
    assert places.session.session == "two"
    held = places.now
    places.done("missed")
    assert (places.now.session, places.now.last) == ("two", 20)
    # Of two that were stored the later one counts, and all that either knows is stored.
    older = read_place(SessionPosition("s", "one", "wss://a", 90, 30, 1.0).text, "s")
    assert latest(older, held) == SessionPosition("s", "", "", 0, 30, 2.0)
    assert read_place(older.text, "another") == SessionPosition("another")


async def test_a_group_its_threads_mentions_and_answers_are_told_apart(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, ops = bench.fake, bench.fake.rooms[OPS]
        thread = fake.thread()
        mine = fake.message(ops, ME, "ask me")
        annes = fake.message(ops, ANN, "the\u202e plan\x07")
        fake.say("to others", room=ops)
        fake.say(f"<@{ME['id']}>, do <@{ANN['id']}> <:wave:123456>", room=ops)
        fake.say(f"<@&{ROLE}> do", room=thread, mention_roles=[ROLE])
        fake.say("yes", room=ops, type=19, referenced_message=mine)
        fake.say("no", room=ops, type=19, referenced_message=annes)
        fake.say("a bot", room=ops, user={**ANN, "bot": True})
        fake.say("a webhook", room=ops, webhook_id="5")
        fake.say("has joined", room=ops, type=7)
        fake.say("last", room=ops)
        heard = await bench.heard(6)
        assert [(it.text, it.mentioned, it.reply_to_bot) for it in heard if not it.chat.thread] == [
            ("to others", False, False),
            ("do @Ann :wave:", True, False),
            ("yes", False, True),
            ("[in reply to Ann]\n> the\u202e plan\nno", False, False),
            ("last", False, False),
        ]
        [post] = [it for it in heard if it.chat.thread]
        assert (post.text, post.mentioned) == ("do", True)
        assert post.chat == Chat("dc", OPS, ANN["id"], "group", thread["id"])
        assert {it.chat for it in heard if not it.chat.thread} == {Chat("dc", OPS, ANN["id"], "group")}
        # What the server has told of itself is not asked for.
        assert {it.ids[0] for it in fake.called(ROOM)} == {thread["id"]}


async def test_what_cannot_be_read_is_logged_and_what_follows_is_heard(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with benched(tmp_path) as bench:
            [session] = bench.fake.listening
            bench.fake.raw("no JSON")
            bench.fake.raw({"op": "zero"})
            bench.fake.raw({"op": 99})
            bench.fake.send(session, "MESSAGE_CREATE", {"id": 5})
            bench.fake.send(session, "TOMORROWS_EVENT", {})
            bench.fake.send(session, "INTERACTION_CREATE", [])
            bench.fake.say("\ud800 half")
            bench.fake.say(sticker_items=[{"name": "Hi]\u200b"}], poll={"question": {"text": "Tea?"}})
            heard = await bench.heard(2)
            assert [it.text for it in heard] == ["\ud800 half", "[sticker Hi)]\n[poll: Tea?]"]
            assert bench.channel.state.state == "receiving"
    skipped = [
        it["reason"] for it in logs if it["event"] in ("dispatch_skipped", "payload_skipped") and "reason" in it
    ]
    assert len(skipped) == 4


async def test_files_come_from_where_discord_keeps_them_alone_and_a_stop_waits_for_none(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        good, large = fake.attach(PNG, "\u202egood.png"), {**fake.attach(PNG), "size": 26_000_000}
        elsewhere = {**fake.attach(PNG), "url": "http://192.0.2.1/secret"}
        fake.held["GET /channels/{channel_id}"] = trio.Event()
        thread = fake.thread()
        fake.say("see", room=thread, attachments=[good, large, elsewhere])
        fake.say("/stop", user=ANN)
        [stop] = await bench.heard(1)
        assert stop.text == "/stop"
        fake.held["GET /channels/{channel_id}"].set()
        heard = (await bench.heard(2))[1]
        assert heard.text.splitlines() == [
            "[file: good.png]",
            "[file: a.png]",
            "[file: a.png]",
            "see",
            "[file: not taken, it has more than 25 MB]",
            "[file: not taken, it lies somewhere else than at Discord]",
        ]
        assert len(heard.media) == 1
        assert fake.wrong == []


async def test_a_token_and_an_intent_that_only_a_person_mends_are_named(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake, opened(tmp_path, fake) as bench:
            await bench.becomes("receiving")
            fake.token = "another"
            fake.hang_up(4000)
            why = await bench.becomes("down")
            assert why.startswith("the token in DISCORD_TOKEN (of Gate) is not valid, or not any more")
        async with open_fake() as fake:
            fake.may_read = False
            async with opened(tmp_path / "all", fake, hears_all=True) as bench:
                while "MESSAGE_CONTENT" not in bench.channel.state.why:
                    await trio.sleep(0.01)
                assert bench.channel.state.state == "down"
                assert fake.starts_left == 1000, "no session was begun for that"
            with capture_logs() as logs:
                async with opened(tmp_path / "named", fake) as bench:
                    await fake.until(lambda: fake.listening)
                    fake.say("to others", room=fake.rooms[OPS])
                    fake.say(f"<@{ME['id']}> hello", room=fake.rooms[OPS])
                    assert [it.text for it in await bench.heard(1)] == ["hello"]
            assert [it["reason"][:33] for it in logs if it["event"] == "message_content_off"] == [
                "the intent MESSAGE_CONTENT is off"
            ]
        async with open_fake() as fake:
            fake.starts_left = 0
            async with opened(tmp_path / "spent", fake) as bench:
                while "no more sessions" not in bench.channel.state.why:
                    await trio.sleep(0.01)
                assert told(fake, 2) == []


# --- what cannot be asked now ---


async def test_a_message_waits_until_discord_says_where_it_was_said_however_often_it_fails(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, thread = bench.fake, bench.fake.thread()
        fake.faults[ROOM] = [*[Refused(502, "Bad Gateway")] * 3, too_many(0.5)]
        fake.say("first", room=thread)
        await bench.becomes("degraded")
        fake.say("second", room=thread)
        assert [it.text for it in await bench.heard(2)] == ["first", "second"]
        assert bench.received[0].chat == Chat("dc", OPS, ANN["id"], "group", thread["id"])
        assert len(fake.called(ROOM)) == 5
        await bench.becomes("receiving")


async def test_where_the_bot_may_not_look_a_group_stays_one_and_that_is_asked_again(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, thread = bench.fake, bench.fake.thread()
        fake.gone[thread["id"]] = 50001
        fake.say("unknown", room=thread)
        [heard] = await bench.heard(1)
        assert heard.chat == Chat("dc", thread["id"], ANN["id"], "group")
        fake.gone.clear()
        fake.say("known", room=thread)
        assert (await bench.heard(2))[1].chat == Chat("dc", OPS, ANN["id"], "group", thread["id"])


async def test_what_was_missed_in_a_room_that_names_no_server_is_nobodys_direct_message(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.listening)
                fake.say("one", room=fake.rooms[OPS])
                fake.say("one")
                await bench.heard(2)
            fake.sessions.clear()
            fake.message(fake.rooms[OPS], ANN, "not to the bot")
            fake.message(fake.direct(ANN), ANN, "to the bot")
            server = fake.rooms[OPS].pop("guild_id")
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.called(ROOM))
                fake.say("now")
                assert [it.text for it in await bench.heard(2)] == ["to the bot", "now"]
            fake.rooms[OPS]["guild_id"] = server


async def test_what_could_not_be_fetched_is_fetched_later_whatever_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missed, "TRIES", 1)
    monkeypatch.setattr(missed, "FIRST_S", 0.05)
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.listening)
                fake.say("one")
                await bench.heard(1)
            fake.sessions.clear()
            for number in range(150):
                fake.message(fake.direct(ANN), ANN, f"{number}", **({"author": None} if number == 7 else {}))
            fake.faults[HISTORY] = [Refused(502, "Bad Gateway")] * 3
            async with opened(tmp_path, fake) as bench:
                listed, failures = bench.journal.chats.listed, [FULL] * 2

                async def failing(*args: Any, **more: Any) -> Any:
                    if failures:
                        raise failures.pop()
                    return await listed(*args, **more)

                monkeypatch.setattr(bench.journal.chats, "listed", failing)
                texts = [it.text for it in await bench.heard(149)]
                assert texts == [f"{number}" for number in range(150) if number != 7]
                assert (failures, fake.faults[HISTORY]) == ([], [])


async def test_strangers_who_wait_stop_nobody_who_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MOST_WAITING", 20)
    monkeypatch.setattr(inbox, "MOST_STRANGE", 5)
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.listening)
                fake.say("one")
                await bench.heard(1)
            fake.sessions.clear()
            fake.held[HISTORY] = trio.Event()
            async with opened(tmp_path, fake) as bench:
                bench.gateway.strangers.add(BOB["id"])
                await fake.until(lambda: fake.called(HISTORY))
                for number in range(30):
                    fake.say(f"{number}", BOB)
                    fake.command("help", user=BOB)
                fake.say("/stop")
                assert [it.text for it in await bench.heard(1)] == ["/stop"]
                fake.held[HISTORY].set()
                assert [it.text for it in await bench.heard(6)][1:] == ["0", "/help", "1", "/help", "2"]


@pytest.mark.parametrize(("code", "why"), [(4014, "MESSAGE_CONTENT is off"), (4013, "knows an intent no more")])
async def test_a_close_that_only_a_person_mends_says_so_and_spends_no_more_sessions(
    tmp_path: Path, code: int, why: str
) -> None:
    async with benched(tmp_path) as bench:
        await bench.becomes("receiving")
        bench.fake.hang_up(code)
        assert why in await bench.becomes("down")
        assert bench.fake.starts_left == 999
