"""Assent for servers of the official SDK, and the base class that FastMCP shares."""

from __future__ import annotations

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
from pydantic import BaseModel, ValidationError

from assent.config.notify import NotifySettings
from assent.config.rules import load_engine, policy_faults
from assent.contract.binding import ContractLookup
from assent.contract.contradictions import incomplete, unsendable_keys
from assent.contract.decorator import contract_of
from assent.contract.files import contract_paths, load_written
from assent.contract.model import Contract
from assent.contract.parts import parse_duration
from assent.contract.profiles import Completeness, HistoricNames
from assent.contract.profiles import profile as named_profile
from assent.contract.wire import dropped_hints, with_author_hints
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.contract_names import never_rehearsed, unknown_names
from assent.core.default_step_up import DefaultStepUp
from assent.core.identity_claims import further_claims, group_names
from assent.core.ids import new_id
from assent.core.keyring import Keyring
from assent.core.outcome import Refusal
from assent.core.principal import Principal, mode_of
from assent.core.quotas import RateLimit, SpendBudget, budgets_never_spent
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError, Fault, SettingsError
from assent.features import load_feature
from assent.library.registry import AuthorTool
from assent.library.sdk import AssentExtension, SdkIntegration
from assent.mcp.confirmation import ConfirmationCodec
from assent.mcp.request_state import RequestStateCodec
from assent.pipeline.effects import EffectRunner
from assent.pipeline.ports_factory import make_ports
from assent.ports import Flow, Ports, Rules, Store, assent_command, no_command
from assent.rules.guards import GuardRule, build_guard
from assent.stores.memory import MemoryStore
from assent.stores.open import open_lazily, store_command
from assent.upstreams.compiled_tools import NO_CONTRACT, UpstreamPolicy, compile_tools
from assent.web.asgi import App
from assent.web.http import is_loopback

logger = logging.getLogger(__name__)

Identify = Callable[[ServerRequestContext[Any, Any]], Awaitable[Principal | None] | Principal | None]
_HOW_TO_DECLARE = (
    "Put @contract(side_effect=...) on the function or write it into a contract file; "
    "or choose Assent(without_contract='infer') or 'withhold'"
)
LOCAL = Principal("stdio", "agent", scopes=frozenset({"*"}), method="stdio")


class _Edge(Protocol):
    def catalogue(self) -> Catalogue: ...


E = TypeVar("E", bound=_Edge)
Q = TypeVar("Q", bound=BaseModel)


class Governance(ABC, Generic[E]):
    """Governs one server in its own process; subclasses connect a framework.

    `without_contract` decides about a function without a contract: `error` (default) stops the start, `infer` serves it
    under a contract inferred from its definition and annotations, `withhold` does not serve it. `stdio` is the
    principal of the process that started the server. `anonymous` is the principal of an unauthenticated HTTP caller,
    accepted only from a loopback address and never by default. `guards`, `limits` and `budgets` are written as in
    `assent.yaml` (`{"rule": ..., ...}`). `policies` are Cedar files, folders or patterns. `flow` is the mode of flow
    control. `principal` is a function that decides who calls. A caller whose mode is `test` (the `mode` claim of a
    token, or a `Principal` of that mode) is refused, unless `test_callers` is `served`: then the functions look at
    `assent.current_mode()` and keep test data apart. With `test_confirmation="none"` no person is asked about their
    calls. `default_step_up` is what critical calls ask of callers with a
    token. With `publish_contracts=False` the definitions of tools have no `dev.assent/contract` in `_meta`.
    `completeness` says whether a contract that leaves fields open is refused (`required`, the default under
    `mcp-first`) or logged (`noted`). `historic_names`, `visibility`, `retention` and `notify` are written as in
    `assent.yaml`. `console` serves the console for people beside the MCP endpoint of an HTTP server: True, or the
    address under which people reach the server.
    """

    def __init__(
        self,
        store: str | Store = "memory://",
        contracts: str | Path | Iterable[str | Path] | Mapping[str, Contract] = (),
        *,
        profile: str = "spec",
        publish_contracts: bool = True,
        completeness: Completeness | None = None,
        historic_names: HistoricNames = False,
        visibility: Literal["scoped", "locked"] | None = None,
        mode: Literal["enforce", "observe"] = "enforce",
        without_contract: Literal["infer", "error", "withhold"] = "error",
        guards: Iterable[GuardRule | Mapping[str, Any]] = (),
        policies: str | Path | Iterable[str | Path] = (),
        limits: Iterable[RateLimit | Mapping[str, Any]] = (),
        budgets: Iterable[SpendBudget | Mapping[str, Any]] = (),
        flow: Literal["off", "observe", "ask", "refuse"] = "off",
        stdio: Principal | None = LOCAL,
        anonymous: Principal | None = None,
        principal: Identify | None = None,
        test_callers: Literal["refused", "served"] = "refused",
        test_confirmation: Literal["user", "none"] = "user",
        default_step_up: DefaultStepUp = DefaultStepUp(),  # noqa: B008 - it is frozen
        retention: str | int = "30d",
        secrets: str | Path | None = None,
        console: bool | str = False,
        notify: Iterable[NotifySettings | Mapping[str, Any]] = (),
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        _check_choice("without_contract", without_contract, ("infer", "error", "withhold"))
        self._without, self._told = without_contract, set[str]()
        self.store: Store = open_lazily(store) if isinstance(store, str) else store
        steps_up = default_step_up.callers != "none"
        self._profile = named_profile(
            profile, publishes_contract=publish_contracts, default_step_up=steps_up, completeness=completeness
        )
        self._secrets = secrets
        self._contracts = (
            ContractLookup(contracts)
            if isinstance(contracts, Mapping)
            else ContractLookup.of(load_written(contract_paths(contracts)))
        )
        _check_choice("test_callers", test_callers, ("refused", "served"))
        _check_choice("visibility", visibility, (None, "scoped", "locked"))
        self._wire: dict[str, Any] = {
            "has_test": test_callers == "served",
            "historic_names": historic_names,
            "visibility": visibility,
        }
        self._stdio, self._anonymous, self._identify = stdio, anonymous, principal
        patterns = [policies] if isinstance(policies, str | Path) else list(policies)
        self._policies = load_engine(patterns) if patterns else None
        keyring = Keyring(Path(secrets) if secrets is not None else None)
        kept = _seconds(retention)
        self.work = EffectRunner(self.store, now, retention=kept, keyed_hash=keyring.keyed_hash)
        command = store_command(store) if isinstance(store, str) else _command_of(store)
        self._console = self._make_console(console, command("console") or "")
        self._notifier = self._make_notifier(notify, now)
        self._ports = make_ports(
            self.store,
            self._catalogue,
            now=now,
            new_id=new_id,
            work=self.work,
            derive_key=keyring.derive,
            keyed_hash=keyring.keyed_hash,
            rules=Rules(
                mode=mode,
                guards=tuple(one if isinstance(one, GuardRule) else build_guard(one) for one in guards),
                policies=self._policies,
                policy_digest=self._policies.digest if self._policies is not None else "",
                flow=_flow_control(flow),
                limits=tuple(_read_setting(RateLimit, one, "limits") for one in limits),
                budgets=tuple(_read_setting(SpendBudget, one, "budgets") for one in budgets),
                default_step_up=default_step_up,
                test_confirmation=test_confirmation,
                retention=kept,
            ),
            command=command,
            page=self._page,
            **({"waiting": self._notifier.offer} if self._notifier is not None else {}),
        )
        state_key = None if secrets is None else keyring.key("sealing")
        self._codec = ConfirmationCodec(RequestStateCodec(state_key, now))
        self._edge = self._make_edge()

    @abstractmethod
    def _make_edge(self) -> E: ...

    def _make_console(self, console: bool | str, command: str) -> Any:
        """The console inside this server, or None."""
        if console is False:
            return None
        address = "" if console is True else console.rstrip("/")
        if address and not address.startswith(("http://", "https://")):
            remedy = "Write the address of the server, such as https://shop.example.com, or True"
            raise SettingsError(Fault(f"{address!r} is not an address", remedy, "console"))
        return load_feature("store_console").LibraryConsole(lambda: self._ports, address, command)

    def _make_notifier(self, notify: Iterable[NotifySettings | Mapping[str, Any]], now: Callable[[], float]) -> Any:
        """Tells people of approvals that wait; None if nobody is to be told."""
        if not (told := [_read_setting(NotifySettings, one, "notify") for one in notify]):
            return None
        if self._console is None:
            remedy = "Add console=True, or the address of the server: console='https://shop.example.com'"
            raise SettingsError(
                Fault("a notification leads to a page, and this server has no console", remedy, "notify")
            )
        return load_feature("notify").Notifier(told, self.store, now, lambda id: self._page(f"approvals/{id}"))

    def _page(self, path: str) -> str | None:
        found: str | None = self._console.page(path) if self._console is not None else None
        return found

    def console_app(self) -> App:
        """The console as an ASGI application for `/console` of an HTTP server that you build yourself."""
        if self._console is None:
            raise SettingsError(Fault("this server has no console", "Add Assent(console=True)", "console"))
        app: App = self._console
        return app

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

    def _compile(self, server: str, functions: Sequence[AuthorTool], *, late: bool) -> Catalogue:
        tools: list[Tool] = []
        withheld: dict[str, str] = {}
        faults: list[Fault] = []
        named = set[str]()  # a contract for a pattern may name what only some of its tools have
        for function in functions:
            name, declared = function.name, contract_of(function.registered.fn, function.name)
            if declared is not None and name in self._contracts.exact:
                faults.append(Fault("both the decorator and a contract file declare it", "Keep one of them", name))
            contract = declared or self._contracts.get(name)
            if contract is not None:
                named |= {name} if declared is not None or name in self._contracts.exact else set()
                faults += self._faults(contract, function)
                tools.append(
                    compile_tool(
                        with_author_hints(contract, function.definition["annotations"], self._profile),
                        profile=self._profile,
                        upstream=server,
                        definition=function.definition,
                        **self._wire,
                    )
                )
            elif self._without == "infer":
                terms = UpstreamPolicy(server, self._profile, trust="annotations", **self._wire)
                taken = compile_tools([function.definition], {}, terms)
                tools += taken.tools
                faults += [Fault(reason, "Write a contract for it", name) for reason in taken.withheld.values()]
            else:
                withheld[name] = NO_CONTRACT
        faults += [fault for tool in tools for fault in _undeclared_reads(tool.contract, withheld)]
        if self._without == "error" and not late:
            faults += [Fault(NO_CONTRACT, _HOW_TO_DECLARE, name) for name in withheld]
        if not late:
            faults += budgets_never_spent(self._ports.rules.budgets, (tool.contract for tool in tools))
        if faults:
            raise ContractError(faults)
        self._log_withheld(withheld)
        self._log_unsendable_keys(tools)
        catalogue = catalogue_of(tools, withheld)
        unknown = [fault for tool in tools if tool.name in named for fault in unknown_names(tool, catalogue)]
        if unknown and not late:
            raise ContractError(unknown)
        for fault in (fault for tool in tools if not late for fault in never_rehearsed(tool)):
            logger.warning("%s", fault)
        if not late and (wrong := policy_faults(self._policies, catalogue, {server}, complete=True)):
            raise SettingsError(wrong)
        return catalogue

    def _log_withheld(self, withheld: Mapping[str, str]) -> None:
        """Log each withheld function once."""
        level = logging.ERROR if self._without == "error" else logging.WARNING
        for name in sorted(withheld.keys() - self._told):
            logger.log(level, "%s is not served: %s. %s", name, withheld[name], _HOW_TO_DECLARE)
        self._told |= withheld.keys()

    def _log_unsendable_keys(self, tools: Sequence[Tool]) -> None:
        """Log each tool once whose required key most hosts cannot send."""
        new = [tool.contract for tool in tools if tool.name not in self._told]
        if (warning := unsendable_keys(new)) is not None:
            logger.warning("%s", warning)
        self._told |= {tool.name for tool in tools}

    def _faults(self, contract: Contract, function: AuthorTool) -> list[Fault]:
        """Return faults where the contract promises something that this function cannot do in this process."""
        found, idempotency = [], contract.idempotency
        if (open_fields := incomplete(contract, function.definition, self._profile)) is not None:
            if self._profile.completeness == "required":
                found.append(open_fields)
            elif function.name not in self._told:
                logger.warning("%s", open_fields)
        if contract.name != function.name:
            remedy = "Remove `name`, or register it under that name"
            found.append(Fault(f"it is registered as {function.name}", remedy, f"{contract.name}.name"))
        remedy = "Remove the hint from the annotations, or correct the contract"
        dropped = dropped_hints(function.definition["annotations"], contract, self._profile)
        found += [Fault(message, remedy, function.name) for message in dropped]
        if idempotency.recovery == "keyed":
            at, properties = f"{contract.name}.idempotency", function.definition["inputSchema"].get("properties", {})
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
        if self._console is not None and ctx.request is not None:
            self._console.learn_address(ctx.request)
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
        elif self._anonymous is not None and is_loopback(_address_of(ctx.request)):
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
        parts = self._ports, self._authenticate, self._codec, self._compile, self._console, self._notifier
        return SdkIntegration(*parts, historic_names=bool(self._wire["historic_names"]))

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


def _read_setting(model: type[Q], given: Q | Mapping[str, Any], where: str) -> Q:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first: Any = error.errors()[0]
        place = ".".join(map(str, (where, *first["loc"])))
        raise SettingsError(Fault(first["msg"], "Write it as in assent.yaml", place)) from None


def _command_of(store: Store) -> Callable[[str], str | None]:
    """The commands for a store that the author opened: its address is not known here, a configuration may name it."""
    return no_command if isinstance(store, MemoryStore) else assent_command


def _check_choice(name: str, given: Any, known: tuple[str | None, ...]) -> None:
    if given not in known:
        choices = ", ".join(one for one in known if one is not None)
        raise ContractError(Fault(f"{given!r} is not known", f"Use one of {choices}", name))


def _seconds(retention: str | int) -> int:
    try:
        seconds: int = parse_duration(retention)
    except ValueError as error:
        raise SettingsError(Fault(str(error), "Write it as in assent.yaml", "retention")) from None
    return seconds


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
        mode=mode_of(claims),
        bearer=True,
        groups=group_names(claims.get("groups")),
        claims=further_claims(claims),
        method="token",
    )


def _principal_id(issuer: str | None, subject: str | None, client: str | None) -> str:
    """Return one id per caller, so that a client acting for itself is not mixed up with a person of the same name."""
    who = ("subject", subject) if subject else ("client", client or "")
    parts = (("issuer", issuer), who) if issuer else (who,)
    return " ".join(f"{kind}={quote(part or '', safe=':/@')}" for kind, part in parts)


def _address_of(request: Any) -> str:
    return str(getattr(getattr(request, "client", None), "host", ""))


def _flow_control(mode: str) -> Flow | None:
    """Flow control of this server's own calls; None if it is off."""
    _check_choice("flow", mode, ("off", "observe", "ask", "refuse"))
    if mode == "off":
        return None
    made: Flow = load_feature("flow").FlowControl(mode)
    return made
