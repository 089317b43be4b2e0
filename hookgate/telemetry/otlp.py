"""Spans on their way to a collector: OTLP over HTTP, as JSON, in batches. What waits is bounded, what is lost is
counted, and nobody who is traced waits for any of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import structlog
import trio

from hookgate.processes.backoff import backoff_s
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.telemetry import conventions as names
from hookgate.telemetry.spans import Moment, Span, Value

if TYPE_CHECKING:
    import httpx

log = structlog.get_logger("hookgate.telemetry")

MOST_WAITING = 8192
MOST_SENT = 512
"""Spans of one request."""
EVERY_S = 2.0
REQUEST_S = 10.0
LAST_S = 3.0
"""What waits when it ends may take so long to leave."""
FIRST_S, LONGEST_S = 1.0, 60.0
AGAIN = frozenset({429, 502, 503, 504})
ANSWER_BYTES = 1 << 16
MOST_KNOWN = 1024
"""Attributes that are made once for all spans."""
ERROR = 2


@dataclass(frozen=True)
class Collector:
    """`url`: without `/v1/traces`. `headers`: what it knows this program by."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    service: str = "hookgate"
    version: str = ""


@dataclass(frozen=True)
class _Answered:
    """`why` it did not take them; empty: it did, but so many as were `rejected`. `again`: another try may help."""

    why: str
    again: bool = False
    retry_after_s: float = 0.0
    rejected: int = 0


class Exporter:
    """`sent`, `lost`: spans, since the start. `why`: of the last request that failed; empty: it works."""

    def __init__(self, collector: Collector) -> None:
        self.sent = self.lost = 0
        self.why = ""
        self._collector = collector
        self._waiting: deque[Span] = deque()
        self._enough = trio.Event()

    def take(self, span: Span) -> None:
        """It leaves soon; where too many wait already it is lost."""
        if len(self._waiting) >= MOST_WAITING:
            self.lost += 1
            return
        self._waiting.append(span)
        if len(self._waiting) == MOST_SENT:
            self._enough.set()

    async def run(self) -> None:
        """Until cancelled; what waits then is sent, if that is soon done."""
        import httpx

        headers = {**self._collector.headers, "content-type": "application/json", "accept-encoding": "identity"}
        async with httpx.AsyncClient(headers=headers, timeout=REQUEST_S, trust_env=False) as client:
            try:
                while True:
                    with trio.move_on_after(EVERY_S):
                        await self._enough.wait()
                    self._enough = trio.Event()
                    await self._send_all(client)
            finally:
                with trio.move_on_after(LAST_S, shield=True):
                    while self._waiting and not await self._send(client):
                        pass
                self.lost += len(self._waiting)

    async def _send_all(self, client: httpx.AsyncClient) -> None:
        tries = 0
        while self._waiting:
            wait_s = await self._send(client)
            tries = tries + 1 if wait_s else 0
            if wait_s:
                await trio.sleep(max(wait_s, backoff_s(tries, FIRST_S, LONGEST_S)))

    async def _send(self, client: httpx.AsyncClient) -> float:
        """The next batch; above 0: it is still there, and to be tried again after so many seconds at least."""
        batch = list(islice(self._waiting, MOST_SENT))
        answered = await self._asked(client, batch)
        self._become(answered.why)
        if answered.again:
            return answered.retry_after_s or FIRST_S
        for _ in batch:
            self._waiting.popleft()
        refused = len(batch) if answered.why else min(len(batch), answered.rejected)
        self.lost += refused
        self.sent += len(batch) - refused
        return 0.0

    async def _asked(self, client: httpx.AsyncClient, batch: list[Span]) -> _Answered:
        url, found = f"{self._collector.url}/v1/traces", bytearray()
        try:
            body = request(self._collector, batch)
        except (TypeError, ValueError) as error:
            return _Answered(f"these spans cannot be written: {error}")
        try:
            with trio.fail_after(REQUEST_S):
                async with client.stream("POST", url, content=body) as response:
                    async for part in response.aiter_raw():
                        found += part[: ANSWER_BYTES - len(found)]
        except trio.TooSlowError:
            return _Answered(f"no answer within {REQUEST_S:g} s", again=True)
        except Exception as error:
            return _Answered(f"{type(error).__name__}: {error}", again=True)
        if response.is_success:
            return _Answered("", rejected=_rejected(bytes(found)))
        wait = response.headers.get("retry-after", "")
        wait_s = min(float(wait), LONGEST_S) if wait.isdecimal() else 0.0
        return _Answered(f"it answered with {response.status_code}", response.status_code in AGAIN, wait_s)

    def _become(self, why: str) -> None:
        before, self.why = self.why, why
        if why and why != before:
            log.warning("traces_cannot_leave", to=self._collector.url, reason=why)
        elif before and not why:
            log.info("traces_leave_again", to=self._collector.url)


def _rejected(answer: bytes) -> int:
    """How many spans of a request that was taken it does not want."""
    try:
        match decode(answer or b"{}"):
            case {"partialSuccess": {"rejectedSpans": int() | str() as count}}:
                return max(int(cast("Any", count)), 0)
            case _:
                return 0
    except (BadMessage, ValueError):
        return 0


def request(collector: Collector, spans: list[Span]) -> bytes:
    """An ExportTraceServiceRequest in JSON, with ids in hex and times as texts, as OTLP has them."""
    resource = {names.SERVICE_NAME: collector.service, names.SERVICE_VERSION: collector.version}
    scope = {"name": "hookgate", "version": collector.version}
    scoped = {"scope": scope, "spans": [_span(it) for it in spans]}
    return encode({"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scoped]}]})


def _span(it: Span) -> dict[str, object]:
    written: dict[str, object] = {
        "traceId": it.trace,
        "spanId": it.id,
        "name": it.name,
        "kind": it.kind,
        "startTimeUnixNano": str(it.began_ns),
        "endTimeUnixNano": str(it.ended_ns),
        "attributes": _attributes(it.attributes),
    }
    if it.parent:
        written["parentSpanId"] = it.parent
    if it.moments:
        written["events"] = [_moment(moment) for moment in it.moments]
    if it.error:
        written["status"] = {"code": ERROR, "message": it.error}
    return written


def _moment(it: Moment) -> dict[str, object]:
    return {"name": it.name, "timeUnixNano": str(it.at_ns), "attributes": _attributes(it.attributes)}


def _attributes(values: Mapping[str, Value]) -> list[dict[str, object]]:
    return [
        _known_attribute(name, value) if name in names.FEW_VALUES else _attribute(name, value)
        for name, value in values.items()
    ]


def _attribute(name: str, value: Value) -> dict[str, object]:
    return {"key": name, "value": _value(value)}


_known_attribute = lru_cache(MOST_KNOWN, typed=True)(_attribute)


def _value(value: Value) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}
