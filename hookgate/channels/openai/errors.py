"""What a client of OpenAI's API is told where it does not get what it asked for. Knows no request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hookgate.protocol.dataclasses import dataclass

BUSY_S = 5
"""So long a client is asked to wait before it tries again, where nothing has been done for it yet."""


@dataclass(eq=False)
class ApiError(Exception):
    """`param`: the member that it is about, as `messages[0].content`. Clients try again by themselves at 409, 429 and
    5xx: those are for what has not begun."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    kind: str = "invalid_request_error"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> dict[str, object]:
        """OpenAI's error object."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


def bad_request(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    return ApiError(400, message, param, code)


def unauthorized() -> ApiError:
    return ApiError(401, "this key was revoked", None, "invalid_api_key", "authentication_error")


def turn_failed(why: str) -> ApiError:
    """The turn has run and has no answer. To run it again would do again what it has done."""
    return ApiError(422, why, None, "turn_failed", "turn_error")


def busy(why: str) -> ApiError:
    return ApiError(429, why, None, "busy", "rate_limit_error", {"retry-after": str(BUSY_S)})


def stopping() -> ApiError:
    """What was asked for is stored, and answered after the next start: to ask again is to ask for that."""
    return ApiError(503, "hookgate is stopping: ask again when it is back", None, "stopping", "server_error")
