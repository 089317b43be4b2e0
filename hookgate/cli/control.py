"""`hookgate control`: one question to a running gateway."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from hookgate.cli.printing import say_json
from hookgate.cli.running import running_for
from hookgate.config import ConfigError
from hookgate.control.client import ControlFailed, call
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import JsonObject

NO_SUCH_METHOD = -32601


def call_gateway(method: str, params: str, config_file: Path | None, control: Path | None) -> int:
    """Raises ConfigError, NothingRunning and ControlFailed."""
    try:
        given: object = decode(params)
    except BadMessage as error:
        raise ConfigError(f"the params are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ConfigError('the params must be a JSON object, for example {"session": "cli:terminal"}')
    found = running_for(method, config_file, control)
    found.tell()
    try:
        return say_json(call(found.path, method, cast("JsonObject", given)))
    except ControlFailed as error:
        if error.code != NO_SUCH_METHOD:
            raise
        about = cast("dict[str, JsonObject]", call(found.path, "gateway.about"))
        there = ", ".join(sorted(about["methods"]))
        raise ControlFailed(error.code, f"{error.message}; there is {there}") from None
