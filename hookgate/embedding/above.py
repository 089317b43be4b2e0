"""What a caller sets above a configuration, as the one value that a run is told. Opens nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict, Unpack

from hookgate import config as configuration
from hookgate.assembly.settings import ExtensionFlags, Settings
from hookgate.assembly.vendors import ALIASES, VENDORS, written
from hookgate.config import USUAL_MODELS, ConfigError
from hookgate.mistakes import close
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import ToolSpec
from hookgate.protocol.values.reasoning import leveled
from hookgate.sections import Config
from hookgate.sections.agent import ProviderSection
from hookgate.sections.section import NONE
from hookgate.sections.tools import PreferenceSection
from hookgate.skills import TOOL as SKILL


class Above(TypedDict, total=False):
    """What is not named, None or empty: as the configuration says. One alone is as good as one in a row.

    `model` is a bare name or PROVIDER/MODEL; `provider` is one of the configuration's, or of the `VENDORS`;
    `system_more` is added to the system prompt. `tools`: globs over built-in tools; `no_tools`: none of these, and of
    others only those that `tools` names. `extensions`: folders of zot extensions; `find_extensions`: those in the
    usual places too. `functions`: tools of the caller's own, made with `hookgate.tools.functions.typed.tool`.
    `skills`, `context_files`: True: those in the usual places, unless the configuration says no; False: none,
    whatever it says.
    """

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


def check_names(given: Iterable[str]) -> None:
    """Raises TypeError for one that Above has not: passed over, a mistyped `no_tools` would leave all of them."""
    known = Above.__annotations__
    for name in given:
        if name not in known:
            raise TypeError(f"Runtime has no keyword argument {name!r}{close(name, known)}")


def settled(given: Config | Path | None, **above: Unpack[Above]) -> Settings:
    """`given` None: no file. Raises ConfigError: no such file, no model, no key, no tool."""
    config, file = _configured(given)
    model = _model(config, above.get("model", ""), above.get("provider", ""))
    provider = model.partition("/")[0]
    section = _provider(config, provider, above.get("base_url", ""))
    keys = {provider: key} if (key := above.get("api_key")) else {}
    if not keys:
        _check_key(provider, section)
    changed = {
        "agent": config.agent.model_copy(update={"model": model, **_agent(config, above)}),
        "providers": {**config.providers, provider: section},
        "tools": config.tools.model_copy(update=_tools(config, above)),
    }
    return Settings(
        config.model_copy(update=changed),
        file.parent if file is not None else Path.cwd(),
        file,
        keys,
        _level(above.get("reasoning")),
        _extensions(above.get("extensions", ()), find=above.get("find_extensions", False)),
        _functions(above.get("functions", ())),
        above.get("skills"),
        above.get("context_files"),
    )


def _extensions(given: Path | str | Iterable[Path | str], *, find: bool) -> ExtensionFlags | None:
    # One alone is as good as one in a row, for a str is a row of letters.
    named = tuple(Path(it) for it in ((given,) if isinstance(given, str | Path) else given))
    # There is nobody to ask: what a program looks for, it wants.
    return ExtensionFlags(named, find, find, trusting=True) if find or named else None


def row(given: str | Iterable[str]) -> tuple[str, ...]:
    """A str alone is one, and an empty one is none; it is never meant as a row of letters."""
    return tuple(it for it in ((given,) if isinstance(given, str) else given) if it)


def _functions(given: Tool | Iterable[Tool]) -> tuple[Tool, ...]:
    """Raises ConfigError for what is no tool yet."""
    tools = tuple(given) if isinstance(given, Iterable) else (given,)
    for it in tools:
        if not (isinstance(getattr(it, "spec", None), ToolSpec) and hasattr(it, "execute")):
            name = getattr(it, "__name__", repr(it))
            raise ConfigError(f"functions: {name} is no tool: decorate it with hookgate.embedding.tool")
    return tools


def _level(reasoning: str | None) -> str | None:
    try:
        return leveled(reasoning) if reasoning else None
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


def _model(config: Config, model: str, named: str) -> str:
    """PROVIDER/MODEL."""
    configured, _, bare = config.agent.model.partition("/")
    all_known = {*config.providers, *VENDORS}
    if not named and "/" in model and model.partition("/")[0] in all_known:
        return model
    provider = named or configured or _with_a_key()
    provider = provider if provider in config.providers else ALIASES.get(provider, provider)
    if provider not in all_known:
        known = ", ".join(sorted(all_known))
        raise ConfigError(f'unknown provider "{provider}" (known: {known}); {written(provider)} in hookgate.toml')
    model = model.removeprefix(f"{provider}/") or (bare if provider == configured else "")
    section = config.providers.get(provider)
    model = model or (USUAL_MODELS.get(section.kind, "") if section is not None else VENDORS[provider].usual)
    if not model:
        raise ConfigError(f'no model: name one of the provider "{provider}"')
    return f"{provider}/{model}"


def _with_a_key() -> str:
    keys = {provider: vendor.variable for provider, vendor in VENDORS.items() if vendor.variable}
    for provider, variable in keys.items():
        if configuration.named_secrets((variable,)):
            return provider
    raise ConfigError(f"no model and no credentials: name a provider, or set {' or '.join(keys.values())}")


def _provider(config: Config, name: str, base_url: str) -> ProviderSection:
    section = config.providers.get(name)
    if section is None:
        vendor = VENDORS[name]
        # A server of one's own may want no key.
        section = vendor.section(keyed=not base_url or bool(configuration.named_secrets((vendor.variable,))))
    if not base_url:
        return section
    try:
        return ProviderSection.model_validate({**section.model_dump(), "base_url": base_url})
    except ValueError as error:
        raise ConfigError(f"base URL {base_url!r}: it must start with http:// or https://") from error


def _check_key(name: str, section: ProviderSection) -> None:
    variable = section.api_key_env
    if variable and not configuration.named_secrets((variable,)):
        raise ConfigError(f'no credentials for provider "{name}": set {variable} or give an API key')


def _tools(config: Config, above: Above) -> dict[str, Any]:
    given = above.get("tools")
    named = None if given is None else row(given)
    if above.get("no_tools"):
        others = PreferenceSection(tools=("*", *(f"!{name}" for name in named or ())), enabled=False)
        # Skills are text of the person's or the project's: no built-in tool of this kind.
        enabled = (SKILL,) if SKILL in (named or ()) else NONE
        return {"enabled": enabled, "preferences": (*config.tools.preferences, others)}
    return {} if named is None else {"enabled": named or NONE}


def _agent(config: Config, above: Above) -> dict[str, Any]:
    given, steps, workspace = above.get("system"), above.get("max_steps"), above.get("workspace")
    system = config.agent.system if given is None else given
    changed: dict[str, Any] = {
        "system": "\n\n".join(part for part in (system, *row(above.get("system_more", ()))) if part),
    }
    if steps is not None:
        if steps < 1:
            raise ConfigError(f"max_steps: a number from 1 on, not {steps}")
        changed["max_steps"] = steps
    if workspace is not None:
        changed["workspace"] = str(workspace)
    return changed
