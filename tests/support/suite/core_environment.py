"""A virtual environment with `pip install assent` alone: the core's dependencies and no extra.

The packages are linked from the environment that runs the tests, so that nothing is downloaded.
"""

from __future__ import annotations

import os
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def core_packages() -> set[str]:
    """The distributions that the core needs, and those that these need."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in PROJECT["dependencies"]]
    while waiting:
        wanted = waiting.pop()
        extras = wanted.extras or {""}
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        more = [Requirement(one) for one in distribution(wanted.name).requires or ()]
        more = [one for one in more if not one.marker or any(one.marker.evaluate({"extra": name}) for name in extras)]
        if (key := f"{wanted.name.lower()}{sorted(extras)}") not in found:
            found.add(key)
            waiting += [Requirement(str(one).partition(";")[0]) for one in more]
    return {key.partition("[")[0] for key in found}


def core_environment(folder: Path) -> Path:
    """Make the environment and return its folder of commands."""
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    for name in core_packages():
        one = distribution(name)
        for top in {file.parts[0] for file in one.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(one.locate_file(top))))
    (site / "assent.pth").write_text(str(ROOT / "src"))
    facts = site / f"assent-{PROJECT['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: assent\nVersion: {PROJECT['version']}\n")
    command = folder / "bin" / "assent"
    command.write_text(f"#!{folder}/bin/python\nfrom assent.cli import main\nmain()\n")
    command.chmod(0o755)
    return folder / "bin"


def clean_environment(home: Path) -> dict[str, str]:
    """Variables for a command of that environment, without any of the tests' own."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
