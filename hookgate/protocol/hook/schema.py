"""The hook protocol as JSON Schema and as OpenRPC: made of the types that write it and the models that read it.

An answer is described as a hook should write it. hookgate reads a little more: docs/hook-json-protocol.md says what.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from hookgate.protocol.events.payloads import PAYLOADS
from hookgate.protocol.hook import changes, shapes
from hookgate.protocol.hook.answers import ACTIONS
from hookgate.protocol.hook.hello import HelloPatch
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values.effects import KINDS

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OPENRPC = "1.3.2"
VERSION = "1"
ABOUT = (
    "What hookgate writes to a hook: each line is an instance of this schema. What the hook answers is the `result` "
    "of its call: BeforeToolResult and the like, in $defs. Members that are not named here may come at any time."
)
ASKED: Mapping[str, str] = {
    "hook.hello": "The first call to every process.",
    "hook.on_message": "Asked about each message of a person before anything is done with it.",
    "hook.before_llm": "Asked before each model call.",
    "hook.after_llm": "Asked when the reply is complete, before it joins the transcript.",
    "hook.before_tool": "Asked for each tool call whose tool exists and whose arguments fit.",
    "hook.approve_tool": "Asked about the call exactly as it will run.",
    "hook.after_tool": "Asked when a tool has run, before its result joins the transcript.",
    "hook.before_send": "Asked about each message that goes to the chat.",
}
TOLD: Mapping[str, str] = {
    "hook.cancel": "Nobody waits for that call any more.",
    "hook.event": "What happened.",
    "hook.runtime_event": "What happened, in the other envelope.",
}
FAILURES = (
    {"code": -32601, "message": "The hook does not know the method."},
    {"code": -32000, "message": "The hook has failed; its failure policy decides what follows."},
)
SAYING: Schema = {
    "anyOf": [
        {"required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}},
        {"required": ["media"], "properties": {"media": {"type": "array", "minItems": 1}}},
    ]
}
"""A message that says something."""
REFS = "#/$defs/"
COMPONENTS = "#/components/schemas/"


class _Untitled(GenerateJsonSchema):
    """Without a title for every member, which would only repeat its name."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def json_schema() -> Schema:
    """Any line that hookgate writes to a hook, and in $defs all that is said either way."""
    return {
        "$schema": DIALECT,
        "title": "HookLine",
        "description": ABOUT,
        "anyOf": [_line(method) for method in (*ASKED, *TOLD)],
        "$defs": definitions(),
    }


def openrpc() -> Schema:
    """The hook as a service whose methods hookgate calls; those without a result are notifications."""
    found = definitions()
    document = {
        "openrpc": OPENRPC,
        "info": {"title": "hookgate's hook protocol", "version": VERSION},
        "methods": [_method(method, found) for method in (*ASKED, *TOLD)],
        "components": {"schemas": found},
    }
    return json.loads(json.dumps(document).replace(f'"{REFS}', f'"{COMPONENTS}'))


def definitions() -> Schema:
    """By their names."""
    shaped = [getattr(shapes, f"{_name(method)}Params") for method in (*ASKED, *TOLD)]
    patches = [changes.MessagePatch, changes.RequestPatch, changes.ReplyPatch, changes.CallPatch, changes.ResultPatch]
    read = [*patches, changes.ApprovalPatch, HelloPatch]
    kinds = [*shaped, *read, *KINDS.values(), *PAYLOADS]
    adapters: list[tuple[int, JsonSchemaMode, TypeAdapter[Any]]]
    adapters = [(n, "validation", TypeAdapter[Any](kind)) for n, kind in enumerate(kinds)]
    found: Schema = TypeAdapter.json_schemas(adapters, schema_generator=_Untitled)[1]["$defs"]
    for kind, effect in KINDS.items():
        _tagged(found[effect.__name__], kind)
    found["Effect"] = {"oneOf": [_ref(effect.__name__) for effect in KINDS.values()]}
    found["ToolResult"]["properties"]["effects"] = {"type": "array", "items": _ref("Effect")}
    _complete_patches(found, [it.__name__ for it in patches])
    found["HelloResult"] = _hello(found.pop("HelloPatch"))
    found["ApproveToolResult"] = _closed(found.pop("ApprovalPatch"))
    found |= {f"{_name(stage.method)}Result": _result(stage) for stage in ACTIONS}
    for envelope, members in {"EventParams": ("Kind", "Payload"), "RuntimeEventParams": ("kind", "payload")}.items():
        found[envelope]["allOf"] = [*_by_kind(*members, runtime=envelope != "EventParams")]
    return dict(sorted(found.items()))


def _name(method: str) -> str:
    """`hook.before_tool` is `BeforeTool`."""
    return "".join(word.capitalize() for word in method.removeprefix("hook.").split("_"))


def _ref(name: str) -> Schema:
    return {"$ref": REFS + name}


def _array(name: str) -> Schema:
    return {"type": "array", "items": _ref(name)}


def _tagged(effect: Schema, kind: str) -> None:
    effect["properties"] = {"kind": {"const": kind, "type": "string"}, **effect["properties"]}
    effect["required"] = ["kind", *effect.get("required", ())]


def _complete_patches(found: Schema, names: list[str]) -> None:
    """With the shapes of what is read by hand."""
    found["RequestPatch"]["properties"] |= {"messages": _array("Message"), "tools": _array("Tool")}
    found["ReplyPatch"]["properties"]["tool_calls"] = {"anyOf": [_array("ProposedCall"), {"type": "null"}]}
    found["ResultPatch"]["properties"]["effects"] = _array("Effect")
    for name in names:
        found[name] = {**_closed(found[name]), "minProperties": 1}


def _closed(schema: Schema) -> Schema:
    """A member that it does not name is a spelling mistake; hookgate refuses an object that has no other ones."""
    return {**schema, "propertyNames": {"enum": [*schema["properties"]]}}


def _hello(schema: Schema) -> Schema:
    stages = {"type": "array", "items": {"enum": [*Stage]}}
    properties = {**schema["properties"], "tools": _array("Tool"), "stages": stages}
    return {**schema, "properties": properties}


def _result(stage: Stage) -> Schema:
    """What stands beside an action, and which it cannot do without."""
    patched, actions = changes.OBJECTS[stage], ACTIONS[stage]
    brought = {"modify": (patched, _patch(patched))}
    if "respond" in actions:
        name = "reply" if stage is Stage.ON_MESSAGE else "result"
        brought["respond"] = name, _patch(name)
    properties: Schema = {"action": {"type": "string", "enum": [*actions]}, "reason": {"type": "string"}}
    if "drop" in actions:
        properties["tell"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    needs = [
        {
            "if": {"properties": {"action": {"const": action}}},
            "then": {"required": [name], **({"properties": {name: SAYING}} if name == "reply" else {})},
        }
        for action, (name, _) in brought.items()
    ]
    return {
        "type": "object",
        "properties": properties | {name: _ref(patch) for name, patch in brought.values()},
        "required": ["action"],
        "allOf": needs,
    }


def _patch(name: str) -> str:
    models = {"message": "MessagePatch", "reply": "MessagePatch", "request": "RequestPatch", "response": "ReplyPatch"}
    return models.get(name) or {"call": "CallPatch", "result": "ResultPatch"}[name]


def _by_kind(kind: str, payload: str, *, runtime: bool) -> Iterator[Schema]:
    for it in PAYLOADS:
        named = it.runtime if runtime else it.kind
        yield {
            "if": {"properties": {kind: {"const": named}}},
            "then": {"properties": {payload: _ref(it.__name__)}},
        }


def _line(method: str) -> Schema:
    """A request has an id, a notification none."""
    members: Schema = {
        "jsonrpc": {"const": "2.0"},
        "method": {"const": method},
        "params": _ref(f"{_name(method)}Params"),
    }
    if method in ASKED:
        members["id"] = {"type": "integer"}
    return {"type": "object", "properties": members, "required": [*members]}


def _method(method: str, found: Schema) -> Schema:
    params = found[f"{_name(method)}Params"]
    required = params.get("required", ())
    listed = [
        {"name": name, "required": name in required, "schema": schema}
        for name, schema in params["properties"].items()
    ]
    about: Schema = {
        "name": method,
        "summary": {**ASKED, **TOLD}[method],
        "paramStructure": "by-name",
        "params": listed,
    }
    if method in ASKED:
        about["result"] = {"name": "result", "schema": _ref(f"{_name(method)}Result")}
        about["errors"] = [*FAILURES]
    return about
