"""What a conversation is opened with: a configuration, and what a caller sets above it. Opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from hookgate import config as configuration
from hookgate.config import USUAL_MODELS, ConfigError
from hookgate.embedding.reasoning import leveled
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolSpec
from hookgate.sections import Config
from hookgate.sections.agent import ProviderSection
from hookgate.sections.tools import PreferenceSection
from hookgate.skills import TOOL as SKILL

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Variables of providers that no configuration describes."""


_NO_TOOL = ("!*",)


@dataclass(frozen=True)
class Settings:
    """None or empty: as the configuration says. `config` None: no file. One alone is as good as one in a row.

    `model` is a bare name or PROVIDER/MODEL; `provider` is one of the configuration's, or openai or anthropic;
    `system_more` is added to the system prompt. `tools`: globs over built-in tools; `no_tools`: none of these, and of
    others only those that `tools` names. `extensions`: folders of zot extensions; `find_extensions`: those in the
    usual places too. `functions`: tools of the caller's own, made with `hookgate.tools.functions.typed.tool`.
    `skills`, `context_files`: True: those in the usual places, unless the configuration says no; False: none,
    whatever it says.
    """

    config: Config | Path | None = None
    provider: str = ""
    model: str = ""
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    workspace: Path | None = None
    system: str | None = None
    system_more: str | Iterable[str] = ()
    reasoning: str = ""
    max_steps: int | None = None
    tools: str | Iterable[str] | None = None
    no_tools: bool = False
    extensions: Path | str | Iterable[Path | str] = ()
    find_extensions: bool = False
    functions: Tool | Iterable[Tool] = ()
    skills: bool | None = None
    context_files: bool | None = None


class Above(TypedDict, total=False):
    """The members of Settings that stand above a configuration, for callers who name them."""

    provider: str
    model: str
    api_key: str
    base_url: str
    workspace: Path | None
    system: str | None
    system_more: str | Iterable[str]
    reasoning: str
    max_steps: int | None
    tools: str | Iterable[str] | None
    no_tools: bool
    extensions: Path | str | Iterable[Path | str]
    find_extensions: bool
    functions: Tool | Iterable[Tool]
    skills: bool | None
    context_files: bool | None


@dataclass(frozen=True)
class Opening:
    """Settings that fit together. `keys`: literal API keys by the name of their provider."""

    config: Config
    base: Path
    file: Path | None = None
    keys: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    reasoning: str = ""
    extensions: tuple[Path, ...] = ()
    find_extensions: bool = False
    functions: tuple[Tool, ...] = ()
    skills: bool | None = None
    context_files: bool | None = None

    @property
    def provider(self) -> str:
        return self.config.agent.model.partition("/")[0]

    @property
    def kind(self) -> str:
        return self.config.providers[self.provider].kind

    @property
    def model(self) -> str:
        """The bare name."""
        return self.config.agent.model.partition("/")[2]

    @property
    def workspace(self) -> Path:
        """Raises ConfigError."""
        return configuration.workspace_folder(self.config)


def settled(settings: Settings) -> Opening:
    """Raises ConfigError: no such file, no model, no key, no tool."""
    settings = replace(settings, tools=None if settings.tools is None else row(settings.tools))
    config, file = _configured(settings.config)
    base = file.parent if file is not None else Path.cwd()
    model = _model(config, settings)
    provider = model.partition("/")[0]
    section = _provider(config, settings, provider)
    keys = {provider: settings.api_key} if settings.api_key else {}
    if not keys:
        _check_key(provider, section)
    agent = config.agent.model_copy(update=_agent(config, settings, model))
    changed = {
        "agent": agent,
        "providers": {**config.providers, provider: section},
        "tools": config.tools.model_copy(update=_tools(config, settings)),
    }
    found = (_folders(settings.extensions), settings.find_extensions, _functions(settings.functions))
    more = (*found, settings.skills, settings.context_files)
    return Opening(config.model_copy(update=changed), base, file, keys, _level(settings), *more)


def _folders(given: Path | str | Iterable[Path | str]) -> tuple[Path, ...]:
    """One alone is as good as one in a row, for a str is a row of letters."""
    return tuple(Path(it) for it in ((given,) if isinstance(given, str | Path) else given))


def row(given: str | Iterable[str]) -> tuple[str, ...]:
    """A str alone is one, and an empty one is none; it is never meant as a row of letters."""
    return tuple(it for it in ((given,) if isinstance(given, str) else given) if it)


def _functions(given: Tool | Iterable[Tool]) -> tuple[Tool, ...]:
    """Raises ConfigError for what is no tool yet."""
    tools = tuple(given) if isinstance(given, Iterable) else (given,)
    for it in tools:
        if not (isinstance(getattr(it, "spec", None), ToolSpec) and hasattr(it, "execute")):
            name = getattr(it, "__name__", repr(it))
            raise ConfigError(f"functions: {name} is no tool: decorate it with hookgate.tools.functions.typed.tool")
    return tools


def _level(settings: Settings) -> str:
    try:
        return leveled(settings.reasoning)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _configured(config: object) -> tuple[Config, Path | None]:
    match config:
        case Config():
            return config, None
        case Path():
            return configuration.load(config)
        case None:
            return Config(), None
        case _:
            raise ConfigError(
                f"config: a path of a hookgate.toml or a hookgate.sections.Config, not {type(config).__name__}"
            )


def _model(config: Config, settings: Settings) -> str:
    """PROVIDER/MODEL."""
    configured, _, bare = config.agent.model.partition("/")
    model, named = settings.model, settings.provider
    if not named and "/" in model and model.partition("/")[0] in {*config.providers, *KEYS}:
        return model
    provider = named or configured or _with_a_key()
    if provider not in {*config.providers, *KEYS}:
        known = ", ".join(sorted({*config.providers, *KEYS}))
        raise ConfigError(f'unknown provider "{provider}" (known: {known})')
    model = model.removeprefix(f"{provider}/") or (bare if provider == configured else "")
    section = config.providers.get(provider)
    model = model or USUAL_MODELS.get(section.kind if section is not None else provider, "")
    if not model:
        raise ConfigError(f'no model: name one of the provider "{provider}"')
    return f"{provider}/{model}"


def _with_a_key() -> str:
    for provider, variable in KEYS.items():
        if configuration.named_secrets((variable,)):
            return provider
    raise ConfigError(f"no model and no credentials: name a provider, or set {' or '.join(KEYS.values())}")


def _provider(config: Config, settings: Settings, name: str) -> ProviderSection:
    section = config.providers.get(name)
    if section is None:
        found = configuration.named_secrets((KEYS[name],))
        # A server of one's own may want no key.
        variable = KEYS[name] if found or not settings.base_url else ""
        section = ProviderSection.model_validate({"kind": name, "api_key_env": variable})
    if not settings.base_url:
        return section
    try:
        return ProviderSection.model_validate({**section.model_dump(), "base_url": settings.base_url})
    except ValueError as error:
        raise ConfigError(f"base URL {settings.base_url!r}: it must start with http:// or https://") from error


def _check_key(name: str, section: ProviderSection) -> None:
    variable = section.api_key_env
    if variable and not configuration.named_secrets((variable,)):
        raise ConfigError(f'no credentials for provider "{name}": set {variable} or give an API key')


def _tools(config: Config, settings: Settings) -> dict[str, Any]:
    if settings.no_tools:
        named = (f"!{name}" for name in settings.tools or ())
        others = PreferenceSection(tools=("*", *named), enabled=False)
        # Skills are text of the person's or the project's: no built-in tool of this kind.
        enabled = (SKILL,) if SKILL in (settings.tools or ()) else _NO_TOOL
        return {"enabled": enabled, "preferences": (*config.tools.preferences, others)}
    return {} if settings.tools is None else {"enabled": settings.tools or _NO_TOOL}


def _agent(config: Config, settings: Settings, model: str) -> dict[str, Any]:
    system = config.agent.system if settings.system is None else settings.system
    changed: dict[str, Any] = {
        "model": model,
        "system": "\n\n".join(part for part in (system, *row(settings.system_more)) if part),
    }
    if settings.max_steps is not None:
        if settings.max_steps < 1:
            raise ConfigError(f"max_steps: a number from 1 on, not {settings.max_steps}")
        changed["max_steps"] = settings.max_steps
    if settings.workspace is not None:
        changed["workspace"] = str(settings.workspace)
    return changed
