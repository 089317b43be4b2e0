"""Who makes a request, by the key that it shows, `Authorization: Bearer KEY`: one part for whatever answers
programs."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request

from hookgate.channels.http.keys import Keys
from hookgate.channels.http.requests import HttpRefused, wait
from hookgate.processes.rates import Rate
from hookgate.protocol.approval import OPERATOR_ROLE
from hookgate.protocol.journal.keys import Key

SCHEME = "bearer"
NOT_FOR_THIS = "insufficient_scope"


class Bearers:
    """`channel`: whose keys open it; a surface is one by its name, too. `operates`: whether the person who has a key
    of this channel is an operator."""

    def __init__(self, channel: str, keys: Keys, operates: Callable[[str], bool] = lambda _name: False) -> None:
        self._channel, self._keys, self._operates = channel, keys, operates
        # Of tries that failed, by address, and of all: whoever has a key is let in, whatever others there try.
        self._failed = Rate(20, 3.0), Rate(200, 0.3)

    def admit(self, request: Request) -> Key:
        """Raises HttpRefused: 401 where no key is shown that is known, 403 where it is for something else, 429 where
        too many were tried that are not."""
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        key = self._keys.holder(shown.strip()) if scheme.lower() == SCHEME else None
        if key is None:
            by_address, by_all = self._failed
            wait(by_address, request.client.host if request.client else "")
            wait(by_all, "")
            why = "this key is not known" if shown else "show a key: Authorization: Bearer hg_..."
            raise HttpRefused(401, why, _challenge("invalid_token" if shown else ""))
        if key.channel != self._channel:
            raise HttpRefused(
                403, f"this key is for {key.channel}, not for {self._channel}", _challenge(NOT_FOR_THIS)
            )
        return key

    def admit_operator(self, request: Request) -> Key:
        """As `admit`, and 403 for whoever does not have the role `operator`."""
        key = self.admit(request)
        if not self.operates(key):
            why = f"{key.channel}:{key.name} does not have the role {OPERATOR_ROLE}"
            raise HttpRefused(403, why, _challenge(NOT_FOR_THIS))
        return key

    def operates(self, key: Key) -> bool:
        return self._operates(key.name)


def _challenge(error: str) -> dict[str, str]:
    """As RFC 6750 has it: without an error where nothing was shown."""
    return {"www-authenticate": 'Bearer realm="hookgate"' + (f', error="{error}"' if error else "")}
