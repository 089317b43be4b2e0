"""What can be asked, as an OpenRPC document: made of the signatures and docstrings of the methods themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import Parameter, cleandoc, signature, unwrap
from typing import Any

import trio

from hookgate import __version__
from hookgate.control.methods import Method, Methods, annotation
from hookgate.protocol.values import JsonObject

OPENRPC = "1.3.2"
DISCOVER = "rpc.discover"
SCHEMAS = "#/components/schemas/{model}"
RESULT = ""
"""In the place of a parameter's name."""
REFUSED = {"code": -32000, "message": "It is not done, or has failed; `message` is one line that says why."}


def discoverable(methods: Methods) -> Methods:
    """The same, and one that says what they are."""

    async def discover() -> JsonObject:
        """All methods that this caller has, as an OpenRPC document."""
        # In a thread: it makes models of all that they take and give.
        return await trio.to_thread.run_sync(document, listed)

    listed = {**methods, DISCOVER: Method(discover, changes=False)}
    return listed


def document(methods: Methods) -> JsonObject:
    """Schemas of values are named as in the code."""
    from pydantic import TypeAdapter

    kinds = [(place, TypeAdapter[Any](kind)) for name in methods for place, kind in _kinds(name, methods[name])]
    found, shared = TypeAdapter.json_schemas(
        [(place, "serialization", adapter) for place, adapter in kinds], ref_template=SCHEMAS
    )
    schemas = {place: schema for (place, _mode), schema in found.items()}
    return {
        "openrpc": OPENRPC,
        "info": {"title": "hookgate", "version": __version__},
        "methods": [_described(name, methods[name], schemas) for name in sorted(methods)],
        "components": {"schemas": shared.get("$defs", {})},
    }


def _kinds(name: str, method: Method) -> Iterator[tuple[tuple[str, str], Any]]:
    shape = signature(method.call)
    for it in shape.parameters.values():
        yield (name, it.name), annotation(method.call, it.annotation)
    yield (name, RESULT), annotation(method.call, shape.return_annotation)


def _described(name: str, method: Method, schemas: Mapping[tuple[str, str], Any]) -> JsonObject:
    text = _text(method)
    summary = re.split(r"(?<=[.;:])\s", text, maxsplit=1)[0].rstrip(".;:")
    params = (_param(name, it, schemas) for it in signature(method.call).parameters.values())
    return {
        "name": name,
        "summary": summary,
        "description": text,
        "paramStructure": "either",
        "params": tuple(params),
        "result": {"name": "result", "schema": schemas[name, RESULT]},
        "errors": (REFUSED,),
        "x-changes": method.changes,
    }


def _param(name: str, it: Parameter, schemas: Mapping[tuple[str, str], Any]) -> JsonObject:
    required = it.default is Parameter.empty
    usual = {} if required else {"default": it.default}
    return {"name": it.name, "required": required, "schema": {**schemas[name, it.name], **usual}}


def _text(method: Method) -> str:
    function = unwrap(method.call)
    function = function.func if isinstance(function, partial) else function
    return " ".join(cleandoc(function.__doc__ or "").split())
