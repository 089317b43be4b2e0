"""A scripted provider's file."""

from __future__ import annotations

from pathlib import Path

import trio
from pydantic import ValidationError

from hookgate.config import ConfigError
from hookgate.mistakes import mistakes
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.providers.scripted import Script, ScriptedProvider


async def load_script(file: Path) -> ScriptedProvider:
    """Raises ConfigError where the file is missing or is no script."""
    return ScriptedProvider(await trio.to_thread.run_sync(read_script, file))


def read_script(file: Path) -> Script:
    """Blocks a little. Raises ConfigError."""
    try:
        return Script.parse(decode(file.read_bytes()))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except BadMessage as error:
        raise ConfigError(f"{file}: {_plain(error)}") from None


def _plain(error: BadMessage) -> str:
    cause = error.__cause__
    return "; ".join(mistakes(cause, Script)) if isinstance(cause, ValidationError) else str(error)
