"""Assent for servers of the official SDK, and the base class that FastMCP shares."""

from __future__ import annotations

import ipaddress
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer

from assent.config.keyring import Keyring
from assent.contract.decorator import contract_of
from assent.contract.files import contract_paths, load_contracts
from assent.contract.model import Contract
from assent.contract.profiles import profile as named_profile
from assent.contract.wire import CONTRACT_KEY, dropped_hints
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.quotas import RateLimit, SpendBudget
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError, Fault
from assent.library.registry import Registered
from assent.library.sdk import AssentExtension, SdkIntegration, ServerFunctions
from assent.pipeline.effects import EffectRunner
from assent.pipeline.stop_switches import StopSwitches
from assent.ports import Guard, Ports, Store, approvals_command, no_command
from assent.stores.ids import new_id
from assent.stores.memory import MemoryStore
from assent.stores.open import open_lazily
from assent.upstreams.compiled_tools import NO_CONTRACT, UpstreamPolicy, compile_tools

logger = logging.getLogger(__name__)

Identify = Callable[[ServerRequestContext[Any, Any]], Awaitable[Principal | None] | Principal | None]
_WITHOUT = ("infer", "error", "withhold")
_HOW_TO_DECLARE = (
    "Put @contract(side_effect=...) on the function or write it into a contract file; "
    "or choose Assent(without_contract='infer') or 'withhold'"
)
LOCAL = Principal("stdio", "agent", scopes=frozenset({"*"}))


class _Edge(Protocol):
    def catalogue(self) -> Catalogue: ...


E = TypeVar("E", bound=_Edge)


class Governance(ABC, Generic[E]):
    """Governs one server in its own process; subclasses connect a framework.

    `without_contract` decides about a function without a contract: `error` (default) stops the start, `infer` serves it
    under a contract inferred from its definition and annotations, `withhold` does not serve it. `stdio` is the
    principal of
    the process that started the server. `anonymous` is the principal of an unauthenticated HTTP caller, accepted only
    from a
    loopback address and never by default. `principal` is a function that decides who calls.
    """

    def __init__(
        self,
        store: str | Store = "memory://",
        contracts: str | Path | Iterable[str | Path] | Mapping[str, Contract] = (),
        *,
        profile: str = "spec",
        mode: Literal["enforce", "observe"] = "enforce",
        without_contract: Literal["infer", "error", "withhold"] = "error",
        guards: Iterable[Guard] = (),
        limits: Iterable[RateLimit] = (),
        budgets: Iterable[SpendBudget] = (),
        stdio: Principal | None = LOCAL,
        anonymous: Principal | None = None,
        principal: Identify | None = None,
        secrets: str | Path | None = None,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        if without_contract not in _WITHOUT:
            remedy = f"Use one of {', '.join(_WITHOUT)}"
            raise ContractError(Fault(f"{without_contract!r} is not known", remedy, "without_contract"))
        self._without, self._told = without_contract, set[str]()
        self.store: Store = open_lazily(store) if isinstance(store, str) else store
        self._profile, self._secrets = named_profile(profile), secrets
        self._contracts = contracts if isinstance(contracts, Mapping) else load_contracts(contract_paths(contracts))
        self._stdio, self._anonymous, self._identify = stdio, anonymous, principal
        keyring = Keyring(Path(secrets) if secrets is not None else None)
        self.work = EffectRunner(self.store, now, keyed_hash=keyring.keyed_hash)
        self._ports = Ports(
            catalogue=self._catalogue,
            store=self.store,
            upstream=_NOT_BOUND,
            authenticate=self._authenticate,
            now=now,
            new_id=new_id,
            work=self.work,
            derive_key=keyring.derive,
            keyed_hash=keyring.keyed_hash,
            guards=tuple(guards),
            limits=tuple(limits),
            budgets=tuple(budgets),
            mode=mode,
            stops=StopSwitches(self.store).current,
            approval_command=no_command if store == "memory://" else approvals_command,
        )
        self._edge = self._make_edge()

    @abstractmethod
    def _make_edge(self) -> E: ...

    @property
    def ports(self) -> Ports:
        """The ports of this server, for `approve` and similar functions."""
        return self._ports

    async def close(self, deadline: float = 10.0) -> None:
        """Wait for running effects, then close the store."""
        await self.work.drain(deadline)
        await self.store.close()

    def _catalogue(self) -> Catalogue:
        return self._edge.catalogue()

    def _compile(self, server: str, functions: Sequence[Registered], *, late: bool) -> Catalogue:
        tools: list[Tool] = []
        withheld: dict[str, str] = {}
        faults: list[Fault] = []
        for function in functions:
            name, declared = function.name, contract_of(function.fn, function.name)
            if declared is not None and name in self._contracts:
                faults.append(Fault("both the decorator and a contract file declare it", "Keep one of them", name))
            contract = declared or self._contracts.get(name)
            if contract is not None:
                faults += self._faults(contract, function)
                definition = _definition(function)
                tools.append(compile_tool(contract, profile=self._profile, upstream=server, definition=definition))
            elif self._without == "infer":
                terms = UpstreamPolicy(server, self._profile, trust="annotations")
                taken = compile_tools([{**_definition(function), "annotations": _annotations(function)}], {}, terms)
                tools += taken.tools
                faults += [Fault(reason, "Write a contract for it", name) for reason in taken.withheld.values()]
            else:
                withheld[name] = NO_CONTRACT
        faults += [fault for tool in tools for fault in _undeclared_reads(tool.contract, withheld)]
        if self._without == "error" and not late:
            faults += [Fault(NO_CONTRACT, _HOW_TO_DECLARE, name) for name in withheld]
        if faults:
            raise ContractError(faults)
        self._log_withheld(withheld)
        return catalogue_of(tools, withheld)

    def _log_withheld(self, withheld: Mapping[str, str]) -> None:
        """Log each withheld function once."""
        level = logging.ERROR if self._without == "error" else logging.WARNING
        for name in sorted(withheld.keys() - self._told):
            logger.log(level, "%s is not served: %s. %s", name, withheld[name], _HOW_TO_DECLARE)
        self._told |= withheld.keys()

    def _faults(self, contract: Contract, function: Registered) -> list[Fault]:
        """Return faults where the contract promises something that this function cannot do in this process."""
        found, idempotency = [], contract.idempotency
        if contract.name != function.name:
            remedy = "Remove `name`, or register it under that name"
            found.append(Fault(f"it is registered as {function.name}", remedy, f"{contract.name}.name"))
        if CONTRACT_KEY not in (function.meta or {}):  # later the annotations are the derived ones
            remedy = "Remove the hint from the annotations, or correct the contract"
            dropped = dropped_hints(_annotations(function), contract, self._profile)
            found += [Fault(message, remedy, function.name) for message in dropped]
        if idempotency.recovery == "keyed":
            at, properties = f"{contract.name}.idempotency", function.parameters.get("properties", {})
            if idempotency.forward != "argument" or idempotency.argument not in properties:
                remedy = "Name a parameter of the function with `argument:` and say forward: argument"
                found.append(Fault("the function is not given the key it is to honour", remedy, f"{at}.forward"))
            if self._secrets is None and not isinstance(self.store, MemoryStore):
                remedy = "Name a directory with Assent(secrets=...)"
                found.append(Fault("the key would be another one after a restart", remedy, f"{at}.recovery"))
        return found

    async def _authenticate(self, ctx: ServerRequestContext[Any, Any] | None) -> Principal:
        if ctx is None:
            raise Refusal("authenticate.missing")
        if self._identify is not None:
            found = self._identify(ctx)
            principal = await found if isawaitable(found) else found
            if principal is None:
                raise Refusal("authenticate.invalid")
            return principal
        token = self._token()
        if token is not None:
            return _principal_of_token(token)
        if ctx.request is None:
            if self._stdio is not None:
                return self._stdio
        elif self._anonymous is not None and _is_loopback(ctx.request):
            return self._anonymous
        raise Refusal("authenticate.missing")

    def _token(self) -> AccessToken | None:
        return get_access_token()


class Assent(Governance[SdkIntegration]):
    """Contracts for one server of the official SDK.

        assent = Assent(store="sqlite:///shop.db")
        server = MCPServer("shop", extensions=[assent.extension()])

        @server.tool()
        @contract(side_effect="external_spend")
        def place_order(item: str) -> Order: ...

        assent.apply(server)

    The keywords are those of `Governance`.
    """

    def _make_edge(self) -> SdkIntegration:
        return SdkIntegration(self._ports, self._compile)

    def extension(self) -> Extension:
        """Return the extension for `MCPServer(extensions=[...])`, which governs every call."""
        return AssentExtension(self._edge)

    def apply(self, server: MCPServer[Any]) -> None:
        """Derive titles, hints, `_meta` and schemas of the server's tools, and filter its list per caller."""
        if not any(isinstance(one, AssentExtension) and one.edge is self._edge for one in server._extensions):
            raise ContractError(
                Fault(
                    "the server does not have this extension, so its calls would not be governed",
                    "Build it with MCPServer(..., extensions=[assent.extension()])",
                )
            )
        self._edge.apply(server)


_NOT_BOUND: Any = ServerFunctions


def _definition(function: Registered) -> dict[str, Any]:
    """Return a function as a tool definition, without the fields derived from its contract."""
    definition = {
        "name": function.name,
        "description": function.description,
        "inputSchema": function.parameters,
        "_meta": function.meta or {},
    }
    return definition | ({"outputSchema": function.output_schema} if function.output_schema is not None else {})


def _annotations(function: Registered) -> dict[str, Any]:
    said = function.annotations
    return said.model_dump(mode="json", by_alias=True, exclude_none=True) if said is not None else {}


def _undeclared_reads(contract: Contract, withheld: Mapping[str, str]) -> list[Fault]:
    """Return faults for read tools without a contract, because a tool called for another call must be a read."""
    named = {"estimate": contract.estimate, "idempotency.lookup": contract.idempotency.lookup}
    return [
        Fault(f"{part.tool} has no contract", "Declare it with side_effect: read", f"{contract.name}.{field}.tool")
        for field, part in named.items()
        if part is not None and part.tool in withheld
    ]


def _principal_of_token(token: AccessToken) -> Principal:
    """Return the principal of a token that the SDK verified: an agent, for itself or for its subject."""
    claims = token.claims or {}
    client, issuer, subject = principal_components(token)
    auth_time = claims.get("auth_time")
    return Principal(
        id=_principal_id(issuer, subject, client),
        kind="agent",
        tenant=str(claims.get("tenant", "local")),
        scopes=frozenset(token.scopes),
        acr=str(claims["acr"]) if "acr" in claims else None,
        auth_time=float(auth_time) if isinstance(auth_time, int | float) else None,
        bearer=True,
    )


def _principal_id(issuer: str | None, subject: str | None, client: str | None) -> str:
    """Return one id per caller, so that a client acting for itself is not mixed up with a person of the same name."""
    who = ("subject", subject) if subject else ("client", client or "")
    parts = (("issuer", issuer), who) if issuer else (who,)
    return " ".join(f"{kind}={quote(part or '', safe=':/@')}" for kind, part in parts)


def _is_loopback(request: Any) -> bool:
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except (AttributeError, ValueError):
        return False
