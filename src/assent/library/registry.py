"""Registry of one server's functions and their contracts, including functions registered later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from mcp_types import ToolAnnotations

from assent.core.catalogue import Catalogue
from assent.core.tool import Tool


class Registered(Protocol):
    """A function as a framework registered it."""

    @property
    def name(self) -> str: ...
    @property
    def fn(self) -> Callable[..., Any]: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def parameters(self) -> dict[str, Any]: ...
    @property
    def output_schema(self) -> dict[str, Any] | None: ...
    @property
    def meta(self) -> dict[str, Any] | None: ...
    @property
    def annotations(self) -> ToolAnnotations | None: ...


FunctionT = TypeVar("FunctionT", bound=Registered)


@dataclass(frozen=True, slots=True)
class AuthorTool:
    """A function and its tool definition as the author registered it, before the contract's fields replaced it."""

    registered: Registered
    definition: Mapping[str, Any]

    @property
    def name(self) -> str:
        return cast("str", self.definition["name"])

    @classmethod
    def of(cls, function: Registered) -> AuthorTool:
        hints, output = function.annotations, function.output_schema
        definition = {
            "name": function.name,
            "title": function.title,
            "description": function.description,
            "inputSchema": function.parameters,
            "annotations": hints.model_dump(mode="json", by_alias=True, exclude_none=True) if hints else {},
            "_meta": function.meta or {},
        }
        return cls(function, definition | ({"outputSchema": output} if output is not None else {}))


class Compile(Protocol):
    """Compiles the contracts of a server's functions; `late` means that the server has started."""

    def __call__(self, server: str, functions: Sequence[AuthorTool], *, late: bool) -> Catalogue: ...


class ToolRegistry(Generic[FunctionT]):
    """The functions of one server. Functions registered later are added when first listed or called."""

    def __init__(self, compile_tools: Compile, stamp: Callable[[FunctionT, Tool], None]) -> None:
        self._compile, self._stamp = compile_tools, stamp
        self._server = ""
        self._registered: Callable[[], Sequence[FunctionT]] | None = None
        self._functions: dict[str, tuple[FunctionT, AuthorTool]] = {}
        self.catalogue = Catalogue()

    def bind(self, server: str, registered: Callable[[], Sequence[FunctionT]]) -> None:
        """Register the functions of this server, now and later ones."""
        self._server, self._registered = server, registered
        try:
            self.adopt()
        except Exception:
            self._registered = None
            raise

    def adopt(self, *, late: bool = False) -> None:
        """Compile the contracts of all functions, then stamp new ones. If one is wrong, nothing changes."""
        assert self._registered is not None
        functions = self._registered()
        written = [self._functions[one.name][1] if self._is_known(one) else AuthorTool.of(one) for one in functions]
        catalogue = self._compile(self._server, written, late=late)
        for function, own in zip(functions, written, strict=True):
            if not self._is_known(function):
                found = catalogue.find(function.name)
                if found is not None:
                    self._stamp(function, found)
                self._functions[function.name] = function, own
        self.catalogue = catalogue

    def adopt_new(self) -> None:
        """Register functions added since, including a replaced one with the same name."""
        if self._registered is not None and not all(self._is_known(function) for function in self._registered()):
            self.adopt(late=True)

    def _is_known(self, function: FunctionT) -> bool:
        return self.is_known(function.name, function)

    def is_known(self, name: str, function: object) -> bool:
        """Whether this is the registration that was stamped under its name."""
        known = self._functions.get(name)
        return known is not None and known[0] is function

    def is_function(self, name: str, function: object) -> bool:
        """Whether this is the stamped function of the name."""
        known = self._functions.get(name)
        return known is not None and known[0].fn is function

    def public_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema for header checks before authentication: only for tools that everyone may see."""
        tool = self.catalogue.find(name)
        if tool is None or not tool.is_public:
            return None
        if tool.visibility == "scoped" and tool.contract.permissions:
            return None
        return cast("Mapping[str, Any]", tool.definition["inputSchema"])
