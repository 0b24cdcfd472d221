"""Keeps the functions of one server under their contracts, those registered later too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

from mcp_types import ToolAnnotations

from assent.core.catalogue import Catalogue, is_public
from assent.core.tool import Tool


class Registered(Protocol):
    """A function as a framework has registered it."""

    @property
    def name(self) -> str: ...
    @property
    def fn(self) -> Callable[..., Any]: ...
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


One = TypeVar("One", bound=Registered)


class Compile(Protocol):
    """Puts the functions of a server under contract; `late` says that the server has started already."""

    def __call__(self, server: str, functions: Sequence[Any], *, late: bool) -> Catalogue: ...


class ToolRegistry(Generic[One]):
    """The functions of one server; what is registered later is adopted when it is first listed or called."""

    def __init__(self, compile_tools: Compile, stamp: Callable[[One, Tool], None]) -> None:
        self._compile, self._stamp = compile_tools, stamp
        self._server = ""
        self._registered: Callable[[], Sequence[One]] | None = None
        self._known: dict[str, One] = {}
        self.catalogue = Catalogue()

    @property
    def is_bound(self) -> bool:
        return self._registered is not None

    def bind(self, server: str, registered: Callable[[], Sequence[One]]) -> None:
        """Adopt the functions of this server, now and as they come."""
        self._server, self._registered = server, registered
        try:
            self.adopt()
        except Exception:
            self._registered = None
            raise

    def adopt(self, *, late: bool = False) -> None:
        """Compile the contracts of all functions there are, then stamp what is new. Nothing changes if one is wrong."""
        assert self._registered is not None
        functions = self._registered()
        catalogue = self._compile(self._server, functions, late=late)
        for one in functions:
            if self._known.get(one.name) is not one:
                found = catalogue.find(one.name)
                if found is not None:
                    self._stamp(one, found)
                self._known[one.name] = one
        self.catalogue = catalogue

    def adopt_new(self) -> None:
        """Adopt what was registered since, be it under a name that another one had."""
        if self._registered is not None and any(self._known.get(one.name) is not one for one in self._registered()):
            self.adopt(late=True)

    def is_known(self, name: str, one: object) -> bool:
        """Whether this is the registration that was stamped under its name."""
        return self._known.get(name) is one

    def is_function(self, name: str, function: object) -> bool:
        """Whether this is what runs under the name, as it was stamped."""
        known = self._known.get(name)
        return known is not None and known.fn is function

    def public_schema(self, name: str) -> Mapping[str, Any] | None:
        """What header checks may know before anybody is authenticated: only what everybody may see."""
        tool = self.catalogue.find(name)
        if tool is None or not is_public(tool):
            return None
        if tool.visibility == "scoped" and tool.contract.permissions:
            return None
        return cast("Mapping[str, Any]", tool.definition["inputSchema"])
