"""Reads an OpenAPI document from JSON or YAML text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import yaml

from assent.errors import Fault, FaultsError

MOST_CHARACTERS = 64 * 1024 * 1024
MOST_VALUES = 2_000_000
DEEPEST = 100
_SAFE_INTEGER = 2**53 - 1
_VERSION = re.compile(r"3\.[01](\.[0-9]+)?(-.*)?\Z")


class DocumentError(FaultsError):
    """An API description that cannot be used."""


def parse_text(text: str, file: str = "") -> Any:
    """The plain JSON value of a JSON or YAML text; raises DocumentError if two readers could read it differently."""
    if len(text) > MOST_CHARACTERS:
        raise DocumentError(Fault(f"longer than {MOST_CHARACTERS} characters", "Split the document", file=file))
    text = text.removeprefix("\ufeff")
    try:
        value = _from_json(text) if text.lstrip()[:1] in ("{", "[") else _from_yaml(text)
        return _PlainCopier().value(value, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        raise DocumentError(Fault(f"not valid YAML: {error.problem or error.context}", file=file, line=line)) from None
    except json.JSONDecodeError as error:
        raise DocumentError(Fault(f"not valid JSON: {error.msg}", file=file, line=error.lineno)) from None
    except RecursionError:
        raise DocumentError(Fault(f"nested deeper than {DEEPEST} levels", "Flatten it", file=file)) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise DocumentError(Fault(str(error).splitlines()[0][:300], file=file)) from None


def check_root(value: Any, file: str = "") -> dict[str, Any]:
    """Check that a document is OpenAPI 3.0 or 3.1, and return it."""
    if not isinstance(value, dict):
        raise DocumentError(
            Fault("not an OpenAPI document: it is not an object", "Use the API's description", file=file)
        )
    if "swagger" in value:
        remedy = "Convert it to OpenAPI 3.0 or 3.1 first"
        raise DocumentError(Fault(f"a Swagger {value['swagger']} document", remedy, "swagger", file))
    version = str(value.get("openapi", ""))
    if not _VERSION.match(version):
        problem = f"the version is {version[:40]!r}" if version else "there is no `openapi` version"
        raise DocumentError(Fault(f"not an OpenAPI document: {problem}", "Use OpenAPI 3.0 or 3.1", "openapi", file))
    if not isinstance(value.get("paths", {}), dict):
        raise DocumentError(Fault("`paths` must be an object", "", "paths", file))
    return value


def _from_json(text: str) -> Any:
    def refuse(word: str) -> Any:
        raise ValueError(f"not valid JSON: {word} is not a number")

    return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=refuse)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} appears twice in one object; keep one")
    return found


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML with JSON's types only: no dates, no `yes` and `no`, no base-60 numbers."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own shape

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} appears twice", problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _form, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)\Z", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)\Z", "-+0123456789"),
    ("merge", r"<<\Z", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_form), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))


def _from_yaml(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)


class _PlainCopier:
    """Copies a parsed value into plain JSON without shared parts, and counts its values.

    YAML aliases can make a small text an enormous or endless value, so values are counted while copying.
    """

    def __init__(self) -> None:
        self.left = MOST_VALUES

    def value(self, given: Any, path: Sequence[str]) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"it has more than {MOST_VALUES} values")
        if isinstance(given, str):
            return given
        if isinstance(given, dict):
            return self._object(given, path)
        if isinstance(given, list):
            self._check_depth(path)
            below = (*path, "")
            return [self.value(item, below) for item in given]
        return _scalar(given, path)

    def _object(self, given: dict[Any, Any], path: Sequence[str]) -> dict[str, Any]:
        self._check_depth(path)
        made: dict[str, Any] = {}
        for key, item in given.items():
            name = key if isinstance(key, str) else _key(key)
            if name in made:
                raise ValueError(f"the key {name[:80]!r} appears twice in one object; keep one")
            made[name] = self.value(item, (*path, name))
        return made

    def _check_depth(self, path: Sequence[str]) -> None:
        if len(path) > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels, below {'/'.join(path[:4])}")


def _scalar(given: Any, path: Sequence[str]) -> Any:
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, int):
        # Limits of 64-bit integers are common and have no canonical form as integers.
        return given if -_SAFE_INTEGER <= given <= _SAFE_INTEGER else float(given)
    if isinstance(given, float) and math.isfinite(given):
        return given
    raise ValueError(f"{'/'.join(path)}: {str(given)[:40]!r} is not a JSON value")


def _key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, int | float):
        return str(key)
    raise ValueError("a key is not text")
