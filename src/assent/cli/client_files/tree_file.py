"""Edits TOML and YAML files through libraries that keep comments, order and quotes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

_BOM = "\ufeff"


class TreeFile:
    """A file whose parsed tree is edited and written again, with the line ends and the byte order mark it had."""

    def __init__(self, text: str) -> None:
        plain = text.removeprefix(_BOM)
        self._mark = _BOM if plain != text else ""
        self._ends_in_crlf = "\n" in plain and plain.count("\n") == plain.count("\r\n")
        self.data = self._parse(plain.replace("\r\n", "\n") if self._ends_in_crlf else plain)

    def _parse(self, text: str) -> Any:
        raise NotImplementedError

    def _dump(self) -> str:
        raise NotImplementedError

    def replace(self, path: Sequence[Any], value: Any) -> None:
        self._at(path[:-1])[path[-1]] = value

    def prepend(self, path: Sequence[Any], items: Sequence[str]) -> None:
        if (shared := self._shared(path)) is not None:
            self.replace(path, [*items, *shared])
            return
        for item in reversed(items):
            self._at(path).insert(0, item)

    def drop_first(self, path: Sequence[Any], count: int) -> None:
        if (shared := self._shared(path)) is not None:
            self.replace(path, shared[count:])
            return
        for _ in range(count):
            self._at(path).pop(0)

    def _shared(self, path: Sequence[Any]) -> list[Any] | None:
        """The items of a list that has a YAML anchor: other entries may use the same list, so it is not edited."""
        found = self._at(path)
        anchor = getattr(getattr(found, "anchor", None), "value", None)
        return None if anchor is None else list(found)

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
        """The edited text."""
        text = self._dump()
        return self._mark + (text.replace("\n", "\r\n") if self._ends_in_crlf else text)

    def _at(self, path: Sequence[Any]) -> Any:
        node = self.data
        for key in path:
            node = node[key]
        return node


class TomlFile(TreeFile):
    """A TOML file, edited with tomlkit."""

    def _parse(self, text: str) -> Any:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return tomlkit.parse(text)
        except TOMLKitError as error:
            raise ValueError(str(error)) from None

    def put_instead(self, path: Sequence[Any], key: Any, new_key: str, value: Any) -> None:
        """Put another table in place of one. Lines of comment after it stay: they may be about what follows."""
        import tomlkit

        holder = self._at(path)
        lines = holder[key].as_string().splitlines() if hasattr(holder[key], "as_string") else []
        super().put_instead(path, key, new_key, value)
        after = list(takewhile(lambda line: not line.strip() or line.lstrip().startswith("#"), reversed(lines)))
        for line in reversed(after):
            comment = line.strip().removeprefix("#").strip()
            holder[new_key].add(tomlkit.comment(comment) if comment else tomlkit.nl())

    def _dump(self) -> str:
        import tomlkit

        return tomlkit.dumps(self.data)


class YamlFile(TreeFile):
    """A YAML file, edited with ruamel.yaml; the file's own indentation is kept."""

    def _parse(self, text: str) -> Any:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError
        from ruamel.yaml.util import load_yaml_guess_indent

        try:
            _, indent, offset = load_yaml_guess_indent(text)
            self._yaml = YAML()
            self._yaml.preserve_quotes = True
            self._yaml.width = 10_000
            self._yaml.indent(mapping=indent or 2, sequence=(indent or 2), offset=offset or 0)
            return self._yaml.load(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"line {mark.line + 1}: " if mark is not None else ""
            raise ValueError(f"{place}{error.problem or error.context}") from None
        except YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from None
        except RecursionError:
            raise ValueError("it nests too deeply") from None

    def drop_first(self, path: Sequence[Any], count: int) -> None:
        found = self._at(path)
        if len(found) > count or self._shared(path) is not None:
            super().drop_first(path, count)
            return
        comment = _take_last_comment(found)  # ruamel cannot write a comment inside an empty list.
        self.replace(path, [])
        _give_comment(self._at(path[:-1]), path[-1], comment)

    def put_instead(self, path: Sequence[Any], key: Any, new_key: str, value: Any) -> None:
        from ruamel.yaml.comments import CommentedMap

        holder, new = self._at(path), CommentedMap(value)
        comment = _take_last_comment(holder[key])
        if isinstance(key, int):
            holder[key] = new
        else:
            place = list(holder).index(key)
            del holder[key]
            holder.insert(place, new_key, new)
        _give_last_comment(new, comment)

    def remove(self, path: Sequence[Any], keys: Iterable[Any]) -> None:
        """Remove entries. A comment after one of them stays: it is about what follows."""
        holder = self._at(path)
        for key in sorted(keys, key=_places(holder).__getitem__, reverse=True):
            place = _places(holder)[key]
            comment = _take_last_comment(holder[key])
            if place:
                before = holder[place - 1] if isinstance(holder, list) else holder[list(holder)[place - 1]]
                _give_last_comment(before, comment)
            del holder[key]

    def _dump(self) -> str:
        stream = io.StringIO()
        self._yaml.dump(self.data, stream)
        return stream.getvalue()


def _places(holder: Any) -> dict[Any, int]:
    keys = range(len(holder)) if isinstance(holder, list) else holder
    return {key: number for number, key in enumerate(keys)}


def _last(node: Any) -> tuple[Any, Any]:
    """The innermost last entry of a tree: its container and its key. ruamel keeps the lines after a tree there."""
    holder, key = node, None
    while _is_block(node):
        holder, key = node, list(node)[-1] if isinstance(node, dict) else len(node) - 1
        node = node[key]
    return holder, key


def _is_block(node: Any) -> bool:
    """Whether a node is a container that is written over several lines and is not empty."""
    style = getattr(node, "fa", None)
    return style is not None and bool(node) and not style.flow_style()


def _take_last_comment(node: Any) -> str:
    """Take the whole lines of comment after a tree away from it."""
    holder, key = _last(node)
    if key is None:
        return ""
    found = holder.ca.items.get(key)
    token = found[0 if isinstance(holder, list) else 2] if found else None
    return token.value.partition("\n")[2] if token is not None else ""


def _give_last_comment(node: Any, lines: str) -> None:
    """Put whole lines of comment after a tree."""
    _give_comment(*_last(node), lines)


def _give_comment(holder: Any, key: Any, lines: str) -> None:
    """Put whole lines of comment after one entry of a container."""
    from ruamel.yaml.error import CommentMark
    from ruamel.yaml.tokens import CommentToken

    if key is None or not lines:
        return
    at = 0 if isinstance(holder, list) else 2
    found = holder.ca.items.setdefault(key, [None] * (2 if isinstance(holder, list) else 4))
    text = (found[at].value if found[at] is not None else "\n") + lines
    found[at] = CommentToken(text, CommentMark(0), None)
