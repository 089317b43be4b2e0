"""A collector of traces as OpenTelemetry describes one: takes OTLP over HTTP as JSON, reads it with the published
protocol buffers, and prints each span as a line. Runs where these are installed.

Arguments: the port (0: any, printed first), and the statuses that the first requests are answered with.
"""

import base64
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from google.protobuf.json_format import MessageToDict, Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

STATUSES = [int(it) for it in sys.argv[2:]]
IDS = ("traceId", "spanId", "parentSpanId")


def spans(body: bytes) -> Iterator[dict[str, Any]]:
    given = json.loads(body)
    for resource in given["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                # In OTLP's JSON ids are in hex, where that of protocol buffers has base64.
                span |= {name: base64.b64encode(bytes.fromhex(span[name])).decode() for name in IDS if name in span}
    request = Parse(json.dumps(given), ExportTraceServiceRequest())
    for resource in request.resource_spans:
        service = {it.key: it.value.string_value for it in resource.resource.attributes}
        for scope in resource.scope_spans:
            yield from (line(span, service) for span in scope.spans)


def line(span: Any, service: dict[str, str]) -> dict[str, Any]:
    return {
        "service": service,
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "took": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        "attributes": {it.key: next(iter(MessageToDict(it.value).values())) for it in span.attributes},
        "events": [it.name for it in span.events],
        "error": span.status.message if span.status.code == 2 else "",
    }


class Collector(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        assert (self.path, self.headers["content-type"]) == ("/v1/traces", "application/json"), self.path
        status = STATUSES.pop(0) if STATUSES else 200
        self.send_response(status)
        self.send_header("content-length", "2")
        self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(b"{}")
        for span in spans(body) if status == 200 else ():
            print(json.dumps({**span, "token": self.headers.get("x-token", "")}), flush=True)

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Collector)
print(server.server_address[1], flush=True)
server.serve_forever()
