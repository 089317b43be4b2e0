"""A function's parameters as a pydantic model: the schema that a model is shown, arguments to values and back.

Imported when the first typed tool is made, and not before: pydantic costs a start a lot. Runs no function.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, SchemaError, ValidationError

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject
from hookgate.tools.errors import BadSpec
from hookgate.tools.schema.clean import cleaned, closed, nodes, open_objects
from hookgate.tools.schema.places import never_null, null_if_left_out, without_nulls

# Of fields, so that a parameter may have the name of something that every model has (`schema`, `copy`).
_PREFIX = "a_"
_CONFIG = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)
_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_UNFIT: Mapping[str, str] = {
    "uniqueItems": "a set has no order, so the same call would not always look the same; take a list",
    "writeOnly": "a secret is not itself any more once it is JSON; take a string",
}


class Untitled(GenerateJsonSchema):
    """Without a title for every member, which would only repeat its name."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Parameters:
    """`schema` is what a model is shown, `raw` what pydantic says, `names` the parameters by their fields. `shut`:
    no object may have members that it does not name. `nulls`: some default is null."""

    schema: JsonObject
    raw: JsonObject
    model: type[BaseModel]
    names: Mapping[str, str]
    shut: bool
    nulls: bool

    def canonical(self, arguments: JsonObject) -> dict[str, Json]:
        """The arguments in JSON as they are meant, defaults filled in; what comes out comes out again as it is.

        A default of null is left out, as the schema leaves out that null may be written. Raises ValidationError.
        """
        dump = self.model.__pydantic_serializer__.to_python
        written: dict[str, Json] = dump(self._valid(arguments), mode="json", by_alias=True, round_trip=True)
        if not self.nulls:
            return written
        return cast("dict[str, Json]", without_nulls(written, self.raw, self.raw, null_if_left_out))

    def values(self, arguments: JsonObject) -> dict[str, object]:
        """What the function is called with. Raises ValidationError."""
        valid = self._valid(arguments)
        return {name: getattr(valid, field) for field, name in self.names.items()}

    def _valid(self, arguments: JsonObject) -> BaseModel:
        # Said here, it counts for the models inside as well, which else drop in silence what they do not know.
        extra: Literal["forbid"] | None = "forbid" if self.shut else None
        read = self.model.__pydantic_validator__.validate_python
        try:
            return read(arguments, extra=extra)
        except ValidationError:
            fewer = cast("JsonObject", without_nulls(dict(arguments), self.raw, self.raw, never_null))
            if fewer == arguments:
                raise
        return read(fewer, extra=extra)


def parameters(function: Callable[..., object], name: str) -> Parameters:
    """Raises BadSpec where the signature cannot be one of a tool."""
    with explained(name):
        fields = dict(_fields(function))
        model: type[BaseModel] = create_model(
            name, __config__=_CONFIG, __module__=getattr(function, "__module__", __name__), **fields
        )
        raw = cast("dict[str, Json]", model.model_json_schema(schema_generator=Untitled))
        _try_defaults(fields)
    for keyword, reason in _UNFIT.items():
        if _has(raw, keyword):
            raise BadSpec(f"{name}: {reason}")
    shut = not open_objects(raw)
    names = {field: field.removeprefix(_PREFIX) for field in fields}
    nulls = any(null_if_left_out(node, raw) for node in nodes(raw))
    return Parameters(cleaned(closed(raw) if shut else raw), raw, model, names, shut, nulls)


@contextmanager
def explained(name: str) -> Generator[None]:
    """What pydantic or Python say of an annotation, as BadSpec; also what they only warn of."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except NameError as error:
        raise BadSpec(f"{name}: {error}; what an annotation names must stand at the top of its module") from None
    except (PydanticUserError, PydanticSerializationError, SchemaError, TypeError, UserWarning) as error:
        raise BadSpec(f"{name}: {str(error).splitlines()[0]}") from None


def _fields(function: Callable[..., object]) -> Iterator[tuple[str, Any]]:
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind not in _KINDS:
            raise TypeError(f"the parameter {parameter.name} cannot be given by its name")
        if parameter.annotation is parameter.empty:
            raise TypeError(f"the parameter {parameter.name} has no type")
        yield _PREFIX + parameter.name, _field(parameter)


def _field(parameter: inspect.Parameter) -> tuple[object, object]:
    if parameter.default is parameter.empty:
        return parameter.annotation, Field(alias=parameter.name)
    if isinstance(parameter.default, FieldInfo):
        return Annotated[parameter.annotation, parameter.default], Field(alias=parameter.name)
    return parameter.annotation, Field(default=parameter.default, alias=parameter.name)


def _try_defaults(fields: Mapping[str, Any]) -> None:
    """Else a default that does not fit would fail every call that leaves it out."""
    model = create_model("Defaults", __config__=_CONFIG, **fields)
    given = {it.alias: None for it in model.model_fields.values() if it.is_required()}
    try:
        model.model_validate(given)
    except ValidationError as error:
        unfit = [it for it in error.errors() if it["loc"][0] not in given]
        if unfit:
            name = str(unfit[0]["loc"][0]).removeprefix(_PREFIX)
            raise TypeError(f"the default of {name} does not fit: {unfit[0]['msg']}") from None


def _has(schema: Json, keyword: str) -> bool:
    """Whether some schema in it uses the keyword; a member of that name is none."""
    return any(keyword in node for node in nodes(schema))
