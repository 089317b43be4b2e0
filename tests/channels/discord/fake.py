"""Discord's API and gateway on loopback, as strict as the real ones are known to be, and the people who use its bot.

Judged by an official client library in test_discord_fake. What a request says wrongly is a 400, and in `wrong`.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import trio
from starlette.requests import Request
from starlette.responses import Response
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest, serve_websocket

from hookgate.channels.http.server import App, Receive, Scope, Send, serve_http
from tests.channels.discord.schema import operation, problems

TOKEN = "MTIzNDU2.fake.discord-token"
ME = {"id": "900000000000000001", "username": "gate", "global_name": "Gate", "discriminator": "0001", "avatar": None}
ME |= {"bot": True, "verified": True, "mfa_enabled": False, "flags": 0}
ANN = {"id": "700000000000000007", "username": "ann", "global_name": "Ann", "discriminator": "0", "avatar": None}
BOB = {"id": "700000000000000008", "username": "bob", "global_name": "Bob", "discriminator": "0", "avatar": None}
GUILD, OPS, TALK, ROLE = "500000000000000001", "500000000000000002", "500000000000000003", "500000000000000004"
DM, TEXT, THREAD = 1, 0, 11
GUILD_MESSAGES, DIRECT_MESSAGES, CONTENT = 1 << 9, 1 << 12, 1 << 15
CONTENT_FLAG = 1 << 19
CODES = {10003: (404, "Unknown Channel"), 50001: (403, "Missing Access"), 50013: (403, "Missing Permissions")}
CODES |= {10008: (404, "Unknown Message"), 50005: (403, "Cannot edit a message authored by another user")}
CODES |= {10062: (404, "Unknown interaction"), 40005: (413, "Request entity too large")}
PACES = {"POST /channels/{channel_id}/messages": (5, 5.0)}
PACES |= {"PATCH /channels/{channel_id}/messages/{message_id}": (5, 5.0)}
SAYS = ("POST /channels/{channel_id}/messages", "POST /channels/{channel_id}/typing")
GLOBAL_MOST = 50
PERMISSIONS = str((1 << 50) - 1)


class Refused(Exception):
    def __init__(self, status: int, why: str, code: int = 0, **more: Any) -> None:
        super().__init__(why)
        self.status, self.body = status, {"message": why, "code": code, **more}


def refused(code: int) -> Refused:
    status, why = CODES[code]
    return Refused(status, why, code)


def too_many(after_s: float, *, everywhere: bool = False) -> Refused:
    refusal = Refused(429, "You are being rate limited.", retry_after=after_s)
    refusal.body["global"] = everywhere
    return refusal


@dataclass
class Call:
    name: str
    ids: tuple[str, ...]
    body: Any
    files: dict[str, bytes] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    at: float = field(default_factory=time.monotonic)


@dataclass(eq=False)
class FakeSession:
    """`sent`: what was dispatched, all of it. `socket` None: nobody listens, and it can be resumed."""

    id: str
    intents: int
    shard: tuple[int, int] = (0, 1)
    sent: list[dict[str, Any]] = field(default_factory=list)
    socket: WebSocketConnection | None = None


@dataclass
class FakeDiscord:
    """`faults`: by operation, what the next calls are answered with; `gone`: by channel the code of what is wrong
    with it. `deaf`: heartbeats are not answered. `may_read`: the bot has the intent for contents. `refusing_s`: what
    every message is told to wait; `refusals`: how often. `heard_ms`: how long it took from each message until the bot
    did something in its channel. `early`: what is said before there ever was a session, for the first one."""

    token: str = TOKEN
    calls: list[Call] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    rooms: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Refused]] = field(default_factory=dict)
    held: dict[str, trio.Event] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    commands: list[dict[str, Any]] = field(default_factory=list)
    interactions: dict[str, dict[str, Any]] = field(default_factory=dict)
    nonces: dict[tuple[str, str], str] = field(default_factory=dict)
    sessions: dict[str, FakeSession] = field(default_factory=dict)
    told: list[dict[str, Any]] = field(default_factory=list)
    """What clients have sent to the gateway."""
    closes: list[int] = field(default_factory=list)
    url: str = ""
    gateway: str = ""
    begun: list[tuple[float, tuple[int, int]]] = field(default_factory=list)
    """When a session was begun, and of which shard."""
    shards: int = 1
    may_read: bool = True
    deaf: bool = False
    heartbeat_ms: int = 41_250
    starts_left: int = 1000
    limits: bool = True
    stirred: trio.Event = field(default_factory=trio.Event)
    spent: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: count(1_000_000_000_000_000_000))
    sending: Any = None
    refusing_s: float = 0.0
    refusals: int = 0
    heard_ms: list[float] = field(default_factory=list)
    came_at: dict[str, list[float]] = field(default_factory=dict)
    early: list[tuple[str, dict[str, Any], Any]] | None = None

    def __post_init__(self) -> None:
        self.room({"id": OPS, "type": TEXT, "guild_id": GUILD, "name": "ops", "parent_id": None})
        self.room({"id": TALK, "type": TEXT, "guild_id": GUILD, "name": "talk", "parent_id": None})

    # --- people ---

    def room(self, room: dict[str, Any]) -> dict[str, Any]:
        more = {"position": 0, "permission_overwrites": [], "nsfw": False, "topic": None, "last_message_id": None}
        return self.rooms.setdefault(room["id"], {**more, "rate_limit_per_user": 0, **room})

    def direct(self, user: Mapping[str, Any]) -> dict[str, Any]:
        return self.room({"id": f"6{user['id'][1:]}", "type": DM, "recipients": [dict(user)]})

    def thread(self, parent: str = OPS) -> dict[str, Any]:
        meta = {"archived": False, "auto_archive_duration": 60, "locked": False}
        meta["archive_timestamp"] = "2026-01-01T00:00:00+00:00"
        id_ = str(next(self.numbers))
        more = {"thread_metadata": meta, "owner_id": ANN["id"], "message_count": 0, "member_count": 1}
        return self.room({"id": id_, "type": THREAD, "guild_id": GUILD, "parent_id": parent, "name": "t", **more})

    def say(
        self, text: str = "", user: Mapping[str, Any] = ANN, room: dict[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """A message of somebody's, with what it has besides its text."""
        where = room or self.direct(user)
        message = self.message(where, user, text, **more)
        self.dispatch("MESSAGE_CREATE", {**message, **self.where(where)}, where)
        return message

    def message(self, room: dict[str, Any], user: Mapping[str, Any], text: str, **more: Any) -> dict[str, Any]:
        """Stored, and told to nobody."""
        named = [it for it in (ME, ANN, BOB) if f"<@{it['id']}>" in text]
        message = {"id": str(next(self.numbers)), "channel_id": room["id"], "author": dict(user), "content": text}
        message |= {"timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None, "tts": False, "type": 0}
        message |= {"mention_everyone": False, "mentions": named, "mention_roles": [], "attachments": []}
        message |= {"embeds": [], "pinned": False, "components": [], "flags": 0, **more}
        self.messages[message["id"]] = message
        room["last_message_id"] = message["id"]
        return message

    def where(self, room: Mapping[str, Any]) -> dict[str, Any]:
        if room["type"] == DM:
            return {"channel_type": DM}
        member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": False, "mute": False, "flags": 0}
        return {"guild_id": GUILD, "channel_type": room["type"], "member": member}

    def attach(self, content: bytes, name: str = "a.png") -> dict[str, Any]:
        id_ = str(next(self.numbers))
        self.files[id_] = content
        url = f"{self.url}/attachments/{id_}/{name}"
        return {"id": id_, "filename": name, "size": len(content), "url": url, "proxy_url": url}

    def press(self, message: Mapping[str, Any], label: str, user: Mapping[str, Any] = ANN) -> dict[str, Any]:
        """The button of a message of the bot's with this text."""
        its = [it for row in message["components"] for it in row["components"] if it["label"] == label]
        return self.act(
            3, message["channel_id"], user, {"custom_id": its[0]["custom_id"], "component_type": 2}, message
        )

    def command(self, name: str, text: str = "", user: Mapping[str, Any] = ANN, room: str = "") -> dict[str, Any]:
        options = [{"name": "text", "type": 3, "value": text}] if text else []
        data = {"id": "1", "name": name, "type": 1, "options": options}
        return self.act(2, room or self.direct(user)["id"], user, data)

    def act(
        self,
        type_: int,
        room: str,
        user: Mapping[str, Any],
        data: dict[str, Any],
        message: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        id_, where = str(next(self.numbers)), self.rooms[room]
        act = {
            "id": id_,
            "application_id": ME["id"],
            "type": type_,
            "token": f"token-{id_}",
            "version": 1,
            "data": data,
        }
        act |= {"channel_id": room, "channel": where, "entitlements": [], "attachment_size_limit": 10 << 20}
        act |= {"authorizing_integration_owners": {}, "locale": "en-US", "app_permissions": PERMISSIONS}
        if where["type"] == DM:
            act["user"] = dict(user)
        else:
            member = {**self.where(where)["member"], "user": dict(user), "permissions": PERMISSIONS}
            act |= {"guild_id": GUILD, "member": member}
        if message is not None:
            act["message"] = dict(message)
        self.interactions[id_] = {"at": time.monotonic(), "token": act["token"], "answer": None, "whispers": []}
        self.interactions[id_] |= {"type": type_, "room": room}
        self.dispatch("INTERACTION_CREATE", act, None)
        return self.interactions[id_]

    # --- what a test looks at ---

    def sent(self, room: str) -> list[dict[str, Any]]:
        """What the bot has said there, as it stands now."""
        its = [it for it in self.messages.values() if it["channel_id"] == room and it["author"]["id"] == ME["id"]]
        return sorted(its, key=lambda it: int(it["id"]))

    def texts(self, room: str) -> list[str]:
        return [it["content"] for it in self.sent(room)]

    def called(self, name: str) -> list[Call]:
        return [it for it in self.calls if it.name == name]

    async def until(self, holds: Callable[[], Any], within_s: float = 60.0) -> Any:
        """What it holds, once it does."""
        with trio.fail_after(within_s):
            while not (found := holds()):
                await self.stirred.wait()
        return found

    def stir(self) -> None:
        self.stirred.set()
        self.stirred = trio.Event()

    # --- the gateway ---

    def dispatch(self, name: str, data: dict[str, Any], room: Mapping[str, Any] | None) -> None:
        if self.early is not None:
            self.early.append((name, data, room))
        if name == "MESSAGE_CREATE" and not data["author"].get("bot"):
            self.came_at.setdefault(data["channel_id"], []).append(time.monotonic())
        guild = int(data.get("guild_id") or (room or {}).get("guild_id") or 0)
        for session in self.sessions.values():
            number, many = session.shard
            if (guild >> 22) % many != number:
                continue
            seen = data
            if name == "MESSAGE_CREATE" and room is not None:
                if not session.intents & (DIRECT_MESSAGES if room["type"] == DM else GUILD_MESSAGES):
                    continue
                mine = data["author"]["id"] == ME["id"] or any(it["id"] == ME["id"] for it in data["mentions"])
                if room["type"] != DM and not mine and not session.intents & CONTENT:
                    seen = {**data, "content": "", "attachments": [], "embeds": [], "components": []}
            self.send(session, name, seen)

    def send(self, session: FakeSession, name: str, data: Any) -> None:
        payload = {"op": 0, "t": name, "s": len(session.sent) + 1, "d": data}
        session.sent.append(payload)
        self._put(session.socket, payload)

    def raw(self, payload: Any) -> None:
        """To whoever listens, whatever it is."""
        for session in self.sessions.values():
            self._put(session.socket, payload)

    def _put(self, socket: WebSocketConnection | None, payload: Any) -> None:
        if socket is not None:
            self.sending.send_nowait((socket, payload if isinstance(payload, str) else json.dumps(payload)))

    def hang_up(self, code: int) -> None:
        """On whoever listens."""
        for session in self.sessions.values():
            if session.socket is not None:
                self.sending.send_nowait((session.socket, code))
                session.socket = None

    @property
    def listening(self) -> list[FakeSession]:
        return [it for it in self.sessions.values() if it.socket is not None]

    async def serve_gateway(self, request: WebSocketRequest) -> None:
        socket = await request.accept()
        session: FakeSession | None = None
        try:
            await socket.send_message(json.dumps({"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}}))
            while True:
                text = await socket.get_message()
                if len(text) > 4096:
                    await socket.aclose(4002)
                said = json.loads(text)
                self.told.append(said)
                session = await self._said(socket, said) or session
                self.stir()
        except ConnectionClosed as closed:
            self.closes.append(closed.reason.code if closed.reason else 0)
            if session is not None and session.socket is socket:
                session.socket = None
                if self.closes[-1] in (1000, 1001):
                    self.sessions.pop(session.id, None)
            self.stir()

    async def _said(self, socket: WebSocketConnection, said: dict[str, Any]) -> FakeSession | None:
        match said["op"]:
            case 1 if not self.deaf:
                await socket.send_message(json.dumps({"op": 11}))
            case 2:
                return await self._identified(socket, said["d"])
            case 6:
                return await self._resumed(socket, said["d"])
            case _:
                pass
        return None

    async def _identified(self, socket: WebSocketConnection, said: dict[str, Any]) -> FakeSession | None:
        self.starts_left -= 1
        if said["token"] != self.token:
            await socket.aclose(4004, "Authentication failed.")
            return None
        if said["intents"] & CONTENT and not self.may_read:
            await socket.aclose(4014, "Disallowed intent(s).")
            return None
        session = FakeSession(
            f"session-{next(self.numbers)}", said["intents"], tuple(said.get("shard", (0, 1))), socket=socket
        )
        self.begun.append((time.monotonic(), session.shard))
        others = {it.id: it for it in self.sessions.values() if it.shard[1] > 1 and it.shard != session.shard}
        self.sessions = others | {session.id: session}
        application = {"id": ME["id"], "flags": self.flags}
        ready = {"v": 10, "user": ME, "guilds": [{"id": GUILD, "unavailable": True}], "application": application}
        self.send(session, "READY", {**ready, "session_id": session.id, "resume_gateway_url": self.gateway})
        self.send(session, "GUILD_CREATE", self._guild())
        early, self.early = self.early, None
        for it in early or ():
            self.dispatch(*it)
        return session

    async def _resumed(self, socket: WebSocketConnection, said: dict[str, Any]) -> FakeSession | None:
        session = self.sessions.get(said["session_id"])
        if said["token"] != self.token:
            await socket.aclose(4004, "Authentication failed.")
        elif session is None or said["seq"] > len(session.sent):
            await socket.send_message(json.dumps({"op": 9, "d": False}))
        else:
            session.socket = socket
            for payload in session.sent[said["seq"] :]:
                self._put(socket, payload)
            self.send(session, "RESUMED", {})
            return session
        return None

    @property
    def flags(self) -> int:
        return CONTENT_FLAG if self.may_read else 0

    def _guild(self) -> dict[str, Any]:
        everyone = {"id": GUILD, "name": "@everyone", "color": 0, "hoist": False, "position": 0, "flags": 0}
        everyone |= {"permissions": PERMISSIONS, "managed": False, "mentionable": False}
        mine = {**everyone, "id": ROLE, "name": "gate", "managed": True, "tags": {"bot_id": ME["id"]}}
        member = {"user": ME, "roles": [ROLE], "joined_at": "2026-01-01T00:00:00+00:00", "deaf": False, "mute": False}
        rooms = [it for it in self.rooms.values() if it.get("guild_id") == GUILD]
        guild = {"id": GUILD, "name": "House", "owner_id": ANN["id"], "unavailable": False, "member_count": 3}
        guild |= {"roles": [everyone, mine], "emojis": [], "features": [], "members": [{**member, "flags": 0}]}
        guild |= {"channels": [it for it in rooms if it["type"] != THREAD], "presences": [], "voice_states": []}
        guild |= {"threads": [it for it in rooms if it["type"] == THREAD], "stage_instances": [], "stickers": []}
        guild |= {"joined_at": "2026-01-01T00:00:00+00:00", "large": False, "guild_scheduled_events": []}
        guild |= {"verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0}
        return guild | {"mfa_level": 0, "nsfw_level": 0, "premium_tier": 0, "preferred_locale": "en-US", "icon": None}

    # --- requests ---

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)
        self.stir()

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith("/attachments/"):
            content = self.files.get(path.split("/")[2])
            if "authorization" in request.headers:
                self.wrong.append("the token was told to the server of files")
            return Response(content) if content is not None else Response(status_code=404)
        headers = dict[str, str]()
        try:
            call = await self._read(request, path.removeprefix("/api/v10"))
            headers = self._pace(call)
            self.calls.append(call)
            if faults := self.faults.get(call.name):
                raise faults.pop(0)
            if wrong := problems(call.name, call.body, call.query):
                self.wrong += wrong
                raise Refused(400, f"Invalid Form Body: {wrong[0]}", 50035)
            result = await getattr(self, HANDLERS[call.name])(call)
            if call.name in self.held:
                self.stir()
                await self.held[call.name].wait()
        except Refused as refusal:
            return refused_with(refusal, headers)
        return Response(status_code=204, headers=headers) if result is None else _json(result, 200, headers)

    async def _read(self, request: Request, path: str) -> Call:
        # A client library asks by an older path.
        path = path.replace("/oauth2/applications/@me", "/applications/@me")
        name, ids = operation(request.method, path)
        if not name:
            raise Refused(404, f"404: Not Found: {request.method} {path}")
        within = path.startswith(("/interactions/", "/webhooks/"))
        if not within and request.headers.get("authorization") != f"Bot {self.token}":
            raise Refused(401, "401: Unauthorized")
        call = Call(name, ids, None, query=dict(request.query_params))
        if request.headers.get("content-type", "").startswith("multipart/"):
            async with request.form(max_part_size=60_000_000) as form:
                for part, value in form.items():
                    if isinstance(value, str):
                        call.body = json.loads(value)
                    else:
                        call.files[part] = await value.read()
        elif body := await request.body():
            call.body = json.loads(body)
        return call

    def _pace(self, call: Call) -> dict[str, str]:
        now = time.monotonic()
        if not call.name.startswith(("POST /interactions", "POST /webhooks")):
            self.asked = [it for it in self.asked if it > now - 1.0] + [now]
            if len(self.asked) > GLOBAL_MOST and self.limits:
                self.wrong.append("more than 50 requests in a second")
                raise too_many(1.0, everywhere=True)
        if call.name in SAYS:
            self.heard_ms += [(now - it) * 1000 for it in self.came_at.pop(call.ids[0], ())]
            if self.refusing_s and not call.name.endswith("typing"):
                self.refusals += 1
                raise too_many(self.refusing_s)
        if call.name not in PACES or not self.limits:
            return {}
        most, window_s = PACES[call.name]
        key = (call.name, call.ids[0])
        left, anew = self.spent.get(key, (most, 0.0))
        left, anew = (most, now + window_s) if anew <= now else (left, anew)
        self.spent[key] = (left - 1, anew)
        if left <= 0:
            raise too_many(round(anew - now, 3))
        after = f"{anew - now:.3f}"
        told = {"X-RateLimit-Limit": str(most), "X-RateLimit-Remaining": str(left - 1)}
        return {**told, "X-RateLimit-Reset-After": after, "X-RateLimit-Bucket": f"bucket-{call.name[:4].strip()}"}

    async def _get_me(self, _call: Call) -> Any:
        return ME

    async def _get_application(self, _call: Call) -> Any:
        more = {"description": "", "owner": ANN, "bot_public": True, "bot_require_code_grant": False, "icon": None}
        return {"id": ME["id"], "name": "Gate", "flags": self.flags, "verify_key": "0", "summary": "", **more}

    async def _get_gateway(self, _call: Call) -> Any:
        starts = {"total": 1000, "remaining": self.starts_left, "reset_after": 3_600_000, "max_concurrency": 1}
        return {"url": self.gateway, "shards": self.shards, "session_start_limit": starts}

    async def _put_commands(self, call: Call) -> Any:
        self.commands = call.body
        return [{**it, "id": str(n), "application_id": ME["id"], "version": "1"} for n, it in enumerate(call.body, 1)]

    async def _get_room(self, call: Call) -> Any:
        return self._room(call)

    async def _get_messages(self, call: Call) -> Any:
        room, after, limit = self._room(call), int(call.query.get("after", 0)), int(call.query.get("limit", 50))
        its = sorted(
            (it for it in self.messages.values() if it["channel_id"] == room["id"]), key=lambda it: int(it["id"])
        )
        return list(reversed([it for it in its if int(it["id"]) > after][:limit]))

    async def _post_message(self, call: Call) -> Any:
        room, body = self._room(call), call.body
        self._check(body, call)
        nonce = (room["id"], str(body.get("nonce", "")))
        if body.get("enforce_nonce") and nonce in self.nonces:
            return self.messages[self.nonces[nonce]]
        attached = [self.attach(content, name) for name, content in call.files.items()]
        more = {"attachments": attached, "components": body.get("components", []), "nonce": body.get("nonce")}
        if (quoted := body.get("message_reference")) is not None:
            if (answered := self.messages.get(str(quoted["message_id"]))) is not None:
                more |= {"type": 19, "referenced_message": answered}
            elif quoted.get("fail_if_not_exists", True):
                raise Refused(400, "Invalid Form Body", 50035)
        message = self.message(room, ME, body.get("content", "").strip(), flags=body.get("flags") or 0, **more)
        self.nonces[nonce] = message["id"]
        self.dispatch("MESSAGE_CREATE", {**message, **self.where(room)}, room)
        return message

    async def _patch_message(self, call: Call) -> Any:
        self._room(call)
        message = self.messages.get(call.ids[1])
        if message is None:
            raise refused(10008)
        if message["author"]["id"] != ME["id"]:
            raise refused(50005)
        self._check({"content": message["content"], **call.body}, call)
        message |= {name: it for name, it in call.body.items() if name in ("content", "components", "flags")}
        return message

    async def _post_typing(self, call: Call) -> Any:
        self._room(call)

    async def _post_callback(self, call: Call) -> Any:
        act = self.interactions.get(call.ids[0])
        if act is None or act["token"] != call.ids[1] or time.monotonic() > act["at"] + 3:
            raise refused(10062)
        if act["answer"] is not None:
            raise Refused(400, "Interaction has already been acknowledged.", 40060)
        act["answer"] = call.body
        if not call.query.get("with_response"):
            return None
        told = {"interaction": {"id": call.ids[0], "type": act["type"], "response_message_ephemeral": False}}
        if call.body["type"] == 4:
            message = self.message(self.rooms[act["room"]], ME, call.body["data"].get("content", ""))
            told["resource"] = {"type": 4, "message": message}
        return told

    async def _post_within(self, call: Call) -> Any:
        act = next((it for it in self.interactions.values() if it["token"] == call.ids[1]), None)
        if act is None or act["answer"] is None:
            raise Refused(404, "Unknown Webhook", 10015)
        act["whispers"].append(call.body)
        return {"id": str(next(self.numbers)), "content": call.body.get("content", "")}

    def _room(self, call: Call) -> dict[str, Any]:
        if code := self.gone.get(call.ids[0]):
            raise refused(code)
        if call.ids[0] not in self.rooms:
            raise refused(10003)
        return self.rooms[call.ids[0]]

    def _check(self, body: Mapping[str, Any], call: Call) -> None:
        text = body.get("content") or ""
        if len(text) > 2000:
            raise Refused(400, "Invalid Form Body: Must be 2000 or fewer in length.", 50035)
        if not text.strip() and not call.files and not body.get("components"):
            raise Refused(400, "Cannot send an empty message", 50006)
        if any(len(it) > 10 << 20 for it in call.files.values()):
            raise refused(40005)
        its = [it["custom_id"] for row in body.get("components") or () for it in row["components"]]
        if len(its) != len(set(its)) or any(len(row["components"]) > 5 for row in body.get("components") or ()):
            raise Refused(400, "Component custom id cannot be duplicated", 50035)


HANDLERS = {
    "GET /users/@me": "_get_me",
    "GET /applications/@me": "_get_application",
    "GET /gateway/bot": "_get_gateway",
    "PUT /applications/{application_id}/commands": "_put_commands",
    "GET /channels/{channel_id}": "_get_room",
    "GET /channels/{channel_id}/messages": "_get_messages",
    "POST /channels/{channel_id}/messages": "_post_message",
    "PATCH /channels/{channel_id}/messages/{message_id}": "_patch_message",
    "POST /channels/{channel_id}/typing": "_post_typing",
    "POST /interactions/{interaction_id}/{interaction_token}/callback": "_post_callback",
    "POST /webhooks/{webhook_id}/{webhook_token}": "_post_within",
}


def refused_with(refusal: Refused, headers: Mapping[str, str]) -> Response:
    after = {"Retry-After": str(refusal.body.get("retry_after", 1))} if refusal.status == 429 else {}
    return _json(refusal.body, refusal.status, {**headers, **after})


def _json(value: object, status: int, headers: Mapping[str, str]) -> Response:
    return Response(json.dumps(value), status, dict(headers), "application/json")


async def _sending(receiving: trio.MemoryReceiveChannel[tuple[WebSocketConnection, str | int]]) -> None:
    """In order, as what happens is not asynchronous."""
    async for socket, what in receiving:
        try:
            with trio.move_on_after(2):
                await (socket.send_message(what) if isinstance(what, str) else socket.aclose(what))
        except ConnectionClosed:
            pass


@asynccontextmanager
async def open_fake(fake: FakeDiscord | None = None, app: App | None = None) -> AsyncGenerator[FakeDiscord]:
    """`app`: what stands before it, else nothing."""
    fake, stop, addresses = fake or FakeDiscord(), trio.Event(), list[str]()
    async with trio.open_nursery() as nursery:

        async def serve(task_status: trio.TaskStatus[str]) -> None:
            await serve_http(app or fake.app, "127.0.0.1:0", started=task_status.started, stop=stop)

        fake.sending, receiving = trio.open_memory_channel[Any](100_000)
        nursery.start_soon(_sending, receiving)
        addresses.append(await nursery.start(serve))
        fake.url = f"http://{addresses[0]}"
        server = await nursery.start(partial(serve_websocket, fake.serve_gateway, "127.0.0.1", 0, None))
        fake.gateway = f"ws://127.0.0.1:{server.port}"
        try:
            yield fake
        finally:
            stop.set()
            nursery.cancel_scope.cancel()
