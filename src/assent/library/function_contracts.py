"""The contracts of a server's own functions, and the catalogue that they make (ADR 0059)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from assent.config.rules import PolicyEngine, policy_faults
from assent.contract.binding import ContractLookup
from assent.contract.contradictions import incomplete, unsendable_keys
from assent.contract.decorator import contract_of
from assent.contract.model import Contract
from assent.contract.profiles import Profile
from assent.contract.tool_listing import dropped_hints, with_author_hints
from assent.core.catalogue import Catalogue, catalogue_of
from assent.core.contract_names import never_rehearsed, unknown_names
from assent.core.quotas import SpendBudget, budgets_never_spent
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError, Fault, SettingsError
from assent.library.registry import AuthorTool
from assent.upstreams.compiled_tools import NO_CONTRACT, UpstreamPolicy, compile_tools

logger = logging.getLogger("assent.library.governance")

_HOW_TO_DECLARE = (
    "Put @contract(side_effect=...) on the function or write it into a contract file; "
    "or choose Assent(without_contract='infer') or 'withhold'"
)


contradictions: ContextVar[dict[str, tuple[str, ...]] | None] = ContextVar("assent_contradictions", default=None)
"""Where lint collects annotations that contradict a contract, to report them; None where they stop the start."""


class FunctionContracts:
    """Finds the contract of each function, checks that the function can do what it promises, and compiles it."""

    def __init__(
        self,
        declared: ContractLookup,
        profile: Profile,
        without: Literal["infer", "error", "withhold"],
        wire: Mapping[str, Any],
        policies: PolicyEngine | None,
        budgets: Callable[[], Sequence[SpendBudget]],
        framework_faults: Callable[[AuthorTool], list[Fault]],
        *,
        keys_last: bool,
    ) -> None:
        self._contracts, self._profile, self._without, self._wire = declared, profile, without, wire
        self._policies, self._budgets, self._framework_faults = policies, budgets, framework_faults
        self._keys_last = keys_last
        """Whether keys for the functions are the same after a restart."""
        self._logged_tools = set[str]()

    def compile(self, server: str, functions: Sequence[AuthorTool], *, late: bool) -> Catalogue:
        """Compile the functions of a server; `late` ones were added while it runs. Raises what is wrong with them."""
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
            faults += budgets_never_spent(self._budgets(), (tool.contract for tool in tools))
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
        for name in sorted(withheld.keys() - self._logged_tools):
            logger.log(level, "%s is not served: %s. %s", name, withheld[name], _HOW_TO_DECLARE)
        self._logged_tools |= withheld.keys()

    def _log_unsendable_keys(self, tools: Sequence[Tool]) -> None:
        """Log each tool once whose required key most hosts cannot send."""
        new = [tool.contract for tool in tools if tool.name not in self._logged_tools]
        if (warning := unsendable_keys(new)) is not None:
            logger.warning("%s", warning)
        self._logged_tools |= {tool.name for tool in tools}

    def _faults(self, contract: Contract, function: AuthorTool) -> list[Fault]:
        """Return faults where the contract promises something that this function cannot do in this process."""
        found, idempotency = [], contract.idempotency
        if (open_fields := incomplete(contract, function.definition, self._profile)) is not None:
            if self._profile.completeness == "required":
                found.append(open_fields)
            elif function.name not in self._logged_tools:
                logger.warning("%s", open_fields)
        if contract.name != function.name:
            remedy = "Remove `name`, or register it under that name"
            found.append(Fault(f"it is registered as {function.name}", remedy, f"{contract.name}.name"))
        remedy = "Remove the hint from the annotations, or correct the contract"
        dropped = dropped_hints(function.definition["annotations"], contract, self._profile)
        if dropped and (noted := contradictions.get()) is not None:
            noted[function.name] = tuple(dropped)
        else:
            found += [Fault(message, remedy, function.name) for message in dropped]
        if idempotency.recovery == "keyed":
            at, properties = f"{contract.name}.idempotency", function.definition["inputSchema"].get("properties", {})
            if idempotency.forward != "argument" or idempotency.argument not in properties:
                remedy = "Name a parameter of the function with `argument:` and say forward: argument"
                found.append(Fault("the function is not given the key it is to honour", remedy, f"{at}.forward"))
            if not self._keys_last:
                remedy = "Name a directory with Assent(secrets=...)"
                found.append(Fault("the key would be another one after a restart", remedy, f"{at}.recovery"))
        return found + self._framework_faults(function)


def _undeclared_reads(contract: Contract, withheld: Mapping[str, str]) -> list[Fault]:
    """Return faults for read tools without a contract, because a tool called for another call must be a read."""
    named = {"estimate": contract.estimate, "idempotency.lookup": contract.idempotency.lookup}
    return [
        Fault(f"{part.tool} has no contract", "Declare it with side_effect: read", f"{contract.name}.{field}.tool")
        for field, part in named.items()
        if part is not None and part.tool in withheld
    ]
