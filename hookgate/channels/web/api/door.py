"""Who comes in: login by token or password, the cookie, and whether a request is one of our own page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie

from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.requests import HttpRefused, answer, read_json, text_of, wait
from hookgate.channels.web.access.hosts import is_ours, is_same_site
from hookgate.channels.web.access.logins import LASTS_S, Login, Logins
from hookgate.channels.web.settings import OWNER, WebParts, WebSettings
from hookgate.processes.rates import Rate
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound

NO_OPERATOR = (
    "This page is for operators. Whoever runs hookgate can make you one: "
    'ids = ["{channel}:{user}"] and roles = ["operator"] below [people.NAME] in hookgate.toml, then a reload.'
)
Answering = Callable[[Request, Login], Awaitable[Response]]
MAX_SECRET = 1000
LOGIN_BYTES, LOGIN_S = 8000, 5.0
"""For a whole request to log in, which anybody may make."""


class Shut(HttpRefused):
    """Somebody who is logged in is not heard here."""

    def __init__(self, login: Login, why: str) -> None:
        super().__init__(403, why)
        self.login = login


class Door:
    def __init__(self, settings: WebSettings, parts: WebParts, logins: Logins) -> None:
        self._settings, self._parts, self._logins = settings, parts, logins
        # Of one address, of one name, of everybody: who guesses is slowed down, wherever they guess from.
        self._rates = Rate(10, 6.0), Rate(10, 6.0), Rate(100, 0.6)
        self._asking = Rate(240, 0.25)

    def entered(
        self, answering: Answering, turned_away: Callable[[Request, Login], Awaitable[None]] | None = None
    ) -> Callable[[Request], Awaitable[Response]]:
        """For those who are logged in. `turned_away`: what is done with the request of one who is not heard here."""

        async def enter(request: Request) -> Response:
            try:
                login = self.admit(request)
            except Shut as shut:
                if turned_away is not None:
                    await turned_away(request, shut.login)
                raise
            return await answering(request, login)

        return enter

    def admit(self, request: Request) -> Login:
        """Raises HttpRefused."""
        self.check_site(request)
        login = self._logins.by_cookie(self._cookie(request))
        if login is None:
            raise HttpRefused(401, "not logged in")
        if request.method not in ("GET", "HEAD"):
            # A cookie comes with whatever page asks; this comes from ours alone.
            if request.headers.get("x-csrf-token", "") != login.csrf:
                raise HttpRefused(403, "X-CSRF-Token is missing or not this login's")
            wait(self._asking, login.user)
        if why := self._parts.refuses(login.user):
            raise Shut(login, why)
        return login

    def keeps(self, login: Login) -> bool:
        """Whether who was admitted with it is still let in."""
        return self._logins.holds(login) and not self._parts.refuses(login.user)

    def check_site(self, request: Request) -> None:
        host, origin = request.headers.get("host", ""), self._settings.origin
        if not is_ours(host, origin):
            raise HttpRefused(421, "this is not reached by that name; origin in its configuration names it")
        claimed = request.headers.get("origin", "")
        if request.method not in ("GET", "HEAD") and not is_same_site(claimed, host, origin):
            raise HttpRefused(403, "a page of another site asks for this")

    async def logins(self, request: Request) -> Response:
        """What somebody can log in with, for whoever asks."""
        self.check_site(request)
        return answer({"token": bool(self._settings.token), "password": bool(self._settings.users)})

    async def login(self, request: Request) -> Response:
        self.check_site(request)
        by_address, by_name, by_all = self._rates
        # Before anything is read: nobody has proved anything yet.
        wait(by_address, request.client.host if request.client else "")
        members = await read_json(request, LOGIN_BYTES, LOGIN_S)
        token, user = text_of(members, "token", MAX_SECRET), text_of(members, "user", MAX_SECRET)
        wait(by_name, OWNER if token else user)
        wait(by_all, "")
        if token:
            cookie = await self._logins.by_token(token)
        else:
            cookie = await self._logins.by_password(user, text_of(members, "password", MAX_SECRET))
        if cookie is None:
            raise HttpRefused(401, "This token is not right." if token else "This name and password do not match.")
        user = OWNER if token else user
        if why := self._parts.refuses(user):
            with suppress(StoreFailed):
                await self._parts.turn_away(Inbound(Chat(self._settings.name, user, user), ""))
            raise HttpRefused(403, why)
        return self._with_cookie(Response(status_code=204), cookie, int(LASTS_S))

    async def logout(self, request: Request, login: Login) -> Response:
        await self._logins.end(login)
        return self._with_cookie(Response(status_code=204), "", 0)

    async def me(self, request: Request, login: Login) -> Response:
        its = self._settings
        shows = {"tools": its.show_tools, "trace": its.show_trace}
        known = {"user": login.user, "channel": its.name, "csrf": login.csrf}
        return answer({**known, "shows": shows, "operates": its.ops and self._parts.operates(login.user)})

    def check_operator(self, login: Login) -> None:
        """Raises HttpRefused for whoever has not the gateway in hand, and says what would make them one who has."""
        if not self._parts.operates(login.user):
            raise HttpRefused(403, NO_OPERATOR.format(channel=self._settings.name, user=login.user))

    @property
    def _secure(self) -> bool:
        return self._settings.origin.startswith("https://")

    @property
    def _cookie_name(self) -> str:
        return f"{'__Host-' if self._secure else ''}hookgate-{self._settings.name}"

    def _cookie(self, request: Request) -> str:
        try:
            cookie = SimpleCookie(request.headers.get("cookie", "")).get(self._cookie_name)
        except CookieError:
            return ""
        return cookie.value if cookie is not None else ""

    def _with_cookie(self, response: Response, cookie: str, max_age: int) -> Response:
        response.set_cookie(
            self._cookie_name, cookie, max_age, path="/", secure=self._secure, httponly=True, samesite="strict"
        )
        return response
