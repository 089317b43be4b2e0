"""JSON Schemas of objects as hookgate's own tools write them."""

from __future__ import annotations

from hookgate.protocol.values import Json, JsonObject


def takes(*required: str, **properties: Json) -> JsonObject:
    """Of arguments: these members and no others."""
    needed: dict[str, Json] = {"required": [*required]} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def gives(*optional: str, **properties: Json) -> JsonObject:
    """Of data: these members, of which some may be missing."""
    return {"type": "object", "properties": properties, "required": [it for it in properties if it not in optional]}
