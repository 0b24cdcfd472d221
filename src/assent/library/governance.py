"""Assent for servers of the official SDK, and the base class that FastMCP shares (ADR 0002)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer

from assent.config.notify import NotifySettings
from assent.contract.profiles import Completeness, HistoricNames
from assent.contract.profiles import profile as named_profile
from assent.core.catalogue import Catalogue
from assent.core.default_step_up import DefaultStepUp
from assent.core.ids import new_id
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.quotas import RateLimit, SpendBudget
from assent.core.secret_keys import Keyring
from assent.errors import ContractError, Fault, SettingsError
from assent.features import load_feature
from assent.library.function_contracts import FunctionContracts
from assent.library.registry import AuthorTool
from assent.library.sdk import AssentExtension, SdkIntegration
from assent.library.settings import (
    ContractSource,
    check_choice,
    command_of,
    contract_lookup,
    flow_control,
    is_local,
    policy_engine,
    principal_of_token,
    read_setting,
    seconds,
)
from assent.mcp.confirmation import ConfirmationCodec
from assent.mcp.request_state import RequestStateCodec
from assent.pipeline.leased_effects import EffectRunner
from assent.pipeline.ports_factory import make_ports
from assent.ports import Ports, Rules, Store
from assent.rules.guards import GuardRule, build_guard
from assent.stores.memory import MemoryStore
from assent.stores.open import open_lazily, store_command
from assent.web.asgi import App

Identify = Callable[[ServerRequestContext[Any, Any]], Awaitable[Principal | None] | Principal | None]
LOCAL = Principal("stdio", "agent", scopes=frozenset({"*"}), method="stdio")


class _Edge(Protocol):
    def catalogue(self) -> Catalogue: ...


E = TypeVar("E", bound=_Edge)


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
        contracts: ContractSource = (),
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
        check_choice("without_contract", without_contract, ("infer", "error", "withhold"))
        self.store: Store = open_lazily(store) if isinstance(store, str) else store
        steps_up = default_step_up.callers != "none"
        chosen = named_profile(
            profile, publishes_contract=publish_contracts, default_step_up=steps_up, completeness=completeness
        )
        check_choice("test_callers", test_callers, ("refused", "served"))
        check_choice("visibility", visibility, (None, "scoped", "locked"))
        self._wire: dict[str, Any] = {
            "has_test": test_callers == "served",
            "historic_names": historic_names,
            "visibility": visibility,
        }
        self._stdio, self._anonymous, self._identify = stdio, anonymous, principal
        self._policies = policy_engine(policies)
        declared = contract_lookup(contracts), chosen, without_contract, self._wire, self._policies
        keys_last = secrets is not None or isinstance(self.store, MemoryStore)
        self._functions = FunctionContracts(
            *declared, lambda: self._ports.rules.budgets, self._framework_faults, keys_last=keys_last
        )
        keyring = Keyring(Path(secrets) if secrets is not None else None)
        kept = seconds(retention)
        self.work = EffectRunner(self.store, now, retention=kept, keyed_hash=keyring.keyed_hash)
        command = store_command(store) if isinstance(store, str) else command_of(store)
        self._console = self._make_console(console, command("console") or "")
        self._notifier = self._make_notifier(notify, now)
        self._ports = make_ports(
            self.store,
            lambda: self._edge.catalogue(),
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
                flow=flow_control(flow),
                limits=tuple(read_setting(RateLimit, one, "limits") for one in limits),
                budgets=tuple(read_setting(SpendBudget, one, "budgets") for one in budgets),
                default_step_up=default_step_up,
                test_confirmation=test_confirmation,
                retention=kept,
                callers_from="`principal=`, `stdio=` or `anonymous=` of `Assent(…)`",
                login_from="say in `principal=` of `Assent(…)` when and how they signed in (`auth_time`, `acr`)",
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
        if not (told := [read_setting(NotifySettings, one, "notify") for one in notify]):
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

    def _framework_faults(self, function: AuthorTool) -> list[Fault]:
        """What a framework has against governing a function."""
        return []

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
            return principal_of_token(token)
        if ctx.request is None:
            if self._stdio is not None:
                return self._stdio
        elif self._anonymous is not None and is_local(ctx.request):
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
        parts = self._ports, self._authenticate, self._codec, self._functions.compile, self._console, self._notifier
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
