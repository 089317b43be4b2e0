"""`/metrics`: the gateway in figures, for what scrapes them: from this machine, or with the key of an operator."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from hookgate.assembly.app import Runtime
from hookgate.channels.http.bearer import Bearers
from hookgate.channels.http.requests import HttpRefused, answer
from hookgate.channels.http.server import App, Receive, Scope, Send
from hookgate.operations.journal.store import StoreLook
from hookgate.operations.metrics import metrics
from hookgate.telemetry.exposition import OPENMETRICS, TEXT, exposition, wants_openmetrics

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
"""By one of these a proxy says whom it asks for, who is somewhere else."""


def make_metrics(runtime: Runtime, bearers: Bearers) -> App:
    """Whoever asks through a proxy that says nothing of it looks as from here: where people come through one,
    `origin` says so, and everybody shows a key."""
    config, look = runtime.settings.config, StoreLook(runtime.journal)
    wants_key = config.http.metrics == "key" or any(it.origin for it in config.channels.values())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if request.method not in ("GET", "HEAD"):
                raise HttpRefused(405, "only GET", {"allow": "GET, HEAD"})
            if wants_key or not is_local(request):
                bearers.admit_operator(request)
            openmetrics = wants_openmetrics(request.headers.get("accept", ""))
            text = exposition(await metrics(runtime, await look()), openmetrics=openmetrics)
            headers = {"content-type": OPENMETRICS if openmetrics else TEXT, "cache-control": "no-store"}
            response = Response(text, headers=headers)
        except HttpRefused as error:
            response = answer({"error": error.why}, error.status, error.headers)
        await response(scope, receive, send)

    return app


def is_local(request: Request) -> bool:
    """From this machine, asked of it by an address or a name that only it has: what a page elsewhere has a browser
    ask here bears that page's name."""
    peer, host = request.client.host if request.client else "", request.headers.get("host", "")
    try:
        named = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return _is_loopback(peer) and _is_loopback(named) and not any(it in request.headers for it in FORWARDED)


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
