"""Stop switches: list them, stop calls at once, and release them in two steps."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import StringConstraints
from typing_extensions import TypedDict

from assent.core.principal import Principal
from assent.core.record_scope import is_operator, record_scope_of
from assent.core.stop_switch import LEVELS, MOST_REASON, SCOPES, Stop
from assent.people.api.fields import OneOf, closed
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.people.sessions import check_recent
from assent.people.stop_targets import StopTargets

MOST_TARGET = 512
_SHOWN = ("id", "scope", "target", "tenant", "level", "reason", "by", "at", "changed_at")


StopReason = Annotated[str, StringConstraints(min_length=1, max_length=MOST_REASON)]


@closed
class NewSwitch(TypedDict):
    scope: Annotated[str, OneOf(SCOPES)]
    target: NotRequired[Annotated[str, StringConstraints(max_length=MOST_TARGET)]]
    tenant: NotRequired[Annotated[str, StringConstraints(max_length=128)]]
    level: NotRequired[Annotated[str, OneOf(LEVELS)]]
    reason: StopReason
    anyway: NotRequired[Annotated[bool, "Stop a name that is not known yet too."]]


@closed
class SwitchRelease(TypedDict):
    reason: StopReason


_REFUSALS = ("api.not_entitled", "api.unknown")
_LISTED = "people: those that concern their tenant; operators: all"


@get("/api/switches", "SwitchList", who=_LISTED, refusals=("api.not_entitled",))
async def list_switches(request: ApiRequest) -> dict[str, Any]:
    """List the stop switches that are on, newest first."""
    who = request.principal
    if who.kind != "human" or who.has_agent:
        raise ApiProblem("api.not_entitled", "Stop switches are listed for people.")
    tenant = record_scope_of(who).tenant
    found = await request.stop_switches.all()
    return {"switches": [as_json(one) for one in found if tenant is None or one.tenant in ("", tenant)]}


@post("/api/switches", "Switch", NewSwitch, who="operators", refusals=_REFUSALS)
async def set_switch(request: ApiRequest) -> dict[str, Any]:
    """Stop everything, an upstream, a tool or a principal, at once."""
    _check_operator(request.principal)
    body = request.body
    scope, target = body["scope"], body.get("target", "").strip()
    if (scope == "everything") != (target == ""):
        raise ApiProblem("api.invalid", "target: everything has none, and any other scope needs one.")
    reason = _reason(body)
    tenant, level = body.get("tenant", "").strip(), body.get("level", "all")
    if not body.get("anyway") and (fault := await stop_targets(request).fault(scope, target, tenant)):
        raise ApiProblem("api.unknown", f"{fault} With `anyway` it is stopped all the same.")
    stop = await request.stop_switches.stop(
        request.principal, scope, target, tenant, level, reason, request.ports.now()
    )
    return as_json(stop)


def stop_targets(request: ApiRequest) -> StopTargets:
    return StopTargets(request.ports.store, request.settings, request.ports.catalogue())


@post("/api/switches/{switch}/ease", "Switch", SwitchRelease, who="operators", refusals=_REFUSALS)
async def ease_switch(request: ApiRequest) -> dict[str, Any]:
    """Let calls pass that only read; effects stay stopped."""
    _check_operator(request.principal)
    check_recent(request.principal, request.ports)
    reason, switch = _reason(request.body), request.names["switch"]
    eased = await request.stop_switches.ease(request.principal, switch, reason, request.ports.now())
    if eased is None:
        raise ApiProblem("api.unknown", "There is no such switch that stops all calls.")
    return as_json(eased)


@post("/api/switches/{switch}/release", "Switch", SwitchRelease, who="operators", refusals=_REFUSALS)
async def release_switch(request: ApiRequest) -> dict[str, Any]:
    """Switch a stop off. The answer is what was released."""
    _check_operator(request.principal)
    check_recent(request.principal, request.ports)
    reason, switch = _reason(request.body), request.names["switch"]
    released = await request.stop_switches.release(request.principal, switch, reason, request.ports.now())
    if released is None:
        raise ApiProblem("api.unknown", "There is no such switch; somebody may have released it.")
    return as_json(released)


def _check_operator(principal: Principal) -> None:
    if not is_operator(principal) or principal.mode == "test":
        raise ApiProblem("api.not_entitled", "Stop switches are set and released by people with the role operator.")


def _reason(body: Any) -> str:
    reason: str = body["reason"].strip()
    if not reason:
        raise ApiProblem("api.invalid", "reason: say why, in a few words; callers and the log receive it.")
    return reason


def as_json(stop: Stop) -> dict[str, Any]:
    return {name: getattr(stop, name) for name in _SHOWN}
