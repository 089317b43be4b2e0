"""zot's config.json and models.json, read as zot does; opens no other file, and knows nothing of hookgate.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hookgate.cli.migrate.toml import key
from hookgate.config import ConfigError
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage

MAX_BYTES = 4 * 1024 * 1024
CONFIG, MODELS = "config.json", "models.json"
ALIASES: Mapping[str, str] = {
    "openai-codex": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "moonshot": "kimi",
    "moonshot-ai": "kimi",
    "kimi-code": "kimi",
}
"""zot's other names of its providers."""

M = TypeVar("M", bound="Members")
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0)]


class Members(BaseModel):
    """An object of zot's; null is as good as absent, and what zot does not know stands in `model_extra`."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, members: object) -> object:
        if not isinstance(members, dict):
            return members
        return {name: it for name, it in cast("dict[str, Any]", members).items() if it is not None}

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(self.model_extra or ())


class Chosen(Members):
    """config.json; empty where it says nothing."""

    provider: str = ""
    model: str = ""
    reasoning: str = ""


class ZotModel(Members):
    """US dollars for a million tokens; 0: zot knows better, or nobody does."""

    id: str = ""
    name: str = ""
    reasoning: bool = False
    context_window: Tokens = Field(0, alias="contextWindow")
    max_tokens: Tokens = Field(0, alias="maxTokens")
    price_input: Dollars = Field(0.0, alias="priceInput")
    price_output: Dollars = Field(0.0, alias="priceOutput")
    price_cache_read: Dollars = Field(0.0, alias="priceCacheRead")
    price_cache_write: Dollars = Field(0.0, alias="priceCacheWrite")
    base_url: str = Field("", alias="baseUrl")
    input: list[str] = Field(default_factory=list)
    api: str = ""


class ZotProvider(Members):
    models: list[ZotModel] = Field(default_factory=list)


class Catalog(Members):
    """models.json."""

    providers: dict[str, ZotProvider] = Field(default_factory=dict)

    def models(self) -> Iterator[tuple[str, str, ZotModel]]:
        """Its place, zot's name of its provider, and what it is."""
        for provider, listed in self.providers.items():
            for number, model in enumerate(listed.models):
                place = f"{MODELS}: providers.{key(provider)}.models[{number}]"
                yield place, ALIASES.get(provider, provider), model


def read(folder: Path) -> tuple[Chosen, Catalog]:
    """What of both is there. Raises ConfigError."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder; zot's is where its config.json lies")
    files = [folder / CONFIG, folder / MODELS]
    if not any(file.exists() for file in files):
        raise ConfigError(f"{folder}: there is neither a {CONFIG} nor a {MODELS} in it")
    return _read(files[0], Chosen), _read(files[1], Catalog)


def _read(file: Path, kind: type[M]) -> M:
    if not file.exists():
        return kind()
    try:
        if not file.is_file():
            raise ConfigError(f"{file}: is no file")
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{file}: is over {MAX_BYTES} bytes, more than zot would have written")
        members = decode(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    except BadMessage as error:
        raise ConfigError(f"{file}: is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise ConfigError(f"{file}: must hold a JSON object")
    try:
        return kind.model_validate(members)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(key(str(part)) for part in first["loc"])
        raise ConfigError(f"{file}: {where}: {first['msg']}") from None
