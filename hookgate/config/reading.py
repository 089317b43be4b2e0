"""`hookgate.toml` read into the models of `sections`.

Every mistake is a ConfigError with the place in the file; nothing unknown is ever ignored.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from hookgate.config.errors import ConfigError
from hookgate.mistakes import Where, mistakes
from hookgate.sections import Config

FILE_NAME = "hookgate.toml"
NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
USUAL_MODELS = {"openai": "gpt-5-mini", "anthropic": "claude-sonnet-4-5"}
"""By the kind of a provider, where only the provider is known."""


def load(path: Path | None) -> tuple[Config, Path]:
    """The configuration and the file it stands in; without `path` it is `hookgate.toml` here. Raises ConfigError."""
    file = path or Path(FILE_NAME)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = "" if path else " (run `hookgate init` to write one)"
        raise ConfigError(f"{file}: there is no such file{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    return _chosen(_placed(parse(text, file), file.resolve().parent)), file.resolve()


@contextmanager
def _without_plugins() -> Generator[None]:
    """Of pydantic, for the models that are built inside: to find some it reads the entry points of all packages that
    are installed, which takes a thirtieth of a start."""
    before = os.environ.get(NO_PLUGINS)
    os.environ[NO_PLUGINS] = "__all__"
    try:
        yield
    finally:
        if before is None:
            del os.environ[NO_PLUGINS]
        else:
            os.environ[NO_PLUGINS] = before


def _placed(config: Config, base: Path) -> Config:
    """Paths in a file count from the file's folder, whoever reads them from where."""

    def place(path: str) -> str:
        return str(base / Path(path).expanduser()) if path else path

    dynamic = {
        "folder": place(config.dynamic.folder),
        "argv_roots": tuple(place(root) for root in config.dynamic.argv_roots),
    }
    placed = {
        "store": config.store.model_copy(
            update={"path": place(config.store.path), "journal": place(config.store.journal)}
        ),
        "dynamic": config.dynamic.model_copy(update=dynamic),
        "zot": config.zot.model_copy(update={"home": place(config.zot.home)}),
        "skills": config.skills.model_copy(update={"folders": tuple(map(place, config.skills.folders))}),
    }
    return config.model_copy(update=placed)


def parse(text: str, file: Path) -> Config:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}") from None
    try:
        named = cast("object", data.get("channels"))
        with _without_plugins():
            return Config.model_validate(
                data, context=cast("dict[str, object]", named) if isinstance(named, dict) else ()
            )
    except ValidationError as error:
        first, *others = mistakes(error, Config, _where(text))
        raise ConfigError(f"{file}: {first}", tuple(f"{file}: {other}" for other in others)) from None


def _where(text: str) -> Where:
    """Worded as `tomllib` words its own mistakes."""
    from hookgate.places import Places

    places = Places(text)

    def where(path: Sequence[int | str], key: bool) -> str:
        found = places.of(path, key=key)
        return f" (at line {found[0]}, column {found[1]})" if found else ""

    return where


def workspace_folder(config: Config) -> Path:
    """The working directory unless `agent.workspace` says otherwise. Raises ConfigError where it is no folder."""
    workspace = _workspace(config)
    if not workspace.is_dir():
        raise ConfigError(f"agent.workspace: {workspace} is not a folder")
    return workspace.resolve()


def workspace_told(config: Config) -> str:
    """What hooks are told of it, whether it is there or not."""
    return str(_workspace(config).resolve())


def _workspace(config: Config) -> Path:
    return Path(config.agent.workspace).expanduser() if config.agent.workspace else Path.cwd()


def workspace_key(config: Config) -> str:
    """The workspace as rows of the catalog name it. Raises ConfigError."""
    return str(workspace_folder(config))


# --- the model ----------------------------------------------------------------------------------------------


def _chosen(config: Config) -> Config:
    """Where agent.model says nothing: the usual model of the first vendor whose key is set."""
    if config.agent.model:
        return config
    for name, section in config.providers.items():
        if section.is_vendor and section.api_key_env and os.environ.get(section.api_key_env):
            agent = config.agent.model_copy(update={"model": f"{name}/{USUAL_MODELS[section.kind]}"})
            return config.model_copy(update={"agent": agent})
    return config


def choosing_keys(config: Config) -> list[str]:
    """The variables of which any one, once set, chooses a model where agent.model says nothing."""
    return [it.api_key_env for it in config.providers.values() if it.is_vendor and it.api_key_env]


def no_model(config: Config) -> ConfigError:
    """What is wrong where no model is named, and none can be chosen."""
    keys = choosing_keys(config)
    unset = f", nor is {' or '.join(keys)}" if keys else ""
    remedy = f'{"export a key, or write " if keys else "write "}model = "PROVIDER/MODEL" under [agent]'
    return ConfigError(
        f'agent.model is not set{unset}: {remedy}, for example "openai/gpt-5-mini" or "ollama/qwen3:4b"'
    )
