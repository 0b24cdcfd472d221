"""Where in a YAML text does each value stand?"""

from __future__ import annotations

from typing import Any

import yaml

from assent.errors import Fault, FaultsError

Path = tuple[Any, ...]


class Document:
    """A parsed YAML text that remembers the line of every path and refuses duplicate keys."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self._duplicates: list[Fault] = []
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
            self.value = None if node is None else self._build(node, (), frozenset())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 0
            raise FaultsError(
                Fault(f"not valid YAML: {error.problem or error.context}", file=file, line=line)
            ) from None
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise FaultsError(Fault(f"not valid YAML: {str(error).splitlines()[0]}", file=file)) from None
        if self._duplicates:
            raise FaultsError(self._duplicates)

    def locate(self, path: Path) -> tuple[str, int]:
        """File and line of a path, or of the nearest thing that encloses it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.file, self.lines.get(path, 1)

    def _build(self, node: yaml.Node, path: Path, above: frozenset[int]) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in above:
            raise ValueError("an alias refers to what encloses it")
        if len(path) > 64:
            raise ValueError("nested deeper than 64 levels")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, above | {id(node)})
        if isinstance(node, yaml.SequenceNode):
            below = above | {id(node)}
            return [self._build(item, (*path, index), below) for index, item in enumerate(node.value)]
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path, above: frozenset[int]) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                key = str(getattr(key_node, "value", key))
            line = key_node.start_mark.line + 1
            if key in built:
                first = self.lines[(*path, key)]
                self._duplicates.append(
                    Fault(
                        f"{key} is declared twice",
                        f"The first is on line {first}: keep one",
                        ".".join(map(str, path)),
                        self.file,
                        line,
                    )
                )
                continue
            self.lines[(*path, key)] = line
            built[key] = self._build(value_node, (*path, key), above)
        return built


def _scalar(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_object(node)
    finally:
        loader.dispose()
