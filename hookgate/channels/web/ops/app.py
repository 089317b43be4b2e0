"""The operators' page as an ASGI application: who may, what is shown, what is done and recorded."""

from __future__ import annotations

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hookgate.channels.http.requests import HttpRefused, answer, read_json, text_of, wait
from hookgate.channels.http.server import App, Receive, Scope, Send
from hookgate.channels.web.access.logins import Login
from hookgate.channels.web.api.app import hardened
from hookgate.channels.web.api.door import Door
from hookgate.channels.web.api.files import page_of
from hookgate.channels.web.ops.parts import OpsParts
from hookgate.processes.rates import Rate
from hookgate.protocol.approval import Voter

log = structlog.get_logger("hookgate.web")

PATH = "/ops"
API = f"{PATH}/api/"
MAX_QUERY = 300
MAX_ABOUT = 1000
BODY_BYTES, BODY_S = 20_000, 10.0


def with_ops(page: App, channel: str, door: Door, parts: OpsParts) -> App:
    """The web channel's application with this below it; the files of both are the channel's."""
    ops = make_ops_app(channel, door, parts)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        await (ops if path.rstrip("/") == PATH or path.startswith(API) else page)(scope, receive, send)

    return app


def make_ops_app(channel: str, door: Door, parts: OpsParts) -> App:
    page = _Page(channel, door, parts)
    return hardened(
        [
            Route(PATH, page.files),
            Route(f"{API}{{name}}", door.entered(page.show), methods=["GET"]),
            Route(f"{API}{{name}}", door.entered(page.act), methods=["POST"]),
        ]
    )


class _Page:
    def __init__(self, channel: str, door: Door, parts: OpsParts) -> None:
        self._channel, self._door, self._parts = channel, door, parts
        # A page asks for two views every three seconds.
        self._looking = Rate(120, 0.2)

    async def files(self, request: Request) -> Response:
        self._door.check_site(request)
        return page_of(request, "ops/index.html")

    async def show(self, request: Request, login: Login) -> Response:
        self._door.check_operator(login)
        wait(self._looking, login.user)
        view = self._parts.views.get(request.path_params["name"])
        if view is None:
            raise HttpRefused(404, "there is no such view")
        query = dict(request.query_params)
        if any(len(value) > MAX_QUERY for value in query.values()):
            raise HttpRefused(400, f"a member of a query has at most {MAX_QUERY} characters")
        return answer(await view(Voter(self._channel, login.user), query))

    async def act(self, request: Request, login: Login) -> Response:
        """Whatever changes something stands in the record before, and is not done where it cannot."""
        self._door.check_operator(login)
        name, by = request.path_params["name"], Voter(self._channel, login.user)
        action = self._parts.actions.get(name)
        if action is None:
            raise HttpRefused(404, "there is no such action")
        members = await read_json(request, BODY_BYTES, BODY_S)
        about = text_of(members, action.about, MAX_ABOUT) if action.about else ""
        if action.about and not about:
            raise HttpRefused(400, f"{action.about} says what it is done to")
        if action.changes:
            await self._parts.record(by, name, about)
        done = await action.do(by, members)
        log.info("operator_acted", by=str(by), did=name, about=about)
        return answer(done)
