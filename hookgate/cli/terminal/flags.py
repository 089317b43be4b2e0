"""The command line of `hookgate chat`, read: what is run, and what only a chat at a terminal has."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

from hookgate import config as configuration
from hookgate.assembly.models import named_model
from hookgate.assembly.settings import NOTHING, ExtensionFlags, KeptConversation, Settings
from hookgate.config import ConfigError
from hookgate.extensions.trust import Trust
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections import Config


@dataclass(frozen=True)
class Flags:
    once: str | None = None
    trace: bool = False
    events: Path | None = None
    control: Path | None = None
    yes_from_stdin: bool = False
    plain: bool = False
    keep: KeptConversation = NOTHING
    yes: bool = False
    fail_on_denial: bool = False


class Above(TypedDict, total=False):
    """What is said above the configuration, by the names of its options."""

    model: str
    ext: tuple[Path, ...]
    no_ext: bool
    no_skill: bool
    no_context_files: bool
    diff: bool


def settled(config_file: Path | None, **above: Unpack[Above]) -> Settings:
    """Raises ConfigError."""
    config, file = configuration.load(config_file)
    trust = Trust(configuration.trust_folder())
    search = not above.get("no_ext", False)
    return Settings(
        _with_model(config, above.get("model", "")),
        file.parent,
        config_file,
        extensions=ExtensionFlags(above.get("ext", ()), search=search, discover=True, trust=trust),
        skills=not above.get("no_skill", False),
        context_files=not above.get("no_context_files", False),
        recording=above.get("diff", False),
    )


def _with_model(config: Config, name: str) -> Config:
    """This one instead of its own; as it is without a name."""
    if not name:
        return config
    try:
        model = named_model(config, name, config.agent.model)
    except ValueError as error:
        raise ConfigError(f"--model: {error}") from None
    return config.model_copy(update={"agent": config.agent.model_copy(update={"model": model})})
