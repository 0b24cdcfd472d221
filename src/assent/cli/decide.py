"""`assent decide`: explains what would happen to a call."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from assent.cli.shared.options import config_option, module_of_clone
from assent.core.identity_claims import further_claims
from assent.core.principal import KINDS, Principal
from assent.core.question import visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.config.model import Settings
    from assent.core.call import Request
    from assent.core.catalogue import Catalogue
    from assent.pipeline.explain import Explanation

_KEYS = {"tool", "arguments", "principal", "key", "can_ask", "user_text", "results"}
_PRINCIPAL_KEYS = {
    "id",
    "kind",
    "tenant",
    "scopes",
    "roles",
    "acr",
    "auth_time",
    "mode",
    "actors",
    "groups",
    "claims",
    "method",
    "asks",
}


@click.command()
@click.argument("request_file", type=click.File("r", encoding="utf-8"), default="-", metavar="[REQUEST]")
@click.option(
    "--cases", type=click.Path(path_type=Path, exists=True), help="Run a file or folder of decision cases instead."
)
@click.option("--as", "caller", metavar="NAME", help="Call with the configured API key of this name.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
@click.pass_context
def decide(
    ctx: click.Context, request_file: IO[str], cases: Path | None, caller: str | None, form: str, config: Path | None
) -> None:
    """Explain one call, stage by stage, without running it.

    REQUEST is a file (or standard input) with one JSON object: `tool`, `arguments`, optionally `principal`, `key`.
    For flow control it can have `user_text` (what the user wrote) and `results` (what was read before), such as
    [{"tool": "read_file", "result": "the text, or a whole result"}].
    Upstreams are asked for their tools if no contract defines the tool and its input, or if definitions are pinned.
    Exit code 0: the call would be answered; 1: it would be refused or would wait for a person.

    Example: echo '{"tool": "place_order", "arguments": {}}' | assent decide --as ci
    """
    import asyncio

    from assent.config.load import UNASKED, find_settings

    if cases is not None:
        ctx.exit(_run_cases(cases))
    settings = find_settings(config, unused=UNASKED)
    request, earlier = read_request(request_file, settings, caller)
    found = asyncio.run(_explain(request, earlier, settings))
    click.echo(json.dumps(found.as_json(), indent=2, ensure_ascii=False) if form == "json" else found.as_text())
    ctx.exit(0 if found.outcome == "answer" else 1)


async def _explain(request: Request, earlier: Sequence[EarlierResult], settings: Settings) -> Explanation:
    from assent.cli.shared.store_access import deciding_ports
    from assent.pipeline.explain import explain

    ports = await deciding_ports(settings)
    try:
        if settings.upstreams and (_depends_on_upstreams(settings) or _needs_upstream(ports.catalogue(), request.tool)):
            ports = ports._replace(catalogue=await _catalogue(request.tool, ports.catalogue(), settings))
        return await explain(request, ports.but(flow=flow_with(earlier, request, ports.catalogue(), settings)))
    finally:
        await ports.store.close()


def _depends_on_upstreams(settings: Settings) -> bool:
    """Whether the upstreams' lists decide if a tool is served: pins, or names that several upstreams may have."""
    return len(settings.upstreams) > 1 or (settings.lock_file is not None and settings.lock_file.exists())


def _needs_upstream(contracts: Catalogue, tool: str) -> bool:
    """Whether only the upstream knows if the tool exists and which arguments it takes."""
    return tool not in contracts.tools or contracts.tools[tool].contract.input is None


async def _catalogue(tool: str, contracts: Catalogue, settings: Settings) -> Callable[[], Catalogue]:
    """The catalogue of the upstreams, which know tools without a contract and changed definitions.

    If an upstream does not answer and the tool is unknown, the contracts alone are used.
    """
    from assent.gateway.catalogue_preview import preview_catalogue

    preview = await preview_catalogue(settings)
    found, troubles = preview.catalogue, preview.troubles
    for name, trouble in troubles.items():
        click.echo(f"upstream {name}: {visible(trouble)}", err=True)
    unknown = tool not in found.tools and tool not in found.withheld
    return lambda: contracts if troubles and unknown else found


def _run_cases(cases: Path) -> int:
    import asyncio

    decisions = module_of_clone("support.decisions", "tests", "`assent decide --cases`", "make install")
    results = asyncio.run(decisions.run_cases([cases]))
    failed = [result for result in results if result.differences]
    for result in failed:
        click.echo("\n  ".join([f"{result.place}: {result.case.name}", *result.differences]))
    click.echo(f"{len(results)} cases, {len(failed)} differ", err=True)
    return 1 if failed else 0


def read_request(file: IO[str], settings: Settings, caller: str | None) -> tuple[Request, list[EarlierResult]]:
    """The request in a file, with its caller and what was read before."""
    from assent.core.call import ConversationRef, Request

    if file is sys.stdin and sys.stdin.isatty():
        click.echo('Type one JSON object such as {"tool": "place_order", "arguments": {}}, then Ctrl-D.', err=True)
    try:
        given = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise SettingsError(Fault(f"the request is not JSON: {error}", "Write one JSON object")) from None
    if not isinstance(given, dict) or not isinstance(given.get("tool"), str):
        raise SettingsError(
            Fault("the request has no tool", 'Write an object such as {"tool": "...", "arguments": {}}')
        )
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise SettingsError(Fault("this key is unknown", "The keys are " + ", ".join(sorted(_KEYS)), unknown[0]))
    key, can_ask = given.get("key"), given.get("can_ask", False)
    if key is not None and not isinstance(key, str):
        raise SettingsError(Fault("the key must be text", "Put it in quotes", "key"))
    if not isinstance(can_ask, bool):
        raise SettingsError(Fault("it must be true or false", "Write true if the client can ask its user", "can_ask"))
    said = given.get("user_text", "")
    if not isinstance(said, str):
        raise SettingsError(Fault("it must be text", "Write what the user wrote", "user_text"))
    request = Request(
        tool=given["tool"],
        arguments=given.get("arguments"),
        principal=_principal(given.get("principal"), settings, caller),
        keys=(key,) if key is not None else (),
        can_ask=can_ask,
        conversation=ConversationRef("decide", said) if said or "results" in given else None,
    )
    return request, read_earlier(given.get("results", []))


def _principal(given: Any, settings: Settings, caller: str | None) -> Principal:
    """The caller: from the request, a configured key, or the configured local caller."""
    if given is not None:
        return principal_of(given)
    for key in settings.auth.api_keys:
        if key.name == caller:
            return principal_of(key.model_dump(exclude={"key", "name"}) | {"id": key.name})
    local = settings.auth.stdio or settings.auth.anonymous
    if caller is None and local is not None:
        return principal_of(local.model_dump(exclude={"name"}) | {"id": local.name or "local"})
    names = ", ".join(key.name for key in settings.auth.api_keys)
    remedy = 'Add `"principal": {"kind": "agent", "scopes": ["*"]}` to the request'
    remedy += f", or use --as with one of: {names}" if names else ""
    if caller is not None:
        raise SettingsError(Fault(f"no configured key has the name {visible(caller)}", remedy, "--as"))
    raise SettingsError(Fault("the request has no caller", remedy, "principal"))


def principal_of(given: Any) -> Principal:
    """A principal from JSON."""
    if not isinstance(given, dict) or set(given) - _PRINCIPAL_KEYS or given.get("kind") not in KINDS:
        keys = ", ".join(sorted(_PRINCIPAL_KEYS))
        raise SettingsError(
            Fault("this is not a principal", f"Set kind to agent, human or service; the keys are {keys}", "principal")
        )
    for key, value in given.items():
        fits, expected = _FORMS.get(key, _TEXT)
        if not fits(value):
            raise SettingsError(Fault(f"{expected} is expected", "Correct the value", f"principal.{key}"))
    return Principal(
        id=given.get("id", "caller"),
        kind=given["kind"],
        tenant=given.get("tenant", "local"),
        scopes=frozenset(given.get("scopes", ())),
        roles=frozenset(given.get("roles", ())),
        acr=given.get("acr"),
        auth_time=given.get("auth_time"),
        mode=given.get("mode", "live"),
        groups=frozenset(given.get("groups", ())),
        claims=further_claims(given.get("claims", {})),
        method=given.get("method", ""),
        bearer=given.get("bearer", False),
        asks=given.get("asks"),
        actors=tuple(principal_of(actor) for actor in given.get("actors", ())),
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple | frozenset | set) and all(isinstance(one, str) for one in value)


def _is_moment(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


_TEXT: tuple[Callable[[Any], bool], str] = (lambda value: isinstance(value, str), "text")
_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "scopes": (_is_texts, "a list of texts"),
    "roles": (_is_texts, "a list of texts"),
    "groups": (_is_texts, "a list of texts"),
    "claims": (lambda value: isinstance(value, dict), "an object"),
    "acr": (lambda value: value is None or isinstance(value, str), "text"),
    "auth_time": (_is_moment, "a number of seconds"),
    "bearer": (lambda value: isinstance(value, bool), "true or false"),
    "mode": (lambda value: value in ("live", "test"), "live or test"),
    "asks": (lambda value: value in (None, "person", "nobody"), "person or nobody"),
    "actors": (lambda value: isinstance(value, list | tuple), "a list of principals"),
}


_RESULT_KEYS = {"tool", "result"}


class EarlierResult(NamedTuple):
    """A result that was read before the call."""

    tool: str
    result: dict[str, Any]


def read_earlier(given: Any) -> list[EarlierResult]:
    """The results in a request; a text stands for a result with that text."""
    if not isinstance(given, list) or not all(isinstance(one, dict) and set(one) == _RESULT_KEYS for one in given):
        remedy = 'Write [{"tool": "...", "result": "..."}]'
        raise SettingsError(Fault("the results are not a list of tool and result", remedy, "results"))
    return [EarlierResult(str(one["tool"]), _as_result(one["result"])) for one in given]


def _as_result(given: Any) -> dict[str, Any]:
    if isinstance(given, dict) and given.keys() & {"content", "structuredContent"}:
        return given
    if isinstance(given, str):
        return {"content": [{"type": "text", "text": given}]}
    return {"structuredContent": given}


def flow_with(earlier: Sequence[EarlierResult], request: Request, catalogue: Catalogue, settings: Settings) -> Any:
    """Flow control with the results that the request says were read before."""
    from assent.config.rules import flow_control

    flow = flow_control(settings)
    for one in earlier if flow is not None else ():
        tool = catalogue.tools.get(one.tool)
        if tool is None:
            raise SettingsError(Fault(f"no tool has the name {visible(one.tool)}", "Correct the name", "results"))
        flow.take(request.principal, request.conversation, tool, one.result, time.time())
    return flow
