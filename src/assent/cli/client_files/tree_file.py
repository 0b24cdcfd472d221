"""Edits TOML and YAML files through libraries that keep comments, order and quotes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any


class TreeFile:
    """A file whose parsed tree is edited and written again."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def replace(self, path: Sequence[Any], value: Any) -> None:
        self._at(path[:-1])[path[-1]] = value

    def prepend(self, path: Sequence[Any], items: Sequence[str]) -> None:
        for item in reversed(items):
            self._at(path).insert(0, item)

    def drop_first(self, path: Sequence[Any], count: int) -> None:
        for _ in range(count):
            self._at(path).pop(0)

    def add(self, path: Sequence[Any], key: str, value: Any, after: str | None = None) -> None:
        self._at(path)[key] = value

    def put_instead(self, path: Sequence[Any], key: Any, new_key: str, value: Any) -> None:
        if isinstance(key, int):
            self._at(path)[key] = value
        else:
            del self._at(path)[key]
            self._at(path)[new_key] = value

    def remove(self, path: Sequence[Any], keys: Iterable[Any]) -> None:
        for key in sorted(keys, reverse=True):
            del self._at(path)[key]

    def text(self) -> str:
        raise NotImplementedError

    def _at(self, path: Sequence[Any]) -> Any:
        node = self.data
        for key in path:
            node = node[key]
        return node


class TomlFile(TreeFile):
    """A TOML file, edited with tomlkit."""

    def __init__(self, text: str) -> None:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            super().__init__(tomlkit.parse(text))
        except TOMLKitError as error:
            raise ValueError(str(error)) from None

    def text(self) -> str:
        import tomlkit

        return tomlkit.dumps(self.data)


class YamlFile(TreeFile):
    """A YAML file, edited with ruamel.yaml; the file's own indentation is kept."""

    def __init__(self, text: str) -> None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
        from ruamel.yaml.util import load_yaml_guess_indent

        try:
            _, indent, offset = load_yaml_guess_indent(text)
            self._yaml = YAML()
            self._yaml.preserve_quotes = True
            self._yaml.width = 10_000
            self._yaml.indent(mapping=indent or 2, sequence=(indent or 2), offset=offset or 0)
            super().__init__(self._yaml.load(text))
        except YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from None

    def text(self) -> str:
        stream = io.StringIO()
        self._yaml.dump(self.data, stream)
        return stream.getvalue()
