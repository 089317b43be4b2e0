"""zot's config.json and models.json, read as zot does, but for what is wrong in them: that is left out and said.

Opens no other file, and knows nothing of hookgate.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hookgate.assembly.vendors import ALIASES
from hookgate.cli.migrate.toml import key
from hookgate.config import ConfigError
from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage

MAX_BYTES = 4 * 1024 * 1024
CONFIG, MODELS = "config.json", "models.json"
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
    input: list[str | None] = Field(default_factory=list)
    api: str = ""


class ZotProvider(Members):
    models: list[ZotModel | None] = Field(default_factory=list)


class Catalog(Members):
    """models.json. None: left out, so that the others keep their places."""

    providers: dict[str, ZotProvider | None] = Field(default_factory=dict)

    def models(self) -> Iterator[tuple[str, str, ZotModel]]:
        """Its place, zot's name of its provider, and what it is."""
        for provider, listed in self.providers.items():
            for number, model in enumerate(listed.models if listed is not None else ()):
                if model is not None:
                    place = f"{MODELS}: providers.{key(provider)}.models[{number}]"
                    yield place, ALIASES.get(provider, provider), model

    def beside_models(self) -> Iterator[tuple[str, str]]:
        """zot's name of a provider, and of a member of it that zot does not know."""
        for provider, listed in self.providers.items():
            yield from ((provider, name) for name in (listed.others if listed is not None else ()))


def read(folder: Path) -> tuple[Chosen, Catalog, tuple[str, ...]]:
    """What of both is there, and a notice for each member that is not what zot writes. Raises ConfigError."""
    if not folder.is_dir():
        what = "this is no folder" if folder.exists() else "there is no such folder"
        raise ConfigError(f"{folder}: {what}; zot's is where its config.json lies")
    files = [folder / CONFIG, folder / MODELS]
    if not any(file.exists() for file in files):
        raise ConfigError(f"{folder}: there is neither a {CONFIG} nor a {MODELS} in it")
    notices: list[str] = []
    return _taken(files[0], Chosen, notices), _taken(files[1], Catalog, notices), tuple(notices)


def _taken(file: Path, kind: type[M], notices: list[str]) -> M:
    members = _read(file) if file.exists() else {}
    while True:
        try:
            return kind.model_validate(members)
        except ValidationError as error:
            # What is wrong with one member may hide what is wrong with another.
            for mistake in error.errors(include_url=False, include_input=False):
                parts = (f"[{part}]" if isinstance(part, int) else f".{key(part)}" for part in mistake["loc"])
                why = mistake["msg"].partition(" or instance of")[0].replace("Input should be", "it must be", 1)
                notices.append(f"{file.name}: {''.join(parts)[1:]}: left out, {why}")
                _leave_out(members, mistake["loc"])


def _leave_out(members: Any, place: Sequence[int | str]) -> None:  # noqa: ANN401 - JSON
    """null is as good as absent, everywhere."""
    for part in place[:-1]:
        members = members[part]
    members[place[-1]] = None


def _read(file: Path) -> dict[str, Any]:
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
    return cast("dict[str, Any]", members)
