"""Stop switches: list them, stop calls at once, and release them in two steps."""

from __future__ import annotations

from typing import Any

from assent.core.principal import Principal
from assent.core.record_scope import is_operator, record_scope_of
from assent.core.stop_switch import LEVELS, MOST_REASON, SCOPES, Stop
from assent.people.api.problems import ApiProblem
from assent.people.api.recent_sign_in import check_recent
from assent.people.api.routes import ApiRequest, Route, Schema
from assent.people.stop_targets import StopTargets

MOST_TARGET = 512

SWITCH: Schema = {
    "type": "object",
    "description": "A stop switch that is on. Times are seconds since 1970.",
    "required": ["id", "scope", "target", "tenant", "level", "reason", "by", "at", "changed_at"],
    "properties": {
        "id": {"type": "string"},
        "scope": {"type": "string", "enum": list(SCOPES)},
        "target": {"type": "string", "description": "The upstream, tool or principal; empty for everything."},
        "tenant": {"type": "string", "description": "Whose principal; empty for every tenant."},
        "level": {"type": "string", "enum": list(LEVELS), "description": "all, or effects: calls that read pass."},
        "reason": {"type": "string"},
        "by": {"type": "string"},
        "at": {"type": "number"},
        "changed_at": {"type": "number"},
    },
}
_REASON: Schema = {"type": "string", "minLength": 1, "maxLength": MOST_REASON}


async def list_switches(asked: ApiRequest) -> dict[str, Any]:
    """The switches that are on, newest first. Those of other tenants' principals are for operators."""
    who = asked.principal
    if who.kind != "human" or who.has_agent:
        raise ApiProblem("api.not_entitled", "Stop switches are listed for people.")
    tenant = record_scope_of(who).tenant
    found = await asked.stop_switches.all()
    return {"switches": [as_json(one) for one in found if tenant is None or one.tenant in ("", tenant)]}


async def set_switch(asked: ApiRequest) -> dict[str, Any]:
    """Stop calls. It holds here at once, and within a second wherever else this store is used."""
    _check_operator(asked.principal)
    body = asked.body
    scope, target = body["scope"], body.get("target", "").strip()
    if (scope == "everything") != (target == ""):
        raise ApiProblem("api.invalid", "target: everything has none, and any other scope needs one.")
    reason = _reason(body)
    tenant, level = body.get("tenant", "").strip(), body.get("level", "all")
    if not body.get("anyway") and (fault := await stop_targets(asked).fault(scope, target, tenant)):
        raise ApiProblem("api.unknown", f"{fault} With `anyway` it is stopped all the same.")
    stop = await asked.stop_switches.stop(asked.principal, scope, target, tenant, level, reason, asked.ports.now())
    return as_json(stop)


def stop_targets(asked: ApiRequest) -> StopTargets:
    return StopTargets(asked.ports.store, asked.settings, asked.ports.catalogue())


async def ease_switch(asked: ApiRequest) -> dict[str, Any]:
    """The first step of a release: calls that only read pass again, effects stay stopped."""
    _check_operator(asked.principal)
    check_recent(asked.principal, asked.ports)
    reason, switch = _reason(asked.body), asked.names["switch"]
    eased = await asked.stop_switches.ease(asked.principal, switch, reason, asked.ports.now())
    if eased is None:
        raise ApiProblem("api.unknown", "There is no such switch that stops all calls.")
    return as_json(eased)


async def release_switch(asked: ApiRequest) -> dict[str, Any]:
    """The last step: the switch is off. The answer is what was released."""
    _check_operator(asked.principal)
    check_recent(asked.principal, asked.ports)
    reason, switch = _reason(asked.body), asked.names["switch"]
    released = await asked.stop_switches.release(asked.principal, switch, reason, asked.ports.now())
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
    return {name: getattr(stop, name) for name in SWITCH["required"]}


_ONE: Schema = {"$ref": "#/components/schemas/Switch"}
_WHY: Schema = {
    "type": "object",
    "required": ["reason"],
    "properties": {"reason": _REASON},
    "additionalProperties": False,
}

ROUTES = (
    Route(
        "GET",
        "/api/switches",
        "list_switches",
        "List the stop switches that are on, newest first.",
        "people: those that concern their tenant; operators: all",
        list_switches,
        {
            "type": "object",
            "required": ["switches"],
            "properties": {"switches": {"type": "array", "items": _ONE}},
        },
        refusals=("api.not_entitled",),
    ),
    Route(
        "POST",
        "/api/switches",
        "set_switch",
        "Stop everything, an upstream, a tool or a principal, at once.",
        "operators",
        set_switch,
        _ONE,
        body={
            "type": "object",
            "required": ["scope", "reason"],
            "properties": {
                "scope": {"type": "string", "enum": list(SCOPES)},
                "target": {"type": "string", "maxLength": MOST_TARGET},
                "tenant": {"type": "string", "maxLength": 128},
                "level": {"type": "string", "enum": list(LEVELS)},
                "reason": _REASON,
                "anyway": {"type": "boolean", "description": "Stop a name that is not known yet too."},
            },
            "additionalProperties": False,
        },
        refusals=("api.not_entitled", "api.unknown"),
    ),
    Route(
        "POST",
        "/api/switches/{switch}/ease",
        "ease_switch",
        "Let calls pass that only read; effects stay stopped.",
        "operators",
        ease_switch,
        _ONE,
        body=_WHY,
        refusals=("api.not_entitled", "api.unknown"),
    ),
    Route(
        "POST",
        "/api/switches/{switch}/release",
        "release_switch",
        "Switch a stop off.",
        "operators",
        release_switch,
        _ONE,
        body=_WHY,
        refusals=("api.not_entitled", "api.unknown"),
    ),
)
