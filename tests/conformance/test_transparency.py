"""Through us, the public test programs see exactly what they see without us."""

import json
from functools import cache
from pathlib import Path

import pytest

from support.conformance.programs import MISSING, Results, inspect, run_suite

pytestmark = pytest.mark.skipif(MISSING, reason="the test programs are missing: run .ci/install-node-tools")


@pytest.fixture(scope="session")
def direct(upstream_url: str, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    @cache
    def results(revision: str) -> tuple[int, Results]:
        return run_suite(upstream_url, revision, tmp_path_factory.mktemp("direct"))

    return results


@pytest.fixture(scope="session")
def inspected(upstream_url: str):  # type: ignore[no-untyped-def]
    @cache
    def printed(*arguments: str) -> str:
        return json.dumps(inspect(upstream_url, *arguments))

    return printed


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_gives_the_same_result_check_by_check(
    revision: str, direct, front_url: str, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    code, expected = direct(revision)
    assert len(expected) > 30
    assert code == 0, "the reference upstream itself must pass everything that is scored"
    code, seen = run_suite(front_url, revision, tmp_path)
    different = {name for name in expected.keys() | seen.keys() if expected.get(name) != seen.get(name)}
    assert {name: (expected.get(name), seen.get(name)) for name in different} == {}
    assert code == 0


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_behind_a_merged_server_no_check_fails_that_passes_without_it(
    revision: str, direct, merged_url: str, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    _, expected = direct(revision)
    code, seen = run_suite(merged_url, revision, tmp_path)
    worse = {
        (scenario, check)
        for scenario, checks in seen.items()
        for check, status in checks
        if status == "FAILURE" and (check, status) not in expected.get(scenario, [])
    }
    assert worse == set()
    assert expected.keys() == seen.keys() and code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--method", "tools/list"],
        ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hi", "times=2"],
        ["--method", "resources/list"],
        ["--method", "resources/templates/list"],
        ["--method", "resources/read", "--uri", "test://static-text"],
        ["--method", "prompts/list"],
        ["--method", "prompts/get", "--prompt-name", "test_simple_prompt"],
    ],
    ids=lambda arguments: arguments[1],
)
def test_the_inspector_prints_the_same(arguments: list[str], inspected, front_url: str) -> None:  # type: ignore[no-untyped-def]
    seen, expected = inspect(front_url, *arguments), json.loads(inspected(*arguments))
    for listed in (seen, expected):  # titles, hints and _meta are what a contract derives; the rest is the upstream's
        for tool in listed.get("tools", []):
            for derived in ("title", "annotations", "_meta"):
                tool.pop(derived, None)
    assert seen == expected
