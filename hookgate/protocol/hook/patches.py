"""Checked readings of the small objects that a hook sends: which members came, and that they are what they claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from hookgate.protocol.errors import BadMessage


class Patch(BaseModel):
    """Strict types, unknown members ignored; `model_fields_set` tells what was sent from what was not."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore", defer_build=True)

    def changes(self) -> dict[str, Any]:
        """Fields by name. Null is a member left out."""
        sent = ((name, getattr(self, name)) for name in self.model_fields_set)
        return {name: value for name, value in sent if value is not None}


def _tuple_of(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_tuple_of)]

M = TypeVar("M", bound=Patch)


def checked(model: type[M], members: Mapping[str, Any], where: str) -> M:
    try:
        return model.model_validate(members)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join([where, *(str(part) for part in first["loc"])])
        raise BadMessage(f"{place}: {first['msg']}") from None
