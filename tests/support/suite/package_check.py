"""Builds the wheel and the sdist, and tries the wheel in an empty environment of every Python that is installed.

`make package` runs it and keeps the files in `dist/`. `make release-check` also builds everything a second time and
compares the digests, and writes a list of all installed packages (SBOM, CycloneDX) and the digests beside the files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src/assent"
LARGEST_WHEEL = 1_700_000
"""The goal is 1.5 MB. Of 1.69 MB, 1.45 MB are the 637 modules, so only less source gets there."""
SBOM_TOOL = "cyclonedx-bom>=7,<8"
TOOL = {"name": "delete_user", "description": "Deletes a user for good.", "inputSchema": {"type": "object"}}


def build(source: Path, target: Path, *kinds: str) -> list[Path]:
    """Builds what `pip` would build from this folder: `sdist`, `wheel` or both."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *(f"--target={kind}" for kind in kinds)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return sorted(target.iterdir())


def wheel_of_sdist(sdist: Path, folder: Path) -> Path:
    """The wheel that is built from the sdist alone."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    (wheel,) = build(source, folder / "again", "wheel")
    return wheel


def files_in(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def data_files() -> list[str]:
    """Every file of the package that is not Python: templates, styles, SQL, profiles, shipped contracts, weights."""
    found = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path.relative_to(ROOT / "src").as_posix() for path in found if path.suffix != ".py")


def pythons() -> Iterator[Path]:
    """Every Python from 3.11 on that starts: on the PATH, and of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    names = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    seen = set()
    for path in [sys.executable, *filter(None, names), *sorted(root.glob("versions/*/bin/python3"))]:
        code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        asked = subprocess.run([str(path), "-c", code], capture_output=True, text=True)
        version = asked.stdout.strip()
        if asked.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 11) and version not in seen:
            seen.add(version)
            yield Path(str(path))


def install(python: Path, wheel: Path, folder: Path) -> Path:
    """Installs the wheel and what it depends on into an empty environment, and returns the command."""
    subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True)
    return folder / "bin/assent"


def try_out(assent: Path, folder: Path) -> None:
    """Runs commands that need the data files, far from the source tree."""

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run([str(assent), *words], cwd=folder, capture_output=True, text=True, env=clean)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stderr if code == 2 else done.stdout

    clean = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    (folder / "tools.json").write_text(json.dumps([TOOL]))
    assert run("--version").startswith("assent, version ")
    assert "`make demo` in a clone" in run("demo", code=2)  # Demo and decision cases are part of the source alone.
    assert "`make install` in a clone" in run("decide", "--cases", ".", code=2)
    assert "hints-missing" in run("lint", "tools.json", code=1)  # the rules
    assert '"destructive"' in run("classify", "tools.json")  # the weights
    assert "openWorldHint" in run("contract", "docs", "tools.json", "--profile", "geopera")  # the profiles
    (folder / "assent.yaml").write_text("store: sqlite:///assent.db\nauth: {anonymous: {kind: agent, scopes: ['*']}}\n")
    run("store", "migrate", "-c", "assent.yaml")  # SQL
    assert "no problems found" in run("audit", "verify", "-c", "assent.yaml")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_same_again(built: list[Path], folder: Path) -> None:
    """A second build gives the same bytes, so that others can check what was published."""
    again = {path.name: digest(path) for path in build(ROOT, folder, "sdist", "wheel")}
    assert again == {path.name: digest(path) for path in built}, "two builds of this tree differ"


def write_sbom(python: Path, environment: Path, target: Path, folder: Path) -> int:
    """Writes the list of the packages in an environment, and returns how many there are."""
    subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", SBOM_TOOL]
    subprocess.run(pip, check=True)
    command = [str(folder / "bin/cyclonedx-py"), "environment", "--output-reproducible", "--of", "JSON"]
    subprocess.run([*command, "-o", str(target), str(environment / "bin/python")], check=True)
    return len(json.loads(target.read_text())["components"])


def check_release(built: list[Path], wheel: Path) -> None:
    """What a release needs besides a working wheel."""
    assert wheel.stat().st_size <= LARGEST_WHEEL, f"the wheel has {wheel.stat().st_size} bytes, at most {LARGEST_WHEEL}"
    with tempfile.TemporaryDirectory(prefix="assent-release-") as name:
        check_same_again(built, Path(name, "again"))
        print("a second build gives the same bytes")
        python = Path(sys.executable)
        for extras, label in (("", "core"), ("[standard,postgres,telemetry]", "image")):
            environment = Path(name, label)
            install(python, Path(f"{wheel}{extras}"), environment)
            subprocess.run(
                [str(environment / "bin/python"), "-m", "pip", "uninstall", "--quiet", "-y", "pip", "setuptools"],
                check=True, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            target = wheel.with_name(f"{wheel.name.partition('-py3')[0]}-{label}.cdx.json")
            count = write_sbom(python, environment, target, Path(name, f"{label}-tool"))
            size = sum(path.lstat().st_size for path in environment.rglob("*")) / 1e6
            print(f"{target.relative_to(ROOT)}: {count} packages, {size:.0f} MB")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in sorted(wheel.parent.iterdir()))
    (wheel.parent / "SHA256SUMS").write_text(sums)
    print("dist/SHA256SUMS written")


def main() -> None:
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    built = build(ROOT, target, "sdist", "wheel")
    (sdist,) = [path for path in built if path.suffix == ".gz"]
    (wheel,) = [path for path in built if path.suffix == ".whl"]
    for path in built:
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory(prefix="assent-package-") as name:
        assert files_in(wheel_of_sdist(sdist, Path(name))) == files_in(wheel), "the sdist builds another wheel"
        print("the sdist builds the same wheel")
        for number, python in enumerate(pythons()):
            folder = Path(name, f"python-{number}")
            folder.mkdir()
            assent = install(python, wheel, folder / "environment")
            try_out(assent, folder)
            version = subprocess.run([str(python), "--version"], capture_output=True, text=True).stdout.strip()
            print(f"{version}: installed and tried")
            shutil.rmtree(folder)
    if "--release" in sys.argv:
        check_release(built, wheel)


if __name__ == "__main__":
    main()
