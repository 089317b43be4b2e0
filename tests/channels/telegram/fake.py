"""A Bot API on loopback, as strict as the real one is known to be, and the people and groups that use its bot.

Judged by an official client library in test_telegram_fake. What a request says wrongly is a 400, and in `wrong`.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import combinations, count
from math import ceil
from typing import Any

import httpx
import trio
from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.server import App, Receive, Scope, Send, serve_http
from tests.channels.telegram.schema import problems, types_of

TOKEN = "123456:AAfakeTOKENfakeTOKENfakeTOKENfake12"
ME = {
    "id": 123456,
    "is_bot": True,
    "first_name": "Gate",
    "username": "gate_bot",
    "can_join_groups": True,
    "can_read_all_group_messages": True,
    "supports_inline_queries": False,
}
ANN = {"id": 7, "is_bot": False, "first_name": "Ann", "username": "ann"}
BOB = {"id": 8, "is_bot": False, "first_name": "Bob"}
BURST = 3
SPAN_TYPES = {"bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"}


class Refused(Exception):
    def __init__(self, status: int, why: str, **parameters: Any) -> None:
        super().__init__(why)
        self.status, self.why, self.parameters = status, why, parameters


class TooMany(Refused):
    def __init__(self, after_s: float) -> None:
        super().__init__(429, f"Too Many Requests: retry after {after_s:.0f}", retry_after=max(1, ceil(after_s)))


@dataclass
class Call:
    method: str
    params: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    at: float = field(default_factory=time.monotonic)


@dataclass
class FakeTelegram:
    """`faults`: by method, what the next calls are answered with; `held`: until when nothing is said of what they
    have done. `topics`: those that exist, by chat. `proxy`: where a webhook's address really is. `limited`: whether
    one chat gets a message a second, and all together thirty. `refusing_s`: what every sending is told to wait;
    `refusals`: how often. `confirmed_ms`: how long each update took to be confirmed."""

    token: str = TOKEN
    calls: list[Call] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    chats: dict[int, dict[str, Any]] = field(default_factory=dict)
    topics: dict[int, set[int]] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Refused]] = field(default_factory=dict)
    held: dict[str, trio.Event] = field(default_factory=dict)
    webhook: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    proxy: str = ""
    confirmed: int = 0
    limited: bool = False
    refusing_s: float = 0.0
    refusals: int = 0
    confirmed_ms: list[float] = field(default_factory=list[float])
    came_at: dict[int, float] = field(default_factory=dict[int, float])
    left_at: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    me: dict[str, Any] = field(default_factory=lambda: dict(ME))
    stirred: trio.Event = field(default_factory=trio.Event)
    poll: trio.CancelScope | None = None
    numbers: Any = field(default_factory=lambda: count(100))
    ids: Any = field(default_factory=lambda: count(1))

    # --- people ---

    def private(self, user: Mapping[str, Any]) -> dict[str, Any]:
        return self.chat({"id": user["id"], "type": "private", "first_name": user["first_name"]})

    def group(self, id_: int = -100500, **more: Any) -> dict[str, Any]:
        return self.chat({"id": id_, "type": "supergroup", "title": "Ops", **more})

    def chat(self, chat: dict[str, Any]) -> dict[str, Any]:
        return self.chats.setdefault(chat["id"], chat)

    def say(
        self, text: str = "", user: Mapping[str, Any] = ANN, chat: dict[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """A message of somebody's, with what it has besides its text."""
        where = chat or self.private(user)
        message = {"message_id": next(self.ids), "date": int(time.time()), "chat": where, "from": dict(user), **more}
        if text:
            message["text"] = text
        self.messages[where["id"], message["message_id"]] = message
        self.update({"message": message})
        return message

    def press(self, message: Mapping[str, Any], text: str, user: Mapping[str, Any] = ANN) -> str:
        """The button of a message of the bot's with this text."""
        rows = message["reply_markup"]["inline_keyboard"]
        [data] = [it["callback_data"] for row in rows for it in row if it["text"] == text]
        return self.press_data(message, data, user)

    def press_data(self, message: Mapping[str, Any], data: str, user: Mapping[str, Any] = ANN) -> str:
        id_ = f"press-{next(self.numbers)}"
        query = {"id": id_, "from": dict(user), "message": dict(message), "chat_instance": "1", "data": data}
        self.update({"callback_query": query})
        return id_

    def update(self, members: Mapping[str, Any]) -> dict[str, Any]:
        update = {"update_id": next(self.numbers), **members}
        self.updates.append(update)
        self.came_at[update["update_id"]] = time.monotonic()
        self.stir()
        return update

    def stir(self) -> None:
        self.stirred.set()
        self.stirred = trio.Event()

    def file(self, content: bytes) -> dict[str, Any]:
        id_ = f"file-{next(self.numbers)}"
        self.files[id_] = content
        return {"file_id": id_, "file_unique_id": id_, "file_size": len(content)}

    # --- what a test looks at ---

    def sent(self, chat: int) -> list[dict[str, Any]]:
        """What the bot has said there, as it stands now."""
        return [it for (where, _), it in sorted(self.messages.items()) if where == chat and it["from"]["is_bot"]]

    def texts(self, chat: int) -> list[str]:
        return [it.get("text") or it.get("caption", "") for it in self.sent(chat)]

    def called(self, method: str) -> list[dict[str, Any]]:
        return [it.params for it in self.calls if it.method == method]

    async def until(self, holds: Callable[[], Any], within_s: float = 60.0) -> Any:
        """What it holds, once it does."""
        with trio.fail_after(within_s):
            while not (found := holds()):
                await self.stirred.wait()
        return found

    # --- requests ---

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)
        self.stir()

    async def _answer(self, request: Request) -> Response:
        words = request.url.path.strip("/").split("/")
        if words[0] == "file":
            content = self.files.get(words[-1]) if words[1] == f"bot{self.token}" else None
            return Response(content) if content is not None else Response(status_code=404)
        try:
            if len(words) != 2 or words[0] != f"bot{self.token}":
                raise Refused(401, "Unauthorized")
            call = await self._read(words[1], request)
            self.calls.append(call)
            if faults := self.faults.get(call.method):
                raise faults.pop(0)
            if call.method.startswith(("send", "edit")):
                self._within_limits(call)
            if wrong := problems(call.method, call.params):
                self.wrong += wrong
                raise Refused(400, f"Bad Request: {wrong[0]}")
            result = await getattr(self, f"do_{call.method}", self._unknown)(call)
            if call.method in self.held:
                self.stir()
                await self.held[call.method].wait()
        except Refused as refused:
            return refusal(refused)
        return _json({"ok": True, "result": result})

    async def _read(self, method: str, request: Request) -> Call:
        kind = request.headers.get("content-type", "")
        if kind.startswith("application/json"):
            return Call(method, json.loads(await request.body() or b"{}"))
        call = Call(method, {})
        async with request.form(max_part_size=60_000_000) as form:
            for name, value in form.items():
                types = types_of(method, name)
                if not isinstance(value, str):
                    call.files[name] = await value.read()
                    call.params |= {name: f"attach://{name}"} if types else {}
                else:
                    as_it_is = types == ["String"] or ("String" in types and not value.lstrip("-").isdigit())
                    call.params[name] = value if as_it_is else json.loads(value)
        return call

    async def _unknown(self, call: Call) -> Any:
        raise Refused(404, f"Not Found: {call.method}")

    # --- methods ---

    async def do_getMe(self, call: Call) -> Any:
        return self.me

    async def do_getUpdates(self, call: Call) -> Any:
        if self.webhook.get("url"):
            raise Refused(409, "Conflict: can't use getUpdates method while webhook is active")
        if self.poll is not None:
            self.poll.cancel()
        offset = call.params.get("offset", 0)
        # One that is beyond the next number is of an earlier time, and means nothing.
        if offset > 0 and all(offset <= it["update_id"] + 1 for it in self.updates[-1:]):
            self.confirmed = max(self.confirmed, offset)
            now, heard = time.monotonic(), [it["update_id"] for it in self.updates if it["update_id"] < offset]
            self.confirmed_ms += [(now - self.came_at.pop(it, now)) * 1000 for it in heard]
            self.updates = [it for it in self.updates if it["update_id"] >= offset]
            self.stir()
        with trio.CancelScope() as scope:
            self.poll = scope
            with trio.move_on_after(call.params.get("timeout", 0)):
                while not self.updates:
                    await self.stirred.wait()
        if scope.cancelled_caught:
            raise Refused(409, "Conflict: terminated by other getUpdates request; make sure that only one bot runs")
        self.poll = None
        return self.updates[: call.params.get("limit", 100)]

    async def do_setWebhook(self, call: Call) -> Any:
        self.webhook = dict(call.params)
        return True

    async def do_deleteWebhook(self, call: Call) -> Any:
        self.webhook = {}
        return True

    async def do_getWebhookInfo(self, call: Call) -> Any:
        pending = len(self.updates)
        return {"url": self.webhook.get("url", ""), "has_custom_certificate": False, "pending_update_count": pending}

    async def bring(self, *, secret: str | None = None) -> list[int]:
        """Each update that waits to the webhook; the statuses. What was not answered with 200 waits on."""
        statuses = list[int]()
        async with httpx.AsyncClient(timeout=30) as client:
            for update in list(self.updates):
                said = self.webhook["secret_token"] if secret is None else secret
                headers = {"X-Telegram-Bot-Api-Secret-Token": said}
                answer = await client.post(self.proxy or self.webhook["url"], json=update, headers=headers)
                statuses.append(answer.status_code)
                if answer.status_code == 200:
                    self.updates.remove(update)
        return statuses

    async def do_setMyCommands(self, call: Call) -> Any:
        for it in call.params["commands"]:
            name, text = it["command"], it["description"]
            if not (0 < len(name) <= 32 and name.replace("_", "a").isalnum() and name == name.lower()):
                raise Refused(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 0 < len(text) <= 256:
                raise Refused(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        return True

    async def do_sendChatAction(self, call: Call) -> Any:
        self._where(call)
        return True

    async def do_answerCallbackQuery(self, call: Call) -> Any:
        if len(call.params.get("text", "")) > 200:
            raise Refused(400, "Bad Request: MESSAGE_TOO_LONG")
        return True

    async def do_getFile(self, call: Call) -> Any:
        content = self.files.get(call.params["file_id"])
        if content is None or len(content) > 20_000_000:
            raise Refused(400, "Bad Request: file is too big" if content else "Bad Request: invalid file_id")
        return {"file_id": call.params["file_id"], "file_unique_id": "u", "file_path": call.params["file_id"]}

    async def do_sendMessage(self, call: Call) -> Any:
        return self._stored(call, {"text": self._text(call.params, "text", 4096, "message text is empty")})

    async def _send_file(self, call: Call, name: str) -> Any:
        caption = self._text(call.params, "caption", 1024)
        content = call.files[name]
        if name == "photo" and len(content) > 10_000_000:
            raise Refused(400, "Bad Request: PHOTO_SAVE_FILE_INVALID")
        stored = self.file(content)
        return self._stored(call, {"caption": caption, name: [stored] if name == "photo" else stored})

    async def do_sendPhoto(self, call: Call) -> Any:
        return await self._send_file(call, "photo")

    async def do_sendDocument(self, call: Call) -> Any:
        return await self._send_file(call, "document")

    async def do_sendVoice(self, call: Call) -> Any:
        return await self._send_file(call, "voice")

    async def do_sendMediaGroup(self, call: Call) -> Any:
        media = call.params["media"]
        if not 2 <= len(media) <= 10:
            raise Refused(400, "Bad Request: wrong number of messages")
        found = list[Any]()
        for it in media:
            content = call.files[it["media"].removeprefix("attach://")]
            caption = self._text(it, "caption", 1024)
            found.append(self._stored(call, {"caption": caption, "photo": [self.file(content)]}))
        return found

    async def do_editMessageText(self, call: Call) -> Any:
        message = self._mine(call)
        text = self._text(call.params, "text", 4096, "message text is empty")
        after = {"text": text, "entities": call.params.get("entities", [])}
        markup = call.params.get("reply_markup")
        if all(message.get(key, []) == it for key, it in after.items()) and message.get("reply_markup") == markup:
            raise Refused(400, "Bad Request: message is not modified: specified new message content is the same")
        message |= after
        self._mark(message, markup)
        return message

    async def do_editMessageReplyMarkup(self, call: Call) -> Any:
        message, markup = self._mine(call), call.params.get("reply_markup")
        if message.get("reply_markup") == markup:
            raise Refused(400, "Bad Request: message is not modified")
        self._mark(message, markup)
        return message

    # --- what they share ---

    def _within_limits(self, call: Call) -> None:
        """A second of each chat, in which a short burst is let through, and of all of them."""
        if self.refusing_s:
            self.refusals += call.method.startswith("sendMessage")
            raise TooMany(self.refusing_s)
        if not self.limited or call.method == "sendChatAction":
            return
        now, chat = time.monotonic(), int(call.params["chat_id"])
        for whose, most, within_s in ((chat, BURST, BURST * 1.0), (0, 30, 1.0)):
            left = self.left_at[whose] = [it for it in self.left_at.get(whose, ()) if now - it < within_s]
            if len(left) >= most:
                raise TooMany(within_s - (now - left[0]))
        for whose in (chat, 0):
            self.left_at[whose].append(now)

    def _mine(self, call: Call) -> dict[str, Any]:
        where = self._where(call)
        message = self.messages.get((where["id"], call.params["message_id"]))
        if message is None or not message["from"]["is_bot"]:
            raise Refused(400, "Bad Request: message to edit not found")
        return message

    def _where(self, call: Call) -> dict[str, Any]:
        id_ = int(call.params["chat_id"])
        if id_ in self.moved:
            to = self.moved[id_]
            raise Refused(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=to)
        if id_ in self.gone:
            raise Refused(403, "Forbidden: bot was kicked from the supergroup chat")
        if id_ not in self.chats:
            raise Refused(400, "Bad Request: chat not found")
        thread = call.params.get("message_thread_id")
        if thread is not None and thread not in self.topics.get(id_, ()):
            raise Refused(400, "Bad Request: message thread not found")
        return self.chats[id_]

    def _stored(self, call: Call, content: Mapping[str, Any]) -> dict[str, Any]:
        where, markup = self._where(call), call.params.get("reply_markup")
        more = {"message_thread_id": call.params["message_thread_id"]} if "message_thread_id" in call.params else {}
        sent = {"message_id": next(self.ids), "date": int(time.time()), "chat": where, "from": dict(self.me), **more}
        sent |= {name: value for name, value in content.items() if value}
        sent["entities"] = call.params.get("entities", [])
        self._mark(sent, markup)
        self.messages[where["id"], sent["message_id"]] = sent
        return sent

    def _mark(self, message: dict[str, Any], markup: Mapping[str, Any] | None) -> None:
        message.pop("reply_markup", None)
        if markup is None:
            return
        for row in markup["inline_keyboard"]:
            for it in row:
                if not 1 <= len(it["callback_data"].encode()) <= 64:
                    raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
        message["reply_markup"] = markup

    def _text(self, params: Mapping[str, Any], name: str, most: int, empty: str = "") -> str:
        text = params.get(name, "")
        encoded = text.encode("utf-16-le")
        if empty and not text.strip():
            raise Refused(400, f"Bad Request: {empty}")
        if len(encoded) // 2 > most:
            raise Refused(400, "Bad Request: message is too long")
        self._check_spans(encoded, params.get("entities" if name == "text" else f"{name}_entities", []))
        return text

    def _check_spans(self, encoded: bytes, spans: list[dict[str, Any]]) -> None:
        ranges = [(it["offset"], it["offset"] + it["length"], it["type"]) for it in spans]
        for start, end, type_ in ranges:
            part = encoded[2 * start : 2 * end]
            if not 0 <= start < end <= len(encoded) // 2 or type_ not in SPAN_TYPES:
                self._bad(f"entity {type_} from {start} to {end}")
            try:
                part.decode("utf-16-le")
            except UnicodeDecodeError:
                self._bad(f"entity {type_} beginning or ending in the middle of a character")
        # Of two from and to the same places the first is outside, but a quote always is.
        ranges.sort(key=lambda it: (it[0], -it[1], it[2] != "blockquote"))
        for (_, end, type_), (other, ends, its) in combinations(ranges, 2):
            if other < end < ends:
                self._bad(f"{type_} and {its} that overlap")
            if ends <= end and (type_ in ("code", "pre") or type_ == its == "blockquote"):
                self._bad(f"{its} within {type_}")

    def _bad(self, what: str) -> None:
        self.wrong.append(what)
        raise Refused(400, f"Bad Request: can't parse entities: {what}")


def _json(value: object, status: int = 200) -> Response:
    """Half characters are escaped, as the platform does."""
    return Response(json.dumps(value), status, media_type="application/json")


def refusal(refused: Refused) -> Response:
    body = {"ok": False, "error_code": refused.status, "description": refused.why}
    return _json({**body, **({"parameters": refused.parameters} if refused.parameters else {})}, refused.status)


@asynccontextmanager
async def open_fake(
    listen: str = "127.0.0.1:0", fake: FakeTelegram | None = None, app: App | None = None
) -> AsyncGenerator[FakeTelegram]:
    """`app`: what stands before it, else nothing."""
    fake, stop, addresses = fake or FakeTelegram(), trio.Event(), list[str]()
    async with trio.open_nursery() as nursery:

        async def serve(task_status: trio.TaskStatus[str]) -> None:
            await serve_http(app or fake.app, listen, started=task_status.started, stop=stop)

        addresses.append(await nursery.start(serve))
        fake.url = f"http://{addresses[0]}"
        try:
            yield fake
        finally:
            stop.set()
            if fake.poll is not None:
                fake.poll.cancel()
