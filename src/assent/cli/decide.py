"""`assent decide`: explains what would happen to a call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from assent.cli.shared.options import config_option, module_of_clone
from assent.core.question import visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.cli.shared.requests import EarlierResult
    from assent.config.model import Settings
    from assent.core.call import Request
    from assent.core.catalogue import Catalogue
    from assent.pipeline.explain import Explanation


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

    from assent.cli.shared.requests import read_request
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


def flow_with(earlier: Sequence[EarlierResult], request: Request, catalogue: Catalogue, settings: Settings) -> Any:
    """Flow control with the results that the request says were read before."""
    from assent.config.rules import flow_control

    flow = flow_control(settings)
    for one in earlier if flow is not None else ():
        tool = catalogue.tools.get(one.tool)
        if tool is None:
            raise SettingsError(Fault(f"no tool has the name {visible(one.tool)}", "Correct the name", "results"))
        flow.take(request.principal, request.conversation, tool, one.whole, time.time())
    return flow
