"""The wheel and the sdist that users install."""

from __future__ import annotations

import tarfile
import tomllib
from pathlib import Path

import pytest

from support.suite.package_check import ROOT, build, data_files, files_in, wheel_of_sdist

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(ROOT, tmp_path_factory.mktemp("dist"), "sdist", "wheel")


def test_both_are_named_after_the_version(built: list[Path]) -> None:
    version = PROJECT["version"]
    assert [path.name for path in built] == [f"assent-{version}-py3-none-any.whl", f"assent-{version}.tar.gz"]


def test_the_wheel_has_every_file_of_the_package(built: list[Path]) -> None:
    names = {name for name in files_in(built[0]) if ".dist-info/" not in name}
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert names == modules | set(data_files())
    suffixes = {Path(name).suffix for name in data_files()}
    assert {".sql", ".yaml", ".html", ".css", ".js", ".typed"} <= suffixes, "what users would miss"


def test_the_sdist_builds_the_same_wheel(built: list[Path], tmp_path: Path) -> None:
    assert files_in(wheel_of_sdist(built[1], tmp_path)) == files_in(built[0])


def test_the_sdist_has_what_a_packager_needs_and_nothing_that_a_build_left(built: list[Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "constraints.txt"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert not tops & {".venv", ".cache", ".git", "dist", ".mypy_cache", ".assent-demo"}


def test_the_metadata_name_the_command_the_python_and_bounds_for_every_dependency(built: list[Path]) -> None:
    metadata = next(text.decode() for name, text in files_in(built[0]).items() if name.endswith("METADATA"))
    assert "Requires-Python: >=3.11" in metadata
    wanted = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert [line for line in wanted if ">=" not in line] == []


def test_the_changelog_begins_with_the_next_release_and_then_this_one() -> None:
    titles = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert titles[0] == "## Unreleased"
    assert titles[1].startswith(f"## {PROJECT['version']} - 20")
