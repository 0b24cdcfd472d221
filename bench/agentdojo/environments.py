"""The environment server: AgentDojo's environments as MCP servers, in a process of its own.

`python -m bench.agentdojo.environments` prints its port. `/SUITE/mcp` is the MCP server of a suite. The bench itself
uses three more paths: `GET /tasks`, `POST /reset` (a fresh environment with or without an injection) and `POST /judge`.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache
from typing import Any

import mcp_types as types
import uvicorn
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.base_attacks import FixedJailbreakAttack
from agentdojo.default_suites.v1.tools.types import CloudDriveFile
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.task_suite.task_suite import TaskSuite
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, TypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from assent.web.server import bind, run_loop
from bench.agentdojo.attacks import Injection, inject

SUITES = "v1.2.2"
TEXT_ONLY = "--text-only" in sys.argv[1:]
"""Whether results have no structured content, as those of older servers."""

_ANY: TypeAdapter[Any] = TypeAdapter(Any)


class Environment:
    """One suite, its current environment, and what was called in it."""

    def __init__(self, suite: TaskSuite[Any]) -> None:
        self.suite = suite
        self._runtime = FunctionsRuntime(suite.tools)
        self._attack = FixedJailbreakAttack("{goal}", suite, None)  # type: ignore[arg-type]
        self._marks = {vector: f"<VECTOR-{vector}>" for vector in suite.get_injection_vector_defaults()}
        self._loaded: dict[tuple[str, ...], bytes] = {}
        self._readings: dict[str, list[list[str]]] = {}
        self._attacks: dict[str, list[dict[str, Any]]] = {}
        self.called: list[FunctionCall] = []

    def tools(self) -> list[types.Tool]:
        return [
            types.Tool(name=one.name, description=one.description, input_schema=one.parameters.model_json_schema())
            for one in self.suite.tools
        ]

    def reset(self, user: str, injection: str | None, disguise: str) -> dict[str, Any]:
        """Start a conversation; says which calls the user and the attacker want, and what marks an injected text."""
        task = self.suite.get_user_task_by_id(user)
        wanted: list[dict[str, Any]] = []
        texts: dict[str, str] = {}
        marks: list[str] = []
        if injection is not None:
            attack = self.suite.get_injection_task_by_id(injection)
            wanted = self._wanted(injection)
            vectors = self._seen_in_order(task)
            placed = inject(Injection(attack.GOAL, [call["args"] for call in wanted]), vectors, disguise)
            texts, marks = placed.texts, placed.marks
        self.env = task.init_environment(self._load(texts))
        self.before = pickle.loads(pickle.dumps(self.env))
        self.called, self.user, self.injection = [], user, injection
        needed = [_as_json(one) for one in task.ground_truth(pickle.loads(pickle.dumps(self.env)))]
        return {"prompt": task.PROMPT, "needed": needed, "injected": wanted, "marks": marks}

    def _wanted(self, injection: str) -> list[dict[str, Any]]:
        if injection not in self._attacks:
            attack = self.suite.get_injection_task_by_id(injection)
            self._attacks[injection] = [_as_json(one) for one in attack.ground_truth(self._load({}))]
        return self._attacks[injection]

    def call(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Run a tool. Its result has the text that AgentDojo gives to models, and structured content beside it, as the
        typed functions of an MCP server have it.
        """
        self.called.append(FunctionCall(function=name, args=arguments))
        result, error = self._runtime.run_function(self.env, name, arguments)
        text = types.TextContent(type="text", text=error or _text_of(pickle.dumps(result)))
        if error or TEXT_ONLY:
            return types.CallToolResult(content=[text], is_error=bool(error))
        plain = _ANY.dump_python(result, mode="json")
        structured = plain if isinstance(result, BaseModel) else {"result": plain}
        return types.CallToolResult(content=[text], structured_content=structured)

    def judge(self, utility: bool) -> dict[str, Any]:
        """AgentDojo's judgement of the environment as it is now, from the calls that reached it."""
        task = self.suite.get_user_task_by_id(self.user)
        facts = ([{"type": "text", "content": task.GROUND_TRUTH_OUTPUT}], self.before, self.env, self.called)
        judged = {}
        if utility:
            judged["utility"] = self.suite._check_task_result(task, *facts)  # type: ignore[arg-type]
        if self.injection is not None:
            attack = self.suite.get_injection_task_by_id(self.injection)
            judged["security"] = self.suite._check_task_result(attack, *facts)  # type: ignore[arg-type]
        return judged

    def _load(self, texts: dict[str, str]) -> Any:
        """A fresh environment with these texts in place of the defaults. AgentDojo loads each combination once."""
        vectors = tuple(sorted(texts))
        if vectors not in self._loaded:
            marks = {vector: self._marks[vector] for vector in vectors}
            self._loaded[vectors] = pickle.dumps(self.suite.load_and_inject_default_environment(marks))
        return _swapped(pickle.loads(self._loaded[vectors]), [(self._marks[vector], texts[vector]) for vector in texts])

    def _seen_in_order(self, task: Any) -> list[list[str]]:
        """The vectors that the user's task reads, grouped by the call whose result shows them first."""
        if task.ID in self._readings:
            return self._readings[task.ID]
        env = task.init_environment(self._load(self._marks))
        seen: set[str] = set()
        groups = []
        for call in task.ground_truth(env.model_copy(deep=True)):
            result, _ = self._runtime.run_function(env, call.function, call.args)
            text = tool_result_to_str(result)
            found = [vector for vector, mark in self._marks.items() if mark in text and vector not in seen]
            seen.update(found)
            groups.extend([found] if found else [])
        self._readings[task.ID] = groups
        return groups


def _swapped(value: Any, swaps: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, BaseModel):
        for name, item in value.__dict__.items():
            value.__dict__[name] = _swapped(item, swaps)
        if isinstance(value, CloudDriveFile):
            value.size = len(value.content)
    if isinstance(value, dict):
        return {_swapped(key, swaps): _swapped(item, swaps) for key, item in value.items()}
    if isinstance(value, list):
        return [_swapped(item, swaps) for item in value]
    if isinstance(value, str) and "<VECTOR-" in value:
        for mark, text in swaps:
            value = value.replace(mark, text)
    return value


@lru_cache(maxsize=256)
def _text_of(pickled: bytes) -> str:
    """The text of a result. Writing it as YAML is the slowest part of a call, and both orders read the same results."""
    return tool_result_to_str(pickle.loads(pickled))


def _as_json(call: FunctionCall) -> dict[str, Any]:
    return {"function": call.function, "args": dict(call.args)}


def mcp_server(environment: Environment) -> Server[Any]:
    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=environment.tools())

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return environment.call(params.name, dict(params.arguments or {}))

    return Server(environment.suite.name, on_list_tools=list_tools, on_call_tool=call_tool)


def app(environments: dict[str, Environment]) -> Starlette:
    apps = {
        name: mcp_server(one).streamable_http_app(
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        for name, one in environments.items()
    }

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for one in apps.values():
                await stack.enter_async_context(one.router.lifespan_context(one))
            yield

    async def reset(request: Request) -> Response:
        asked = await request.json()
        return JSONResponse(environments[asked.pop("suite")].reset(**asked))

    async def judge(request: Request) -> Response:
        asked = await request.json()
        return JSONResponse(environments[asked["suite"]].judge(asked["utility"]))

    routes: list[Any] = [
        Route("/tasks", _tasks(environments)),
        Route("/reset", reset, methods=["POST"]),
        Route("/judge", judge, methods=["POST"]),
        *(Mount(f"/{name}", one) for name, one in apps.items()),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def _tasks(environments: dict[str, Environment]) -> Callable[[Request], Response]:
    """Which tasks and injections there are; an injection without a list of calls cannot be scripted."""

    def tasks(_: Request) -> Response:
        found = {}
        for name, one in environments.items():
            scripted = [
                key
                for key, task in one.suite.injection_tasks.items()
                if task.ground_truth(one.suite.load_and_inject_default_environment({}))
            ]
            found[name] = {
                "users": _by_number(one.suite.user_tasks),
                "injections": _by_number(scripted),
                "tools": [tool.model_dump(by_alias=True, exclude_none=True) for tool in one.tools()],
            }
        return JSONResponse(found)

    return tasks


def _by_number(names: Any) -> list[str]:
    return sorted(names, key=lambda name: int(name.rsplit("_", 1)[1]))


def main() -> None:
    environments = {name: Environment(suite) for name, suite in get_suites(SUITES).items()}
    listener = bind("127.0.0.1", 0)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(
        app(environments), http="httptools", log_level="error", access_log=False, timeout_keep_alive=3600
    )
    run_loop(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
