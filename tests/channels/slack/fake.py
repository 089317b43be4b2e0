"""A Slack workspace on loopback, Web API, files and Socket Mode, as strict as the real one is known to be, and the
people and channels in it.

Judged by an official client library in test_slack_fake. What a request says wrongly is refused, and in `wrong`.
"""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.parse import urlencode

import httpx
import trio
from starlette.requests import Request
from starlette.responses import Response
from trio_websocket import ConnectionClosed, WebSocketConnection, WebSocketRequest, serve_websocket
from wsproto.events import Pong

from hookgate.channels.http.server import App, Receive, Scope, Send, serve_http
from hookgate.channels.slack.scopes import SCOPES
from tests.channels.slack.schema import problems, typed

TOKEN, APP_TOKEN, SIGNING_SECRET = "xoxb-1-fake", "xapp-1-fake", "0123456789abcdef0123456789abcdef"
TEAM, BOT_USER, BOT_ID = "T0001", "U0BOT", "B0BOT"
ANN = {"id": "U0ANN", "username": "ann", "name": "ann", "team_id": TEAM}
BOB = {"id": "U0BOB", "username": "bob", "name": "bob", "team_id": TEAM}
DIRECT = "D0ANN"
GENERAL = "C0GENERAL"
KINDS = {"im": "im", "mpim": "mpim", "private_channel": "groups", "public_channel": "channels"}
"""Of conversations, and what their scopes are called by."""
_RAW = re.compile(r"<(?!https?://|mailto:)|&(?!amp;|lt;|gt;)")
"""What in a text of the bot's would mean something that nobody has meant."""


_CODE = re.compile(r"```.*?(?:```|$)", re.DOTALL)
_SIGNS = re.compile(r"<[@!#]|<[^\u200b<>\n][^<>\n]*\|")
"""What in Markdown means something to the platform alone."""


class Refused(Exception):
    def __init__(self, error: str, retry_after: int = 0, status: int = 200) -> None:
        super().__init__(error)
        self.error, self.retry_after, self.status = error, retry_after, status


@dataclass
class Call:
    method: str
    params: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


@dataclass(eq=False)
class Line:
    """One socket. `sent`: envelopes that are not acknowledged."""

    connection: WebSocketConnection
    sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    over: trio.Event = field(default_factory=trio.Event)


@dataclass
class FakeSlack:
    """`faults`: by method, what the next calls are answered with; `held`: until when nothing is said of what they
    have done. `rates`: by method how many calls in how many seconds, of a channel where it has one. `deaf`: events of
    now are never brought. `streams`: whether the workspace has them. `is_stale`: its sockets answer nothing.
    `came_at`: each envelope. `refusing_s`: what all that speaks is told to wait; `refusals`: how often."""

    calls: list[Call] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    messages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    streaming: set[tuple[str, str]] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Refused]] = field(default_factory=dict)
    held: dict[str, trio.Event] = field(default_factory=dict)
    rates: dict[str, tuple[int, float]] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    acknowledged_at: dict[str, float] = field(default_factory=dict)
    came_at: dict[str, float] = field(default_factory=dict)
    refusing_s: int = 0
    refusals: int = 0
    opened: int = 0
    deaf: bool = False
    streams: bool = True
    scopes: set[str] = field(default_factory=lambda: set(SCOPES))
    is_stale: bool = False
    revoked: str = ""
    url: str = ""
    socket_url: str = ""
    proxy: str = ""
    stirred: trio.Event = field(default_factory=trio.Event)
    numbers: Any = field(default_factory=lambda: count(1))
    times: Any = field(default_factory=lambda: count(1_700_000_000))
    _asked: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    # --- people ---

    def channel(self, id_: str = GENERAL, **more: Any) -> str:
        self.channels.setdefault(id_, {"id": id_, "is_im": id_.startswith("D"), "is_mpim": False, **more})
        return id_

    def say(
        self, text: str = "", user: Mapping[str, Any] = ANN, channel: str = DIRECT, **more: Any
    ) -> dict[str, Any]:
        """A message of somebody's; one that mentions the bot is two events, as the platform has it."""
        self.channel(channel)
        message = {"type": "message", "user": user["id"], "text": text, "ts": self.now(), "team": TEAM, **more}
        if (thread := message.get("thread_ts")) and (channel, thread) in self.messages:
            message["parent_user_id"] = self.messages[channel, thread].get("user", "")
        self.messages[channel, message["ts"]] = message
        kind = "im" if channel.startswith("D") else "channel"
        event = {**message, "channel": channel, "event_ts": message["ts"]}
        if f"<@{BOT_USER}>" in text and kind != "im":
            self.event({**event, "type": "app_mention"})
        self.event({**event, "channel_type": kind})
        return message

    def event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        payload = {"token": "t", "team_id": TEAM, "api_app_id": "A1", "type": "event_callback", "event": dict(event)}
        more = {"event_id": f"Ev{next(self.numbers)}", "event_time": int(time.time()), "authorizations": []}
        return self.envelope("events_api", {**payload, **more})

    def press(
        self, message: Mapping[str, Any], text: str, user: Mapping[str, Any] = ANN, channel: str = DIRECT
    ) -> None:
        """The button of a message of the bot's with this text."""
        found = [it for block in message["blocks"] for it in block["elements"] if it.get("text", {}) != text]
        [button] = [it for it in found if it["type"] == "button" and it["text"]["text"] == text]
        self.press_value(message, button["value"], user, channel, button)

    def press_value(
        self,
        message: Mapping[str, Any],
        value: str,
        user: Mapping[str, Any] = ANN,
        channel: str = DIRECT,
        button: Mapping[str, Any] | None = None,
    ) -> None:
        action = {"type": "button", "action_id": value, "block_id": "b", "action_ts": self.now(), **(button or {})}
        container = {"type": "message", "message_ts": message["ts"], "channel_id": channel, "is_ephemeral": False}
        if message.get("thread_ts"):
            container["thread_ts"] = message["thread_ts"]
        payload = {
            "type": "block_actions",
            "user": dict(user),
            "api_app_id": "A1",
            "token": "t",
            "container": container,
            "trigger_id": f"trigger.{next(self.numbers)}",
            "team": {"id": TEAM, "domain": "fake"},
            "channel": {"id": channel, "name": "x"},
            "message": dict(message),
            "response_url": f"{self.url}/response",
            "actions": [{**action, "value": value}],
        }
        self.envelope("interactive", payload)

    def command(self, command: str, text: str, user: Mapping[str, Any] = ANN, channel: str = DIRECT) -> None:
        self.channel(channel)
        self.envelope(
            "slash_commands",
            {
                "token": "t",
                "team_id": TEAM,
                "channel_id": channel,
                "channel_name": "x",
                "user_id": user["id"],
                "user_name": user["name"],
                "command": command,
                "text": text,
                "api_app_id": "A1",
                "response_url": f"{self.url}/response",
                "trigger_id": f"trigger.{next(self.numbers)}",
            },
        )

    def envelope(self, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        envelope = {"envelope_id": f"e{next(self.numbers)}", "type": kind, "payload": dict(payload)}
        self.came_at[envelope["envelope_id"]] = time.monotonic()
        if not self.deaf:
            self.waiting.append({**envelope, "accepts_response_payload": kind != "events_api"})
        self.stir()
        return envelope

    def now(self) -> str:
        return f"{next(self.times)}.{next(self.numbers) % 1_000_000:06}"

    def stir(self) -> None:
        self.stirred.set()
        self.stirred = trio.Event()

    def file(self, content: bytes, name: str = "a.png", mimetype: str = "image/png", **more: Any) -> dict[str, Any]:
        id_ = f"F{next(self.numbers)}"
        self.files[id_] = content
        url = f"{self.url}/files-pri/{id_}"
        told = {"id": id_, "name": name, "mimetype": mimetype, "size": len(content)}
        return {**told, "url_private": url, "url_private_download": url, **more}

    # --- what a test looks at ---

    def sent(self, channel: str = DIRECT) -> list[dict[str, Any]]:
        """What the bot has said there, as it stands now."""
        return [it for (where, _), it in sorted(self.messages.items()) if where == channel and it.get("bot_id")]

    def texts(self, channel: str = DIRECT) -> list[str]:
        return [it["text"] for it in self.sent(channel)]

    def called(self, method: str) -> list[dict[str, Any]]:
        return [it.params for it in self.calls if it.method == method]

    async def until(self, holds: Callable[[], Any], within_s: float = 60.0) -> Any:
        """What it holds, once it does."""
        with trio.fail_after(within_s):
            while not (found := holds()):
                await self.stirred.wait()
        return found

    # --- events by HTTP ---

    async def bring(self, secret: str = SIGNING_SECRET, age_s: float = 0.0) -> list[int]:
        """Each event that waits to the webhook; the statuses. What was not answered with 200 waits on."""
        statuses = list[int]()
        async with httpx.AsyncClient(timeout=30) as client:
            for envelope in list(self.waiting):
                payload, headers = envelope["payload"], {"Content-Type": "application/json"}
                body = json.dumps(payload).encode()
                if envelope["type"] != "events_api":
                    form = payload if envelope["type"] == "slash_commands" else {"payload": json.dumps(payload)}
                    body = urlencode(form).encode()
                    headers = {"Content-Type": "application/x-www-form-urlencoded"}
                headers |= signed(body, secret, age_s)
                answer = await client.post(self.proxy, content=body, headers=headers)
                statuses.append(answer.status_code)
                if answer.status_code == 200:
                    self.waiting.remove(envelope)
        return statuses

    # --- Socket Mode ---

    async def socket(self, request: WebSocketRequest) -> None:
        connection = await request.accept()
        line = Line(connection)
        self._hush(connection)
        hello = {"type": "hello", "num_connections": len(self.lines) + 1, "connection_info": {"app_id": "A1"}}
        try:
            await connection.send_message(json.dumps(hello))
            self.lines.append(line)
            self.stir()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._bring_by, line)
                while True:
                    said = json.loads(await connection.get_message())
                    line.sent.pop(said["envelope_id"], None)
                    self.acknowledged.append(said["envelope_id"])
                    self.acknowledged_at[said["envelope_id"]] = time.monotonic()
                    self.stir()
        except* ConnectionClosed:
            pass
        finally:
            # What nobody has acknowledged comes again.
            self.waiting = [*line.sent.values(), *self.waiting]
            self.lines = [it for it in self.lines if it is not line]
            line.over.set()
            self.stir()

    def _hush(self, connection: WebSocketConnection) -> None:
        answer = connection._send

        async def send(event: Any) -> None:
            if not (self.is_stale and isinstance(event, Pong)):
                await answer(event)

        connection._send = send

    async def _bring_by(self, line: Line) -> None:
        while True:
            while self.waiting and self.lines[-1] is line:
                envelope = self.waiting.pop(0)
                line.sent[envelope["envelope_id"]] = envelope
                await line.connection.send_message(json.dumps(envelope))
            await self.stirred.wait()

    async def again(self) -> None:
        """What is not acknowledged yet comes once more."""
        for line in self.lines:
            for envelope in list(line.sent.values()):
                again = {**envelope, "retry_attempt": 1, "retry_reason": "timeout"}
                await line.connection.send_message(json.dumps(again))

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        for line in list(self.lines):
            await line.connection.send_message(json.dumps({"type": "disconnect", "reason": reason}))

    async def cut(self) -> None:
        for line in list(self.lines):
            await line.connection.aclose(1011, "server error")
            await line.over.wait()

    # --- requests ---

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)
        self.stir()

    async def _answer(self, request: Request) -> Response:
        where, _, name = request.url.path.strip("/").partition("/")
        if where == "files-pri":
            known = request.headers.get("authorization") == f"Bearer {TOKEN}"
            return Response(self.files[name]) if known else Response("<html>log in</html>", media_type="text/html")
        if where == "upload":
            self.files[name] = await request.body()
            return Response(f"OK - {len(self.files[name])}")
        try:
            call = await self._read(name, request)
            self.calls.append(call)
            if faults := self.faults.get(call.method):
                raise faults.pop(0)
            self._judge(call, request.headers.get("authorization", ""))
            result = await getattr(self, f"do_{name.replace('.', '_')}", self._unknown)(call.params)
            if call.method in self.held:
                self.stir()
                await self.held[call.method].wait()
        except Refused as refused:
            return refusal(refused)
        return _json({"ok": True, **result}, headers={"X-OAuth-Scopes": ",".join(self.scopes)})

    async def _read(self, method: str, request: Request) -> Call:
        if request.headers.get("content-type", "").startswith("application/json"):
            return Call(method, json.loads(await request.body() or b"{}"))
        form = dict(request.query_params)
        async with request.form() as fields:
            form |= {name: str(value) for name, value in fields.items()}
        return Call(method, typed(method, form))

    def _judge(self, call: Call, authorization: str) -> None:
        wanted = APP_TOKEN if call.method == "apps.connections.open" else TOKEN
        if authorization != f"Bearer {wanted}":
            raise Refused("invalid_auth")
        if self.revoked and wanted == TOKEN:
            raise Refused(self.revoked)
        if wrong := problems(call.method, call.params):
            self.wrong += wrong
            raise Refused("invalid_arguments")
        if self.refusing_s and call.method.startswith("chat."):
            self.refusals += 1
            raise Refused("ratelimited", self.refusing_s)
        if call.method in self.rates:
            most, window = self.rates[call.method]
            key, now = (call.method, call.params.get("channel", "")), time.monotonic()
            recent = [it for it in self._asked.get(key, []) if it > now - window]
            if len(recent) >= most:
                raise Refused("ratelimited", max(1, round(recent[0] + window - now)))
            self._asked[key] = [*recent, now]

    async def _unknown(self, params: dict[str, Any]) -> dict[str, Any]:
        raise Refused("unknown_method")

    # --- methods ---

    async def do_auth_test(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "url": self.url,
            "team": "Fake",
            "user": "gate",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT_ID,
        }

    async def do_apps_connections_open(self, params: dict[str, Any]) -> dict[str, Any]:
        self.opened += 1
        return {"url": f"{self.socket_url}/link/?ticket={self.opened}&app_id=A1"}

    async def do_chat_postMessage(self, params: dict[str, Any]) -> dict[str, Any]:
        self._where(params["channel"])
        if not params.get("text") and not params.get("blocks") and not params.get("markdown_text"):
            raise Refused("no_text")
        return self._stored(params)

    async def do_chat_update(self, params: dict[str, Any]) -> dict[str, Any]:
        message = self._mine(params)
        if (params["channel"], params["ts"]) in self.streaming:
            raise Refused("streaming_state_conflict")
        message |= {"text": self._text(params), "blocks": params.get("blocks", [])}
        return {"channel": params["channel"], "ts": params["ts"], "text": message["text"], "message": message}

    async def do_chat_postEphemeral(self, params: dict[str, Any]) -> dict[str, Any]:
        self._where(params["channel"])
        self._text(params)
        return {"message_ts": self.now()}

    async def do_chat_startStream(self, params: dict[str, Any]) -> dict[str, Any]:
        if not self.streams:
            raise Refused("unknown_method")
        self._where(params["channel"])
        if params["channel"].startswith("D") and not params.get("thread_ts"):
            raise Refused("missing_thread_ts")
        if not params["channel"].startswith("D") and not params.get("recipient_user_id"):
            raise Refused("missing_recipient_user_id")
        if not params["channel"].startswith("D") and not params.get("recipient_team_id"):
            raise Refused("missing_recipient_team_id")
        sent = self._stored({**params, "text": ""})
        self.messages[params["channel"], sent["ts"]]["text"] = _streamed(params)
        self._signs(_streamed(params))
        self.streaming.add((params["channel"], sent["ts"]))
        return sent

    async def do_chat_appendStream(self, params: dict[str, Any]) -> dict[str, Any]:
        return self._append(params)

    async def do_chat_stopStream(self, params: dict[str, Any]) -> dict[str, Any]:
        done = self._append(params)
        self.streaming.discard((params["channel"], params["ts"]))
        return done

    def _append(self, params: dict[str, Any]) -> dict[str, Any]:
        message = self._mine(params)
        if (params["channel"], params["ts"]) not in self.streaming:
            raise Refused("message_not_in_streaming_state")
        message["text"] += _streamed(params)
        self._signs(message["text"])
        return {"channel": params["channel"], "ts": params["ts"], "message": message}

    async def do_files_getUploadURLExternal(self, params: dict[str, Any]) -> dict[str, Any]:
        id_ = f"F{next(self.numbers)}"
        return {"upload_url": f"{self.url}/upload/{id_}", "file_id": id_}

    async def do_files_completeUploadExternal(self, params: dict[str, Any]) -> dict[str, Any]:
        files = params["files"]
        if isinstance(files, str):
            files = json.loads(files)
        if any(it["id"] not in self.files for it in files):
            raise Refused("file_not_found")
        channel = params.get("channel_id") or params.get("channels", [""])[0]
        self._where(channel)
        said = {"channel": channel, "text": params.get("initial_comment", ""), "thread_ts": params.get("thread_ts")}
        self._stored({**said, "files": [it["id"] for it in files]})
        return {"files": files}

    async def do_files_info(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"file": {"id": params["file"]}}

    async def do_users_conversations(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted = params["types"].split(",")
        for kind in wanted:
            self._may(f"{KINDS[kind]}:read")
        return self._paged("channels", [it for it in self.channels.values() if _kind(it) in wanted], params)

    def _may(self, scope: str) -> None:
        if scope not in self.scopes:
            raise Refused("missing_scope")

    async def do_conversations_history(self, params: dict[str, Any]) -> dict[str, Any]:
        self._where(params["channel"])
        self._may(f"{KINDS[_kind(self.channels[params['channel']])]}:history")
        said = [it for (where, _), it in sorted(self.messages.items(), reverse=True) if where == params["channel"]]
        return self._paged("messages", [it for it in said if _is_first(it)], params)

    async def do_conversations_replies(self, params: dict[str, Any]) -> dict[str, Any]:
        self._where(params["channel"])
        said = [it for (where, _), it in sorted(self.messages.items()) if where == params["channel"]]
        found = [it for it in said if params["ts"] in (it["ts"], it.get("thread_ts"))]
        if not found:
            raise Refused("thread_not_found")
        return self._paged("messages", found, params)

    # --- what they share ---

    def _paged(self, name: str, rows: list[dict[str, Any]], params: Mapping[str, Any]) -> dict[str, Any]:
        oldest, is_inclusive = params.get("oldest", ""), params.get("inclusive", False)
        rows = [
            it
            for it in rows
            if it.get("ts", "~") > oldest
            or (is_inclusive and it.get("ts") == oldest)
            or it.get("ts") == params.get("ts")
        ]
        at, limit = int(params.get("cursor") or 0), params.get("limit", 100)
        more = str(at + limit) if at + limit < len(rows) else ""
        return {name: rows[at : at + limit], "response_metadata": {"next_cursor": more}}

    def _mine(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self._where(params["channel"])
        message = self.messages.get((params["channel"], params["ts"]))
        if message is None or not message.get("bot_id"):
            raise Refused("message_not_found")
        return message

    def _where(self, channel: str) -> None:
        found = self.channels.get(channel)
        if found is None:
            raise Refused("channel_not_found")
        if found.get("refuses"):
            raise Refused(found["refuses"])

    def _stored(self, params: Mapping[str, Any]) -> dict[str, Any]:
        text, channel, ts = self._text(params), params["channel"], self.now()
        said = {"type": "message", "user": BOT_USER, "bot_id": BOT_ID, "text": text, "ts": ts}
        said |= {name: params[name] for name in ("thread_ts", "blocks", "files") if params.get(name)}
        self.messages[channel, ts] = said
        return {"channel": channel, "ts": ts, "message": said}

    def _signs(self, markdown: str) -> None:
        if found := _SIGNS.search(_CODE.sub("", markdown)):
            self.wrong.append(f"a sign of the platform's own: {found[0]}")

    def _text(self, params: Mapping[str, Any]) -> str:
        text = params.get("text") or ""
        self._signs("".join(it["text"] for it in params.get("blocks") or [] if it["type"] == "markdown"))
        if found := _RAW.search(text):
            self.wrong.append(f"a sign that is not escaped at {found.start()}: {text[found.start() :][:20]}")
        return text


def _streamed(params: Mapping[str, Any]) -> str:
    chunks = params.get("chunks") or []
    return params.get("markdown_text", "") + "".join(it.get("text", "") for it in chunks)


def _kind(channel: Mapping[str, Any]) -> str:
    if channel["is_im"] or channel["is_mpim"]:
        return "im" if channel["is_im"] else "mpim"
    return "private_channel" if channel.get("is_private") else "public_channel"


def _is_first(message: Mapping[str, Any]) -> bool:
    return message.get("thread_ts") in (None, message["ts"]) or message.get("subtype") == "thread_broadcast"


def signed(body: bytes, secret: str = SIGNING_SECRET, age_s: float = 0.0) -> dict[str, str]:
    at = str(int(time.time() - age_s))
    said = hmac.new(secret.encode(), b"v0:%b:%b" % (at.encode(), body), sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={said}"}


def _json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(value), status, headers, media_type="application/json")


def refusal(refused: Refused) -> Response:
    headers = {"Retry-After": str(refused.retry_after)} if refused.retry_after else {}
    status = 429 if refused.retry_after else refused.status
    return _json({"ok": False, "error": refused.error}, status, headers)


@asynccontextmanager
async def open_fake(fake: FakeSlack | None = None, app: App | None = None) -> AsyncGenerator[FakeSlack]:
    """`app`: what stands before it, else nothing."""
    fake, stop, addresses = fake or FakeSlack(), trio.Event(), list[str]()
    async with trio.open_nursery() as nursery:

        async def serve(task_status: trio.TaskStatus[str]) -> None:
            await serve_http(app or fake.app, "127.0.0.1:0", started=task_status.started, stop=stop)

        addresses.append(await nursery.start(serve))
        fake.url = f"http://{addresses[0]}"
        sockets = await nursery.start(serve_websocket, fake.socket, "127.0.0.1", 0, None)
        fake.socket_url = f"ws://127.0.0.1:{sockets.port}"
        fake.channel(DIRECT)
        try:
            yield fake
        finally:
            stop.set()
            nursery.cancel_scope.cancel()
