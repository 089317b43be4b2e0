"""Requests of Discord's API judged by its published description: every member known, of its type, none missing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

SPEC = json.loads((Path(__file__).parent / "discord_api.json").read_text())
PATHS = {name: re.compile(re.sub(r"\\\{[a-z_]+\\\}", "([^/]+)", re.escape(name))) for name in SPEC["requests"]}


def operation(method: str, path: str) -> tuple[str, tuple[str, ...]]:
    """Its name in the description, and the ids in its path; empty: there is none."""
    for name, pattern in PATHS.items():
        if found := pattern.fullmatch(f"{method} {path}"):
            return name, found.groups()
    return "", ()


def problems(name: str, body: object, query: Mapping[str, str]) -> list[str]:
    """What is wrong with a request; nothing, where it is as described."""
    told = SPEC["requests"][name]
    wrong = [f"{name}: no parameter {it}" for it in query if it not in told["query"]]
    if told["body"] is None:
        return [*wrong, f"{name}: it takes no body"] if body is not None else wrong
    return wrong + [f"{name}: {it.message} at {list(it.instance_path)}" for it in _validator(name).iter_errors(body)]


@cache
def _validator(name: str) -> Any:
    return jsonschema_rs.validator_for({**SPEC["requests"][name]["body"], "$defs": SPEC["schemas"]})
