"""JSON-RPC over HTTP against a whole gateway: messages are sent and waited for, calls decided, mistakes told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.settings import Settings
from hookgate.protocol.approval import Voter
from hookgate.protocol.codec import decode, encode
from hookgate.serve.run import Served
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.operators.looking import open_look
from tests.serve.gateway import DEADLINE_S, SCRIPT, configured, open_served

ASKS = """
{"steps": [{"calls": [{"name": "ls", "arguments": {"path": "."}}]}, {"text": "Listed."}]}
"""
RULE = '[[approvals]]\ntools = ["ls"]\n'
LASTING = (
    "keys.add",
    "keys.revoke",
    "people.add",
    "people.codes",
    "people.pair",
    "people.remove",
    "people.role",
)
"""What would stay after the key that asked for it was revoked."""


@dataclass(frozen=True)
class Program:
    """Whoever has this key, at a gateway."""

    client: httpx.AsyncClient
    name: str
    key: str

    async def post(self, body: object, **headers: str) -> httpx.Response:
        given = {"authorization": f"Bearer {self.key}", "content-type": "application/json", **headers}
        content = body if isinstance(body, bytes) else encode(body)
        return await self.client.post("/rpc", content=content, headers=given)

    async def call(self, method: str, **params: Any) -> Any:
        """What is answered, result or error."""
        answer = await self.post(request(method, params))
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    async def result(self, method: str, **params: Any) -> Any:
        answer = await self.call(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    async def refused(self, method: str, **params: Any) -> tuple[int, str]:
        error = (await self.call(method, **params))["error"]
        return error["code"], f"{error['message']} {error.get('data', '')}".strip()


def request(method: str, params: Any = (), id_: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


async def program(served: Served, client: httpx.AsyncClient, name: str, channel: str = "rpc") -> Program:
    keys = served.runtime.keys
    _key, shown = await keys.add(channel, name, "operator")
    return Program(client, name, shown)


@asynccontextmanager
async def open_programs(
    folder: Path, *names: str, more: str = "", script: str = SCRIPT
) -> AsyncGenerator[tuple[Served, list[Program]]]:
    """Of whom `ann` is an operator."""
    people = '[people.ann]\nids = ["rpc:ann"]\nroles = ["operator"]\n'
    async with open_served(configured(folder, people + more, script)) as served:
        address = f"http://{served.address}"
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE_S) as client:
            yield served, [await program(served, client, name) for name in names]


async def test_a_message_is_answered_once_however_often_it_is_sent_and_whoever_waits(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "bob", "eve", "ann") as (_served, [bob, eve, ann]):
        sent = await bob.result("message.send", text="hello", session="build", key="k1")
        assert (sent["session"], sent["known"]) == ("rpc:bob:build", False)
        again = await bob.result("message.send", text="hello", session="build", key="k1")
        assert again == {**sent, "known": True}
        found: list[Any] = []

        async def wait(who: Program) -> None:
            found.append(await who.result("message.wait", message=sent["message"], timeout_s=50))

        async with trio.open_nursery() as nursery:
            for who in (bob, bob, ann):
                nursery.start_soon(wait, who)
        assert [(it["state"], it["ended"], it["text"]) for it in found] == [("answered", True, "Hello.")] * 3
        assert found[0]["said"] == [{"kind": "answer", "text": "Hello.", "media": []}]
        code, why = await eve.refused("message.wait", message=sent["message"])
        assert (code, why) == (-32000, f"there is no message '{sent['message']}' of yours")
        # The same key elsewhere is another message.
        other = await bob.result("message.send", text="hello", key="k1")
        assert other["message"] != sent["message"]
        assert other["session"] == "rpc:bob"


async def test_what_waits_for_a_person_is_told_and_decided_by_who_may(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "bob", "eve", "ann", more=RULE, script=ASKS) as (_served, [bob, eve, ann]):
        sent = await bob.result("message.send", text="list it")
        asked = await bob.result("message.wait", message=sent["message"], timeout_s=50, asked=True)
        assert (asked["state"], asked["ended"]) == ("waiting", False)
        [request_] = asked["requests"]
        assert await eve.result("approvals.list") == []
        assert (await eve.result("approvals.decide", request=request_, approved=True))["counted"] is False
        [own] = await bob.result("approvals.list")
        assert (own["request"], own["tool"], own["session"]) == (request_, "ls", "rpc:bob")
        assert [it["request"] for it in await ann.result("approvals.list")] == [request_]
        decided = await bob.result("approvals.decide", request=request_, approved=True)
        assert (decided["counted"], decided["text"]) == (True, "Allowed.")
        ended = await bob.result("message.wait", message=sent["message"], timeout_s=50)
        assert (ended["state"], ended["text"]) == ("answered", "Listed.")


async def test_an_operator_asks_what_the_control_socket_answers_but_makes_no_key(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "ann", "bob") as (served, [ann, bob]):
        sent = await bob.result("message.send", text="hello")
        await bob.result("message.wait", message=sent["message"], timeout_s=50)
        assert [it["key"] for it in await ann.result("sessions.list")] == ["rpc:bob"]
        [where] = await ann.result("journal.where", message=sent["message"])
        assert where["passages"][0]["what"] == "accepted"
        assert {it["state"] for it in await ann.result("hooks.list")} == {"built in"}
        assert {it["holder"] for it in await ann.result("keys.list")} == {"rpc:ann", "rpc:bob"}
        for method in ("sessions.list", "journal.where", "hooks.reload", "keys.list", "status", "no.such"):
            assert (await bob.refused(method))[0] == -32601, method
        assert await ann.result("sessions.stop", session="rpc:bob") is False
        with open_look(tmp_path / "state" / "journal.db") as tables:
            records = [decode(link.body) for link in links(tables)]
        assert [(it["by"], it["did"]) for it in records if it["kind"] == "operator"] == [("rpc:ann", "sessions.stop")]
        about, discovered = await ann.result("gateway.about"), await ann.result("rpc.discover")
        assert {*about["methods"], "rpc.discover"} == {it["name"] for it in discovered["methods"]}
        for method in LASTING:
            assert (await ann.refused(method))[0] == -32601, method
            assert method not in about["methods"]
        # Whoever is no operator any more is none with the next request.
        served.runtime.policies.doors.know(type(served.runtime.policies.doors.people)())
        assert (await ann.refused("sessions.list"))[0] == -32601


async def test_no_key_lets_a_stranger_in_by_what_it_says_either(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "ann") as (served, [ann]):
        guests = served.runtime.guests
        assert guests is not None
        code = await guests.offer(Voter("page", "666"))
        sent = await ann.result("message.send", text=f"/pair {code} eve")
        ended = await ann.result("message.wait", message=sent["message"], timeout_s=50)
        assert [it["text"][:26] for it in ended["said"]] == ["Nobody is let in by a key:"]
        assert [it.name for it in guests.listed()] == ["ann"]


async def test_what_a_key_allows_ends_with_the_session_whoever_has_it(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "bob", "ann", more=RULE, script=ASKS) as (_served, [bob, ann]):
        sent = await bob.result("message.send", text="list it")
        asked = await bob.result("message.wait", message=sent["message"], timeout_s=50, asked=True)
        [request_] = asked["requests"]
        for who in (bob, ann):
            for grant in ("1h", "always"):
                code, why = await who.refused("approvals.decide", request=request_, approved=True, grant=grant)
                assert (code, "grant" in why) == (-32602, True), why
        typed = await bob.result("message.send", text=f"/approve {request_} always")
        told = await bob.result("message.wait", message=typed["message"], timeout_s=50)
        assert "a yes is for once or for the session" in told["text"] or any(
            "a yes is for once or for the session" in it["text"] for it in told["said"]
        )
        assert (await ann.result("approvals.decide", request=request_, approved=True, grant="session"))["counted"]


async def test_batches_and_notifications_are_as_the_specification_has_them(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "bob") as (_served, [bob]):
        about = request("rpc.discover")
        mixed = [
            request("message.send", {"text": "one"}, "a"),
            {"jsonrpc": "2.0", "method": "message.send", "params": {"text": "two"}},
            1,
            {"jsonrpc": "2.0", "id": 7, "method": "no.such"},
            request("message.send", {"text": 5}, 8),
            {"jsonrpc": "1.0", "id": 9, "method": "rpc.discover"},
        ]
        answers = (await bob.post(mixed)).json()
        said = [(it["id"], it.get("error", {}).get("code", 0)) for it in answers]
        assert said == [("a", 0), (None, -32600), (7, -32601), (8, -32602), (9, -32600)]
        for wrong in ([], [about] * 51):
            answer = (await bob.post(wrong)).json()
            assert (answer["error"]["code"], answer["id"]) == (-32600, None)
        assert len((await bob.post([about] * 3)).json()) == 3
        silent = {"jsonrpc": "2.0", "method": "message.send", "params": {"text": "three"}}
        for quiet in (silent, [silent, silent]):
            answer = await bob.post(quiet)
            assert (answer.status_code, answer.content) == (204, b"")
        for broken in (b"", b"{", b'"', b"\xff", b"[" * 100_000, b"null"):
            error = (await bob.post(broken)).json()["error"]
            assert error["code"] in (-32700, -32600), broken[:10]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("message.send", {}, "text"),
    ("message.send", {"text": ""}, "text"),
    ("message.send", {"text": "x" * 200_001}, "text"),
    ("message.send", {"text": "x", "session": "a:b"}, "session"),
    ("message.send", {"text": "x", "sesion": "a"}, "sesion"),
    ("message.send", {"txt": "x"}, "'text'; got an unexpected keyword argument 'txt'"),
    ("message.wait", {"message": 5}, "message"),
    ("message.wait", {"message": "M1", "timeout_s": 56}, "timeout_s"),
    ("message.wait", {"message": "M1", "timeout_s": "1"}, "timeout_s"),
    ("message.wait", {"message": "M1", "asked": 1}, "asked"),
    ("approvals.decide", {"request": "a", "approved": "yes"}, "approved"),
    ("approvals.decide", {"request": "a", "approved": True, "grant": "for ever"}, "grant"),
]


async def test_params_of_another_type_or_name_are_told_by_their_name(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "bob") as (_served, [bob]):
        for method, params, named in WRONG:
            code, why = await bob.refused(method, **params)
            assert (code, named in why) == (-32602, True), (method, why)
        assert (await bob.refused("message.wait", message="M99"))[0] == -32000


async def test_what_is_no_sound_request_is_refused_with_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_programs(tmp_path, "bob") as (served, [bob]):
        about = request("rpc.discover")
        strange = await program(served, bob.client, "bob", "metrics")
        answers = {
            401: await Program(bob.client, "", "hg_no").post(about),
            403: await strange.post(about),
            405: await bob.client.get("/rpc"),
            404: await bob.client.post("/rpc/more", content=b"{}"),
            415: await bob.post(about, **{"content-type": "text/plain"}),
            413: await bob.post(b" " * 1_000_001),
        }
        for status, answer in answers.items():
            assert answer.status_code == status
            error = answer.json()
            assert (error["jsonrpc"], error["id"], error["error"]["code"]) == ("2.0", None, -32000)
        assert 'error="invalid_token"' in answers[401].headers["www-authenticate"]
        monkeypatch.setattr("hookgate.control.http.BODY_S", 0.2)
        assert await half_a_body(served.address, bob.key, gone=False) == b"HTTP/1.1 408 "
        await half_a_body(served.address, bob.key, gone=True)
        assert (await bob.result("rpc.discover"))["openrpc"]


async def half_a_body(address: str, key: str, *, gone: bool) -> bytes:
    """How the answer begins to whoever says that more comes, and sends no more of it."""
    host, _, port = address.partition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    async with stream:
        head = f"POST /rpc HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n"
        await stream.send_all(f'{head}content-length: 100\r\n\r\n{{"jsonrpc"'.encode())
        return b"" if gone else (await stream.receive_some())[:13]


async def test_waits_end_with_their_client_their_key_and_the_server_and_hold_up_nobody(tmp_path: Path) -> None:
    async with open_programs(tmp_path, "bob", "eve", more=RULE, script=ASKS) as (served, [bob, eve]):
        channel: Any = served.runtime.channels["rpc"]
        programs = channel.here
        message = (await bob.result("message.send", text="list it"))["message"]
        await bob.result("message.wait", message=message, timeout_s=50, asked=True)
        slow = [request("message.wait", {"message": message, "timeout_s": 50}, n) for n in range(50)]

        async def listening(count: int) -> None:
            while sum(map(len, programs._bells.values())) != count:
                await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            leaving = trio.CancelScope()

            async def leave() -> None:
                with leaving:
                    await bob.post(slow)

            nursery.start_soon(leave)
            await listening(50)
            # Both whoever else there is, and the same program, are answered meanwhile.
            assert await eve.result("approvals.list") == []
            assert len(await bob.result("approvals.list")) == 1
            leaving.cancel()
            await listening(0)
        told: list[Any] = []

        async def wait_on() -> None:
            told.extend((await bob.post(slow[:2])).json())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_on)
            await listening(2)
            [key] = [it for it in served.runtime.keys.listed() if it.name == "bob"]
            await served.runtime.keys.revoke(key, "operator")
        assert [it["error"]["code"] for it in told] == [-32000, -32000]
        assert "revoked" in told[0]["error"]["message"]
        assert (await bob.post(slow[0])).status_code == 401


async def test_where_it_is_switched_off_there_is_nothing(tmp_path: Path) -> None:
    configured(tmp_path)
    file = tmp_path / "hookgate.toml"
    file.write_text(file.read_text().replace("[http]", "[http]\nrpc = false"))
    config, _file = configuration.load(file)
    async with open_served(Settings(config, tmp_path, file, serving=True)) as served:
        async with httpx.AsyncClient(base_url=f"http://{served.address}") as client:
            assert (await client.post("/rpc", content=b"{}")).status_code == 404
        assert "rpc" not in served.runtime.channels
