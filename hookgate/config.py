"""`hookgate.toml` read into the models of `sections`. The only reader of configuration and environment.

Every mistake is a ConfigError with the place in the file; nothing unknown is ever ignored.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from hookgate.mistakes import Where, mistakes
from hookgate.sections import Config
from hookgate.sections.agent import ProviderSection
from hookgate.sections.hooks import HookSection
from hookgate.sections.tools import McpSection
from hookgate.sections.zot import ZotExtension

FILE_NAME = "hookgate.toml"
BASE_ENVIRONMENT = (
    *("PATH", "HOME", "LANG", "TMPDIR", "TERM", "COLORTERM"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""All that a child process gets unless the configuration lists more: secrets do not leak by default. Addresses of
proxies and of package sources may have a password in them, so they are not among these."""

RPC_TOKEN = "ZOTCORE_RPC_TOKEN"  # noqa: S105 - the variable, not the token
_FOR_HOOKGATE_ALONE = frozenset(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", RPC_TOKEN))


USUAL_MODELS = {"openai": "gpt-5-mini", "anthropic": "claude-sonnet-4-5"}
"""By the kind of a provider, where only the provider is known."""


class ConfigError(Exception):
    """The configuration cannot be used; the text is one line that names the file and the place.

    `first` is that line, `others` are further mistakes, a line each, which the text only counts.
    """

    def __init__(self, text: str, others: tuple[str, ...] = ()) -> None:
        super().__init__(f"{text} (and {len(others)} more)" if others else text)
        self.first, self.others = text, others


class MissingKey(ConfigError):
    """A variable that should hold a key or token is not set."""


# --- reading ------------------------------------------------------------------------------------------------


def load(path: Path | None) -> tuple[Config, Path]:
    """The configuration and the file it stands in; without `path` it is `hookgate.toml` here. Raises ConfigError."""
    file = path or Path(FILE_NAME)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = "" if path else " (run `hookgate init` to write one)"
        raise ConfigError(f"{file}: there is no such file{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    return _chosen(_placed(parse(text, file), file.resolve().parent)), file.resolve()


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
    workspace = Path(config.agent.workspace).expanduser() if config.agent.workspace else Path.cwd()
    if not workspace.is_dir():
        raise ConfigError(f"agent.workspace: {workspace} is not a folder")
    return workspace.resolve()


def workspace_key(config: Config) -> str:
    """The workspace as rows of the catalog name it. Raises ConfigError."""
    return str(workspace_folder(config))


# --- the environment ----------------------------------------------------------------------------------------


def secret(name: str, place: str, otherwise: str = "") -> str | None:
    """The value of the variable that a key at `place` names, without the line's end that files of keys have; None
    without a name. Raises MissingKey where it is not set, saying what to type, or what to do `otherwise`."""
    if not name:
        return None
    value = os.environ.get(name, "").strip()
    if not value:
        raise MissingKey(f"{place}: {name} is not set: `export {name}=...`{otherwise}")
    return value


def api_key(provider: str, section: ProviderSection) -> str | None:
    """None for a provider that needs none. Raises MissingKey where it is not set."""
    otherwise = ", or choose a model of another provider (agent.model)"
    return secret(section.api_key_env, f"providers.{provider}.api_key_env", otherwise)


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


def git_environment() -> dict[str, str]:
    """What `git clone` starts from: all that is not for models, for ssh agents, proxies and credential helpers."""
    return {name: value for name, value in os.environ.items() if name not in _FOR_HOOKGATE_ALONE}


def pager() -> tuple[list[str], dict[str, str]]:
    """The words of `$PAGER`, else of less, and what it starts from: as git, and without a way to start others."""
    import shlex

    try:
        words = shlex.split(os.environ.get("PAGER") or "less")
    except ValueError:
        words = ["less"]
    return words, {**git_environment(), "LESSSECURE": "1"}


def rpc_token() -> str:
    """What a client must say at first where it is set: see `hookgate rpc`."""
    return os.environ.get(RPC_TOKEN, "")


def watched_by() -> tuple[str, float]:
    """The service manager's socket, and every how many seconds it wants to hear; empty and 0 where there is none."""
    return os.environ.get("NOTIFY_SOCKET", ""), int(os.environ.get("WATCHDOG_USEC") or 0) / 1e6


def base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}


def hook_environment(section: HookSection) -> dict[str, str]:
    """What a hook process sees: the base set, or everything, and then what its section lists."""
    inherited = dict(os.environ) if section.inherit_env else base_environment()
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**inherited, **passed, **section.env}


def server_environment(section: McpSection) -> dict[str, str]:
    """What an MCP server over stdio sees: the base set and what its section lists."""
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**base_environment(), **passed, **section.env}


def extension_variables(section: ZotExtension) -> dict[str, str]:
    """What an extension sees beside the base set: what its section passes and lists."""
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**passed, **section.env}


def withheld(names: Iterable[str], environment: Mapping[str, str]) -> frozenset[str]:
    """Those of these variables that are set here, and that a process with this environment does not see; without the
    token of `hookgate rpc`, which nothing hands on."""
    return frozenset(it for it in names if it in os.environ and it not in environment and it != RPC_TOKEN)


def named_secrets(names: Iterable[str]) -> tuple[str, ...]:
    """The values of these environment variables, where they are set: what redaction must know literally."""
    return tuple(value for name in names if (value := os.environ.get(name, "").strip()))


def state_directory() -> Path:
    """What outlives a run: `$XDG_STATE_HOME/hookgate`, else `~/.local/state/hookgate`."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "hookgate"


def history_file() -> Path:
    """What this user has typed at the terminal."""
    return state_directory() / "chat-history"


def store_file(config: Config) -> Path:
    """The SQLite file of the tool catalog and the descriptions; it need not exist."""
    return Path(config.store.path).expanduser() if config.store.path else state_directory() / "hookgate.db"


def journal_file(config: Config) -> Path:
    """The SQLite file of stored conversations; it need not exist."""
    return Path(config.store.journal).expanduser() if config.store.journal else state_directory() / "journal.db"


def conversations_folder(config: Config) -> Path:
    """Where conversations that are kept by name lie: a folder for each channel, a file for each."""
    return journal_file(config).with_suffix(".sessions")


def media_folder(config: Config) -> Path:
    """Where files that belong to messages lie."""
    return journal_file(config).with_suffix(".media")


def dynamic_folder(config: Config) -> Path:
    """Where tools that were made at run time live, a folder each."""
    return Path(config.dynamic.folder).expanduser() if config.dynamic.folder else state_directory() / "tools"


def zot_home(config: Config) -> Path:
    """Where zot keeps its things: configured, else `$ZOT_HOME`, else zot's usual folder."""
    if config.zot.home:
        return Path(config.zot.home).expanduser().absolute()
    given = os.environ.get("ZOT_HOME")
    return Path(given).absolute() if given else state_directory().with_name("zot")


def extensions_folder() -> Path:
    """Where `hookgate ext install` puts extensions: `$XDG_DATA_HOME/hookgate/extensions`."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "hookgate" / "extensions"


def terminal_type() -> str:
    """What the terminal is, as its database of them has it; `dumb` where nobody says."""
    return os.environ.get("TERM") or "dumb"


def wants_colour() -> bool:
    """Whether the person has not said otherwise, as https://no-color.org has it."""
    return not os.environ.get("NO_COLOR")


def trust_folder() -> Path:
    """Where it stands which extensions of projects may run."""
    return state_directory() / "trusted"


def learnt_folder() -> Path:
    """Where it stands what earlier runs have learnt of extensions."""
    return state_directory() / "extensions"


def skills_folder() -> Path:
    """The person's own skills: `$XDG_DATA_HOME/hookgate/skills`."""
    return extensions_folder().with_name("skills")


def runtime_directory() -> Path:
    """Where control sockets live: `$XDG_RUNTIME_DIR/hookgate`, else a folder of this user's in the temporary one."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base:
        return Path(base) / "hookgate"
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"hookgate-{os.getuid()}"  # noqa: S108 - checked before use
