"""Calls that wait for people: what this user may decide, and what they decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.requests import HttpRefused, answer, read_json, text_of
from hookgate.channels.web.access.logins import Login
from hookgate.channels.web.cards import card
from hookgate.channels.web.settings import WebParts
from hookgate.protocol.approval import GRANTS, Decision, Voter

MAX_REASON = 2000


class ApprovalsApi:
    def __init__(self, channel: str, parts: WebParts) -> None:
        self._channel, self._parts = channel, parts

    async def listed(self, request: Request, login: Login) -> Response:
        voter = Voter(self._channel, login.user)
        pending = await self._parts.journal.decisions.pending()
        its = [card(it, may=True) for it in pending if self._parts.may(it.request, voter)]
        return answer([asdict(it) for it in its])

    async def decide(self, request: Request, login: Login) -> Response:
        """Whoever may not, and whoever comes too late, reads what has become of it."""
        decision = read_decision(await read_json(request), login.user)
        voter = Voter(self._channel, login.user)
        outcome = await self._parts.decide(request.path_params["request"], decision, voter)
        return answer(asdict(outcome))


def read_decision(members: Mapping[str, Any], by: str) -> Decision:
    """Raises HttpRefused."""
    approved, grant = members.get("approved"), GRANTS.get(text_of(members, "grant") or "once")
    if not isinstance(approved, bool):
        raise HttpRefused(400, "approved has to be true or false")
    if grant is None:
        raise HttpRefused(400, f"grant has to be one of {', '.join(GRANTS)}")
    return Decision(approved, by, text_of(members, "reason", MAX_REASON), grant)
