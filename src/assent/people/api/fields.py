"""The fields that operations share, and how types of requests and answers become JSON Schemas.

An answer is a TypedDict, so that handlers return plain dicts. A text in `Annotated` describes its field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Required, get_args, get_type_hints

from pydantic import AfterValidator, ConfigDict, StringConstraints, with_config
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from assent.ports import Cursor

ID = r"[A-Za-z0-9_.-]{1,64}"
NAME = r"[A-Za-z0-9_.-]{1,128}"
ACCOUNT = r"[a-z0-9][a-z0-9._@-]{0,63}"
MOST_LISTED = 1000
MOST_INDEX = 2**53 - 1

closed: Callable[[Any], Any] = with_config(ConfigDict(extra="forbid"))
"""For everything that a caller sends: unknown fields are refused."""


@closed
class NoFields(TypedDict):
    """An empty object."""


@dataclass(frozen=True)
class WholeNumber:
    """A number in a query, written without a sign that is not needed, a point or blanks."""

    least: int
    most: int
    default: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        bounded = core_schema.int_schema(ge=self.least, le=self.most)
        return core_schema.no_info_before_validator_function(_whole_number, bounded)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> JsonSchemaValue:
        return {**handler(schema), "default": self.default}


def _whole_number(given: Any) -> Any:
    """The number of a text; None, which is no number, for any other."""
    return int(given) if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,16}", given) else None


@dataclass(frozen=True)
class OneOf:
    """One of these words."""

    words: tuple[str, ...]
    default: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.literal_schema(list(self.words))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: Any) -> JsonSchemaValue:
        default = {} if self.default is None else {"default": self.default}
        return {"type": "string", "enum": list(self.words), **default}


def _cursor(given: str) -> Cursor:
    at, _, name = given.partition("~")
    return float(at), name


def cursor_text(place: Cursor) -> str:
    """A place as a cursor. The time is written so that it is read back as it was."""
    return f"{place[0]:.9f}~{place[1]}"


Limit = Annotated[int, WholeNumber(1, MOST_LISTED, 100), "How many at most."]
PlaceInList = Annotated[
    str,
    StringConstraints(pattern=rf"^[0-9]{{1,12}}\.[0-9]{{9}}~{ID}$"),
    AfterValidator(_cursor),
    "Where to go on: `next` of the page before.",
]
ToolName = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]
UpstreamName = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{1,40}$")]


class PlainSchema(GenerateJsonSchema):
    """JSON Schemas without titles, in which the texts of `Annotated` are descriptions."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        made = super().typed_dict_schema(schema)
        made.pop("title", None)
        hints = get_type_hints(schema.get("cls"), include_extras=True)
        for name, one in made.get("properties", {}).items():
            one.pop("title", None)
            if (text := _description(hints.get(name))) is not None:
                one["description"] = text
        return made

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:
        """A type or null, in one list where the type is a plain one."""
        made = super().nullable_schema(schema)
        plain = made.get("anyOf", [])
        if len(plain) == 2 and plain[1] == {"type": "null"} and isinstance(plain[0].get("type"), str):
            return {**plain[0], "type": [plain[0]["type"], "null"]}
        return made


def _description(hint: Any) -> str | None:
    """The outermost text in the annotation of a field."""
    if getattr(hint, "__origin__", None) in (NotRequired, Required):
        return _description(get_args(hint)[0])
    texts = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)]
    return texts[-1] if texts else None
