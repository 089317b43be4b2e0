"""A scripted provider's file."""

from __future__ import annotations

from pathlib import Path

import trio

from hookgate.config import ConfigError
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.providers.scripted import Script, ScriptedProvider


async def load_script(file: Path) -> ScriptedProvider:
    """Raises ConfigError where the file is missing or is no script."""
    try:
        return ScriptedProvider(Script.parse(decode(await trio.Path(file).read_bytes())))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except BadMessage as error:
        raise ConfigError(f"{file}: {error}") from None
