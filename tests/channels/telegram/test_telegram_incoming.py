"""Messages on their way in: each stored before the platform may forget it, whatever comes between."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
import trio
from structlog.testing import capture_logs

from hookgate.channels.telegram.api import ApiFailed, open_api
from hookgate.channels.telegram.incoming import webhook as bringing
from hookgate.channels.telegram.moves import Moves
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Inbound
from hookgate.store.memory import MemoryJournal
from tests.channels.storing import FULL, PNG
from tests.channels.telegram.bench import Bench, benched, direct, opened
from tests.channels.telegram.fake import BOB, TOKEN, FakeTelegram, Refused, open_fake


def photo(fake: FakeTelegram, content: bytes = PNG) -> list[dict[str, object]]:
    return [{**fake.file(content), "width": 1, "height": 1}]


async def state_becomes(bench: Bench, state: str) -> str:
    """Why, once it is so."""
    while bench.channel.state.state != state:
        await trio.sleep(0.01)
    return bench.channel.state.why


async def test_a_message_is_confirmed_once_it_is_stored_and_the_place_with_it(tmp_path: Path) -> None:
    failing: list[Exception] = [FULL]
    async with benched(tmp_path, failing=failing) as bench:
        message = bench.fake.say("hello")
        update = bench.fake.updates[0]["update_id"]
        assert await bench.heard(1) == [Inbound(direct(), "hello", message_id=str(message["message_id"]))]
        await bench.fake.until(lambda: bench.fake.confirmed == update + 1)
        assert [it.partition(" ")[0] for it in bench.offsets] == [str(update + 1)]
        assert await bench.journal.intake.offset("tg", "123456") == bench.offsets[0]
        assert await state_becomes(bench, "receiving") == ""
        # The first time it was not stored, and so it was asked for again.
        assert [it["offset"] for it in bench.fake.called("getUpdates")][:2] == [0, update]
        assert bench.fake.wrong == []


async def test_after_a_restart_it_goes_on_where_it_was_and_nothing_is_heard_twice(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                fake.say("one")
                await bench.heard(1)
            fake.updates = [*fake.updates, *fake.updates]
            fake.say("two")
            async with opened(tmp_path, fake) as bench:
                assert [it.text for it in await bench.heard(1)] == ["two"]
                commands = [{"command": "stop", "description": "end what runs here"}]
                assert fake.called("setMyCommands")[0]["commands"][:1] == commands


async def test_numbers_that_begin_anew_lower_are_heard_and_each_server_has_its_own(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                fake.say("one")
                await bench.heard(1)
                await fake.until(lambda: not fake.updates)
                fake.numbers = count(5)
                fake.say("two")
                assert [it.text for it in await bench.heard(2)] == ["one", "two"]
                await fake.until(lambda: not fake.updates)
                assert bench.offsets[-1].startswith("6 ")
            fake.calls.clear()
            async with opened(tmp_path, fake) as bench:
                await fake.until(lambda: fake.called("getUpdates"))
            async with opened(tmp_path, fake, api_url=fake.url.replace("127.0.0.1", "localhost")) as bench:
                await fake.until(lambda: len({it["offset"] for it in fake.called("getUpdates")}) == 2)
            assert [fake.called("getUpdates")[n]["offset"] for n in (0, -1)] == [6, 0]


async def test_an_album_whose_later_parts_were_not_confirmed_is_not_heard_twice(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            async with opened(tmp_path, fake) as bench:
                fake.say("before")
                await bench.heard(1)
                for _ in range(2):
                    fake.say(photo=photo(fake), media_group_id="m")
                again = list(fake.updates)
                await bench.heard(2)
            fake.updates = again
            async with opened(tmp_path, fake) as bench:
                fake.say("after")
                assert [it.text for it in await bench.heard(1)] == ["after"]
                await fake.until(lambda: not fake.updates)


async def test_a_stop_waits_for_no_file_that_was_sent_before_it(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.faults["getFile"] = [Refused(429, "Too Many Requests: retry after 1", retry_after=1)]
        fake.say(photo=photo(fake), caption="one")
        fake.say("two")
        fake.say("/stop")
        assert [it.text for it in await bench.heard(3)] == ["/stop", "one", "two"]
        await fake.until(lambda: not fake.updates)


async def test_a_group_whose_new_id_could_not_be_stored_is_noted_when_it_is_said_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal(trio.current_time)
    moves = Moves("tg", journal)

    async def full(_channel: str, _name: str, _change: object) -> None:
        await trio.lowlevel.checkpoint()
        raise FULL

    with monkeypatch.context() as patch:
        patch.setattr(journal.holds, "change_state", full)
        with pytest.raises(StoreFailed):
            await moves.note(-55, -10055)
    assert moves.current("-55") == -55
    await moves.note(-55, -10055)
    await moves.note(-10055, -20055)
    after = Moves("tg", journal)
    await after.load()
    assert [it.current("-55") for it in (moves, after)] == [-20055, -20055]


async def test_a_token_that_cannot_stand_in_an_address_is_said_so_and_not_shown() -> None:
    async with open_api("http://127.0.0.1:9", f"{TOKEN}\n") as api:
        with pytest.raises(ApiFailed, match="cannot stand in a request") as failed:
            await api.call("getMe", {})
        assert TOKEN not in failed.value.why


async def test_what_cannot_be_read_is_logged_and_the_stream_goes_on(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with benched(tmp_path) as bench:
            bench.fake.update({"message": {"message_id": "no"}})
            bench.fake.update({"chat_boost_of_tomorrow": {}})
            bench.fake.update({"callback_query": []})
            bench.fake.say("\ud800 half a character")
            [heard] = await bench.heard(1)
            assert heard.text == "\ud800 half a character"
    assert [it["reason"].partition(":")[0] for it in logs if it["event"] == "update_skipped"] == [
        "an update that cannot be read",
        "an update of another kind",
        "an update that cannot be read",
    ]


async def test_an_album_that_comes_again_with_a_late_part_loses_none_and_repeats_none(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.group(-1005)
            album = {"media_group_id": "m", "chat": {"id": -1005, "type": "supergroup", "title": "G"}}
            async with opened(tmp_path, fake, [FULL]) as bench:
                mention = [{"type": "mention", "offset": 0, "length": 9}]
                fake.say(photo=photo(fake), caption="@gate_bot look", caption_entities=mention, **album)
                fake.say(photo=photo(fake), **album)
                again = list(fake.updates)
                # It is known before it is stored, and comes again since it was not.
                [whole] = await bench.heard(1)
                assert len(whole.media) == 2
            fake.updates = again
            fake.say(photo=photo(fake), **album)
            async with opened(tmp_path, fake) as bench:
                [late] = await bench.heard(1)
                assert (len(late.media), late.mentioned, late.album) == (1, True, whole.album)
                await fake.until(lambda: not fake.updates)
                assert len(bench.received) == 1


async def test_an_album_is_one_message_and_a_late_part_is_known_to_belong_to_it(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake, album = bench.fake, {"media_group_id": "m"}
        fake.say(photo=photo(fake), caption="look", **album)
        first = fake.updates[0]["update_id"]
        fake.say("meanwhile", user=BOB)
        fake.say("what is it?")
        fake.say(photo=photo(fake), **album)
        others, whole, after = await bench.heard(3)
        assert (others.text, whole.text, len(whole.media)) == ("meanwhile", "look", 2)
        assert after.text == "what is it?"
        assert int(bench.offsets[0].partition(" ")[0]) <= first, "what the album waits for is not passed over"
        await fake.until(lambda: not fake.updates)
        fake.say(photo=photo(fake), **album)
        late = (await bench.heard(4))[3]
        assert (late.album, len(late.media)) == (whole.album, 1)
        assert whole.album


async def test_an_album_that_was_not_stored_is_asked_for_again_though_others_go_on(tmp_path: Path) -> None:
    failing: list[Exception] = []
    async with benched(tmp_path, failing=failing) as bench:
        await state_becomes(bench, "receiving")
        fake = bench.fake
        fake.say(photo=photo(fake), media_group_id="m")
        fake.say("go on", user=BOB)
        await bench.heard(1)
        failing.append(FULL)
        fake.say("and on", user=BOB)
        assert sorted(it.text for it in await bench.heard(3)) == ["", "and on", "go on"]
        await fake.until(lambda: not fake.updates)


async def test_a_chat_that_is_slow_to_take_in_holds_up_no_other(tmp_path: Path) -> None:
    """A file is fetched for long; what is said after it in its chat comes after it."""
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.faults["getFile"] = [Refused(429, "Too Many Requests: retry after 1", retry_after=1)]
        fake.say(photo=photo(fake), caption="one")
        fake.say("two")
        for n in range(50):
            fake.say(f"{n}", user={**BOB, "id": 100 + n})
        heard = await bench.heard(52)
        assert [it.text for it in heard][-2:] == ["one", "two"]
        await fake.until(lambda: not fake.updates)


async def test_a_file_is_kept_and_one_that_cannot_be_had_is_a_line(tmp_path: Path) -> None:
    async with benched(tmp_path) as bench:
        fake = bench.fake
        fake.say(photo=photo(fake), caption="see")
        fake.say(document={"file_id": "unknown", "file_name": "a.pdf"})
        fake.say(document={"file_id": "huge", "file_size": 30_000_000})
        fake.say(photo=photo(fake, PNG[:40]))
        seen, unknown, huge, damaged = await bench.heard(4)
        assert await bench.media.read(seen.media[0].rpartition(":")[2]) == ("image/png", PNG)
        assert unknown.text == "[file: a.pdf]\n[file: not taken, Bad Request: invalid file_id]"
        assert huge.text == "[file: not taken, it has more than 20 MB]"
        assert damaged.text.startswith("[photo: not taken, the picture is damaged")


async def test_many_waiting_updates_are_taken_oldest_first(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            for n in range(350):
                fake.say(f"{n}")
            async with opened(tmp_path, fake) as bench:
                assert [it.text for it in await bench.heard(350)] == [f"{n}" for n in range(350)]
                assert all(it["limit"] == 100 for it in fake.called("getUpdates"))


TOLD = "the token in TG_TOKEN (of @gate_bot)"
GONE = f"{TOLD} is not valid, or not any more: @BotFather gives a new one"
TWICE = "Conflict: terminated by other getUpdates request"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Refused(401, "Unauthorized"), GONE),
        (Refused(409, TWICE), f"somebody else receives with {TOLD}: {TWICE}"),
    ],
)
async def test_a_revoked_token_and_a_second_receiver_are_down_and_said_by_name(
    tmp_path: Path, fault: Refused, why: str
) -> None:
    async with benched(tmp_path) as bench:
        await state_becomes(bench, "receiving")
        bench.fake.faults["getUpdates"] = [fault] * 9
        bench.fake.say("wakes the poll")
        assert await state_becomes(bench, "down") == why
        assert TOKEN not in why


async def test_a_second_receiver_that_leaves_and_a_webhook_in_the_way_are_overcome(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            fake.webhook = {"url": "https://elsewhere.example"}
            async with opened(tmp_path, fake) as bench:
                fake.say("hello")
                await bench.heard(1)
                assert fake.called("deleteWebhook") == [{}]
                fake.faults["getUpdates"] = [Refused(409, TWICE)]
                fake.say("again")
                await bench.heard(2)
                assert await state_becomes(bench, "receiving") == ""


async def test_a_group_that_moves_keeps_its_conversation(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake:
            old = fake.chat({"id": -55, "type": "group", "title": "Ops"})
            async with opened(tmp_path, fake) as bench:
                fake.say("before", chat=old)
                fake.say(chat=old, migrate_to_chat_id=-10055)
                await bench.heard(1)
                await fake.until(lambda: not fake.updates)
            async with opened(tmp_path, fake) as bench:
                message = fake.say("after", chat=fake.group(-10055))
                [heard] = await bench.heard(1)
                assert (heard.chat.chat_id, heard.message_id) == ("-55", f"-10055.{message['message_id']}")


async def test_a_webhook_takes_what_knows_the_secret_and_answers_once_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bringing, "LOOK_S", 0.05)
    failing: list[Exception] = []
    async with benched(tmp_path, failing=failing, mode="webhook", origin="https://bots.example.org") as bench:
        fake, webhook = bench.fake, bench.opened.webhook
        assert webhook is not None
        await fake.until(lambda: fake.webhook)
        assert fake.webhook["url"] == "https://bots.example.org/channels/tg"
        async with trio.open_nursery() as nursery:
            from hookgate.channels.http.server import serve_http

            stop = trio.Event()

            async def serve(task_status: trio.TaskStatus[str]) -> None:
                await serve_http(webhook, "127.0.0.1:0", started=task_status.started, stop=stop)

            fake.proxy = f"http://{await nursery.start(serve)}/channels/tg"
            fake.say("hello")
            assert await fake.bring(secret="guessed") == [404]
            failing.append(FULL)
            assert await fake.bring() == [503]
            looks = len(fake.called("getWebhookInfo"))
            await fake.until(lambda: len(fake.called("getWebhookInfo")) >= looks + 2)
            assert bench.channel.state.why == "nothing can be stored: the disk is full"
            fake.update({"message": 5})
            assert await fake.bring() == [200, 200]
            assert [it.text for it in bench.received] == ["hello"]
            stop.set()
