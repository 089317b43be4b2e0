"""`hookgate migrate zot`: which models zot asks, as hookgate.toml, and a notice for everything that stays behind.

Keys stay where they are: the file names the variables that they are read from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from hookgate import config as configuration
from hookgate.assembly.models import model_of, vendors_of
from hookgate.assembly.vendors import ALIASES, NOT_IN_A_NAME, VENDORS, variable_of, written
from hookgate.cli.migrate.toml import Value, key, value
from hookgate.cli.migrate.zot import CONFIG, MODELS, Catalog, Chosen, ZotModel, read
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values.reasoning import LEVELS, OFF, level_of, reasoned
from hookgate.providers.anthropic.provider import ANTHROPIC_URL
from hookgate.providers.openai.provider import OPENAI_URL
from hookgate.sections import Config

USUAL: Mapping[str, str] = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5", "kimi": "kimi-for-coding"}
"""What zot asks where it is told a provider alone."""
APIS = ("openai", "anthropic")
"""What the names of the APIs that are spoken here begin with."""
LOCAL = ("localhost", "127.0.0.1", "::1")
USUAL_URLS = {"openai": OPENAI_URL, "anthropic": ANTHROPIC_URL}
"""By the kind of a provider."""
HEADER = """\
# hookgate.toml, written by `hookgate migrate zot` from zot's config.json and models.json.
# No key is in it: each is read from the variable that is named. `hookgate init` shows what else belongs here."""


@dataclass
class Taken:
    """What becomes of it. `providers` and `models` are tables by name; `chosen` is PROVIDER/MODEL."""

    chosen: str = ""
    options: Mapping[str, Value] = field(default_factory=dict[str, Value])
    providers: dict[str, dict[str, Value]] = field(default_factory=dict[str, dict[str, Value]])
    models: dict[str, dict[str, Value]] = field(default_factory=dict[str, dict[str, Value]])
    notices: list[str] = field(default_factory=list[str])

    def provider(self, name: str, base_url: str = "", api: str = "") -> str:
        """Its name here: zot has an address for each model, hookgate for each provider."""
        vendor = VENDORS.get(name)
        kind = vendor.kind if vendor is not None else "anthropic" if api.startswith("anthropic") else "openai"
        url = _versioned(kind, base_url)
        if vendor is not None and url in ("", vendor.url or USUAL_URLS[kind]):
            base_url, url = "", vendor.url
        variable = "" if urlsplit(base_url).hostname in LOCAL else variable_of(name)
        keys = {"kind": kind, "base_url": url, "api_key_env": variable}
        table: dict[str, Value] = {each: it for each, it in keys.items() if it}
        known = NOT_IN_A_NAME.sub("-", name)
        if base_url and (name in VENDORS or self.providers.get(known, table) != table):
            known = f"{known}-{NOT_IN_A_NAME.sub('-', urlsplit(base_url).netloc)}"
        self.providers.setdefault(known, table)
        return known


def migrate_folder(folder: Path | None) -> int:
    """Prints TOML on stdout, and on stderr a notice for all that stays behind. Raises ConfigError."""
    folder = folder if folder is not None else configuration.zot_home(Config())
    chosen, catalog, wrong = read(folder)
    taken = translate(chosen, catalog)
    text = _text(taken)
    # Nothing is printed that hookgate itself would refuse.
    config = configuration.parse(text, folder)
    for notice in (*wrong, *taken.notices, *_idle(config), *_about_keys(taken.providers), *_beside(folder)):
        sys.stderr.write(f"notice: {notice}\n")
    # TOML is UTF-8, whatever the terminal's encoding is.
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
    return 0


def translate(chosen: Chosen, catalog: Catalog) -> Taken:
    taken = Taken()
    places = dict(_models(taken, catalog))
    provider = ALIASES.get(chosen.provider, chosen.provider) or _supposed(taken, chosen.model, places)
    model = chosen.model or USUAL.get(provider, "")
    if place := places.get((provider, model)):
        taken.chosen = place
    elif provider not in VENDORS:
        taken.notices.append(f"{CONFIG}: provider: left out with its model, {_unknown(provider, model)}")
    elif not model:
        asked = f'write [agent] model = "{taken.provider(provider)}/MODEL"'
        taken.notices.append(f"{CONFIG}: model: there is none, and {provider} has no usual one: {asked}")
    else:
        taken.chosen = f"{taken.provider(provider)}/{model}"
    if taken.chosen:
        kind = str(taken.providers[taken.chosen.partition("/")[0]]["kind"])
        taken.options = _options(taken, chosen.reasoning.lower(), kind)
    taken.notices.extend(_renamed(places))
    taken.notices.extend(f"{CONFIG}: {key(name)}: left out, {_why(name)}" for name in chosen.others)
    taken.notices.extend(f"{MODELS}: {key(name)}: left out, zot does not know it either" for name in catalog.others)
    taken.notices.extend(_of_provider(taken, provider, name) for provider, name in catalog.beside_models())
    return taken


def _supposed(taken: Taken, model: str, places: Mapping[tuple[str, str], str]) -> str:
    """Who is asked where config.json names no provider: who alone is known to have the model, else whom zot asks."""
    having = {provider for provider, name in places if name == model} or vendors_of(model)
    provider, why = "anthropic", "it is zot's usual one"
    if model and len(having) == 1:
        (provider,), why = having, f"it has {model}"
    taken.notices.append(f"{CONFIG}: provider: it names none, so {provider} is written: {why}")
    return provider


def _models(taken: Taken, catalog: Catalog) -> Iterator[tuple[tuple[str, str], str]]:
    """Their names here, by provider and model as zot has them; the last of a name counts."""
    idle: dict[str, None] = {}
    for place, provider, model in catalog.models():
        if why := _unable(provider, model):
            taken.notices.append(f"{place}: left out, {why}")
            continue
        if why := _unfit(model.base_url):
            taken.notices.append(f"{place}.baseUrl: left out with its model, {why}")
            continue
        name = f"{taken.provider(provider, model.base_url, model.api)}/{model.id}"
        taken.models[name] = dict(_known(model))
        # By its API a provider that is not known here is taken over.
        unread = ("name", "api") if provider in VENDORS else ("name",)
        keys = [it for it in model.others if _is_key(it)]
        taken.notices.extend(f"{place}.{key(it)}: left out, {_of_key(taken, provider)}" for it in keys)
        others = (it for it in model.others if it not in keys)
        idle.update(dict.fromkeys((*(it for it in unread if getattr(model, it)), *others)))
        yield (provider, model.id), name
    if idle:
        taken.notices.append(f"{MODELS}: {', '.join(map(key, idle))} of models: left out, nothing here reads them")


def _renamed(places: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """What scripts have to name instead: they would ask another address, or nobody."""
    models: dict[tuple[str, str], list[str]] = {}
    for (provider, model), name in places.items():
        if (here := name.partition("/")[0]) != provider:
            models.setdefault((provider, here), []).append(model)
    for (provider, here), named in models.items():
        said = f"so a script that says --provider {provider} for it has to say --provider {here}"
        yield f"{MODELS}: providers.{key(provider)}: the provider of {', '.join(named)} is {here} here, {said}"


def _unable(provider: str, model: ZotModel) -> str:
    """Why hookgate cannot ask it; empty where it can."""
    if not model.id:
        return "it has no id"
    if provider in VENDORS:
        return ""
    if not model.base_url:
        return f"hookgate does not take the provider {provider!r} over without a baseUrl of its models"
    return "" if not model.api or model.api.startswith(APIS) else f"hookgate does not speak the API {model.api!r}"


def _unknown(provider: str, model: str) -> str:
    """What to write instead."""
    asked = value(f"{NOT_IN_A_NAME.sub('-', provider)}/{model or 'MODEL'}")
    return f"hookgate does not take {provider!r} over; {written(provider)}; [agent] model = {asked}"


def _unfit(url: str) -> str:
    """Why no provider can have this address; empty where one can."""
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        usual = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usual, parts = False, urlsplit("")
    if not usual:
        return "it is no http or https address"
    return "it has a key in it" if "@" in parts.netloc or parts.query else ""


def _known(model: ZotModel) -> Iterator[tuple[str, Value]]:
    if model.context_window:
        yield "context_window", model.context_window
    if model.max_tokens:
        yield "max_output", model.max_tokens
    yield "reasoning", model.reasoning
    if model.input:
        yield "pictures", "image" in model.input
    prices = [model.price_input, model.price_output]
    if model.price_cache_read or model.price_cache_write:
        prices.append(model.price_cache_read or model.price_input)
    if model.price_cache_write:
        prices.append(model.price_cache_write)
    if any(prices):
        yield "prices", prices


def _options(taken: Taken, level: str, kind: str) -> Mapping[str, Value]:
    if level in OFF:
        return {}
    if level not in LEVELS:
        taken.notices.append(f"{CONFIG}: reasoning: left out, {level!r} is none of {', '.join(LEVELS)}")
        return {}
    return reasoned({}, kind, level)  # pyright: ignore[reportReturnType] - numbers, words and one object of them


def _idle(config: Config) -> Iterator[str]:
    """As in zot, a level is kept for the models that think."""
    model = model_of(config, config.agent.model)
    if level_of(config.agent.options) and model is not None and model.reasoning is False:
        yield f"{CONFIG}: reasoning: {model.name} does not think and is not asked to; it counts for models that do"


def _versioned(kind: str, url: str) -> str:
    """zot adds the version to an address that has none."""
    url = url.rstrip("/")
    return url if not url or kind != "openai" or url.endswith("/v1") else f"{url}/v1"


# --- what is said of it -------------------------------------------------------------------------------------


def _why(name: str) -> str:
    looks = ("theme", "inline_images_enabled", "last_changelog_shown")
    unread = "nothing here reads it; `hookgate docs configuration` has what can stand in hookgate.toml"
    return "it is about zot's own screen" if name in looks else unread


def _of_provider(taken: Taken, provider: str, name: str) -> str:
    why = _of_key(taken, ALIASES.get(provider, provider)) if _is_key(name) else "zot does not know it there either"
    return f"{MODELS}: providers.{key(provider)}.{key(name)}: left out, {why}"


def _is_key(name: str) -> bool:
    return name.lower().replace("_", "") == "apikey"


def _of_key(taken: Taken, provider: str) -> str:
    """Where to put it; never what it is."""
    variable = variable_of(provider) or f"{provider.upper()}_API_KEY"
    named = f'api_key_env = "{variable}"'
    if any(it.get("api_key_env") == variable for it in taken.providers.values()):
        return f"no key is read: put it into {variable}, which {named} of its provider names"
    # A server on this machine seldom wants one, and what names a key does not start without it.
    return f"no key is read: where it wants one, put it into {variable}, and {named} below its provider"


def _about_keys(providers: Mapping[str, Mapping[str, Value]]) -> Iterator[str]:
    """The variables, with what is not set; nobody looks into zot's auth.json."""
    for variable in dict.fromkeys(str(it["api_key_env"]) for it in providers.values() if "api_key_env" in it):
        unset = "" if configuration.named_secrets((variable,)) else ", which is not set now"
        names = ", ".join(name for name, it in providers.items() if it.get("api_key_env") == variable)
        yield f"keys stay in zot's auth.json: hookgate reads that of {names} from {variable}{unset}"


def _beside(folder: Path) -> Iterable[str]:
    if (folder / "auth.json").exists():
        yield "auth.json: not read; a login with a subscription cannot be used here"
    if (folder / "SYSTEM.md").exists():
        yield "SYSTEM.md: left out; agent.system has the system prompt here"


# --- the file -----------------------------------------------------------------------------------------------


def _text(taken: Taken) -> str:
    agent: dict[str, Value] = {"model": taken.chosen} if taken.chosen else {}
    if taken.options:
        agent["options"] = taken.options
    tables = {"agent": agent}
    tables |= {f"providers.{key(name)}": keys for name, keys in sorted(taken.providers.items())}
    tables |= {f"models.{key(name)}": keys for name, keys in sorted(taken.models.items())}
    return "\n\n".join((HEADER, *(_table(name, keys) for name, keys in tables.items()))) + "\n"


def _table(name: str, keys: Mapping[str, Value]) -> str:
    return "\n".join((f"[{name}]", *(f"{each} = {value(item)}" for each, item in keys.items())))
