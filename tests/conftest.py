"""What every test shares: asyncio, the long form of the suites, where files are, and what is run first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from assent.config.trust import trust
from support.processes.engines import end_engines_under, stop_engines
from support.suite.hypothesis_profile import steady
from support.suite.soak import Told

# Asserts of the public suite of stores say what differed.
pytest.register_assert_rewrite("support.store_suite")

# No example may fail for being slow: machines differ, and so does what else they do.
settings.register_profile("steady", steady)
settings.load_profile("steady")

# What a build server or a coding agent sets would tell a hook that nobody is there to be asked.
for _name in ("CI", "CLAUDE_CODE_ENTRYPOINT"):
    os.environ.pop(_name, None)

MEMORY, ROOM = Path("/dev/shm"), 1 << 30
LONGEST = (
    "torture/test_crashes.py",
    "stores/test_model_postgres.py",
    "stores/test_model.py",
    "examples/test_shop.py",
    "cli/test_wrap.py",
    "conformance/test_transparency.py",
    "audit/test_adversary.py",
    "cli/test_demo.py",
    "gateway/passthrough/test_merged_stdio.py",
    "gateway/test_dying_upstreams.py",
    "upstreams/stdio/test_person_processes.py",
    "upstreams/oauth/test_gateway.py",
    "torture/test_races.py",
    "torture/test_failing_writes.py",
    "torture/test_paused_owners.py",
    "cli/test_wrap_relays.py",
    "cli/test_wrap_hostile.py",
    "cli/test_verify.py",
    "cli/test_audit_following.py",
    "gateway/test_bad_clients.py",
    "gateway/test_two_replicas.py",
    "examples/test_estimate_then_place.py",
)
"""Begun first, so that no worker is left alone with one of them at the end."""


@pytest.fixture
def trusted_folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, whose `assent.yaml` commands use without asking."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    monkeypatch.chdir(tmp_path)
    trust(tmp_path)
    return tmp_path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--torture", action="store_true", default=False, help="run the long form of the soak suites")
    parser.addoption("--part", type=int, default=1, metavar="N", help="with --torture: one round of every N")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Where there is room, files are kept in memory: the tests make thousands of databases, and what a process that
    is killed leaves behind is the same there. `--basetemp` names another place."""
    if config.option.basetemp is None and not hasattr(config, "workerinput") and _has_room():
        config.option.basetemp = str(_place(os.getpid()))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What failing tests leave stays to be looked at until the next run."""
    mine = _place(os.getpid())
    if session.config.option.basetemp == str(mine) and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(mine, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    turns = {Path(__file__).parent / name: turn for turn, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get(item.path, len(turns)))


def _place(process: int | str) -> Path:
    return MEMORY / f"assent-tests-{os.getuid()}-{process}"


def _has_room() -> bool:
    if not MEMORY.is_dir():
        return False
    for old in MEMORY.glob(_place("*").name):
        if not Path(f"/proc/{old.name.rpartition('-')[2]}").exists():
            shutil.rmtree(old, ignore_errors=True)
    # Some tests run what they write.
    runs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return runs and shutil.disk_usage(MEMORY).free > ROOM and os.access(MEMORY, os.W_OK)


@pytest.fixture(autouse=True)
def no_engine_left() -> Iterator[None]:
    """Stops the engines that wrapped servers of the test have started."""
    yield
    stop_engines()


@pytest.fixture(autouse=True, scope="module")
def engines_end_with_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Ends the engines of servers that tests wrapped with a home folder of their own."""
    yield
    end_engines_under(tmp_path_factory.getbasetemp())


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def told(record_property: Callable[[str, object], None]) -> Told:
    """Points, rounds, effects and doubts of a suite, shown at the end of the run."""
    return lambda line: record_property("told", line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    lines = [line for report in reports for name, line in report.user_properties if name == "told"]
    if lines:
        terminalreporter.section("counts")
    for line in sorted(map(str, lines)):
        terminalreporter.line(line)
