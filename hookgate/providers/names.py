"""Tool names and call ids as the model APIs allow them, and the way back. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import count

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import LLMRequest

LONGEST = 64
"""Characters of a tool name; what OpenAI and Anthropic both take."""

_ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The names of one request in both directions. A name that the request does not know stays as it is."""

    wire: Mapping[str, str]
    own: Mapping[str, str]

    def out(self, name: str) -> str:
        return self.wire.get(name, name)

    def back(self, name: str) -> str:
        return self.own.get(name, name)


def tool_names(request: LLMRequest) -> ToolNames:
    """For the tools offered and for those that the transcript remembers."""
    names = dict.fromkeys(spec.name for spec in request.tools)
    for message in request.messages:
        for call in message.tool_calls:
            names[call.name] = None
    return map_names(tuple(names))


@lru_cache(maxsize=64)
def map_names(distinct: tuple[str, ...]) -> ToolNames:
    """A name that is allowed stays; the others do not depend on their order, so that prompts stay cacheable."""
    plain = {name: _REFUSED.sub("_", name) for name in distinct}
    taken = Counter(plain.values())
    wire = {name: _wire(name, p, taken[p] == 1) for name, p in plain.items()}
    return ToolNames(wire, {short: name for name, short in wire.items()})


def call_id(given: str) -> str:
    """An id that every API takes, the same for a call and its result: another provider may have made it up."""
    return given if _ALLOWED.fullmatch(given) else f"call_{_digest(given)[:16]}"


class NewCallIds:
    """The ids that the model gave; `call_N` for one that is missing or that the conversation has already."""

    def __init__(self, request: LLMRequest) -> None:
        self._used = {call.id for message in request.messages for call in message.tool_calls}
        self._numbers = count(len(self._used) + 1)

    def of(self, given: str) -> str:
        """The id of one more call."""
        free = given
        while not free or free in self._used:
            free = f"call_{next(self._numbers)}"
        self._used.add(free)
        return free


def _wire(name: str, plain: str, alone: bool) -> str:
    if _ALLOWED.fullmatch(plain) and (alone or name == plain):
        return plain
    return f"{plain[: LONGEST - 9]}_{_digest(name)[:8]}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
