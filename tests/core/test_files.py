"""A file that is replaced is whole, has the rights it had, and leaves nothing beside it, whatever goes wrong."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from assent.checks.lint.fixer import FixedFile, write_all
from assent.cli.init import init
from assent.errors import SettingsError
from assent.files import draft, is_protected, write_whole


def names_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def refuse_to_replace(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A rename onto a file of this name fails, as it does where something is mounted."""
    replace = Path.replace

    def refusing(self: Path, target: Path) -> Path:
        if Path(target).name == name:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refusing)


def test_a_draft_has_the_rights_of_what_it_is_to_replace(tmp_path: Path) -> None:
    home = tmp_path / "home.json"
    home.write_text("old")
    home.chmod(0o640)
    made = draft(home, b"new")
    assert (made.read_bytes(), stat.S_IMODE(made.stat().st_mode)) == (b"new", 0o640)
    assert home.read_text() == "old"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of somebody else."""
    path, real = tmp_path / "home.json", Path.stat
    path.write_text("old")
    path.chmod(0o664)

    def stat_of(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = real(self, follow_symlinks=follow_symlinks)
        theirs = (*found[:4], found.st_uid + 1, found.st_gid + 1, *found[6:])
        return os.stat_result(theirs) if self == path else found

    monkeypatch.setattr(Path, "stat", stat_of)
    return path


@pytest.mark.parametrize(("refused", "rights"), [(0, 0o664), (1, 0o664), (2, 0o604)])
def test_a_draft_belongs_to_whom_the_file_does_or_else_to_its_group_or_no_group_reads_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, refused: int, rights: int
) -> None:
    asked: list[tuple[int, int]] = []

    def chown(path: Path, owner: int, group: int) -> None:
        asked.append((owner, group))
        if len(asked) <= refused:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", chown)
    made = draft(home, b"new")
    theirs = home.stat()
    assert asked == [(theirs.st_uid, theirs.st_gid), (-1, theirs.st_gid)][: refused + 1]
    assert stat.S_IMODE(made.stat().st_mode) == rights


def test_what_nobody_may_write_is_protected(tmp_path: Path) -> None:
    home = tmp_path / "home.json"
    assert not is_protected(home)
    home.write_text("old")
    assert not is_protected(home)
    home.chmod(0o444)
    assert is_protected(home)


def test_a_client_whose_file_cannot_be_replaced_is_left_with_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "python"}}}))
    before = file.read_bytes()
    refuse_to_replace(monkeypatch, "c.json")
    result = CliRunner().invoke(init, ["--client", str(file), "--write"])
    assert isinstance(result.exception, SettingsError)
    assert (names_in(tmp_path), file.read_bytes()) == (["c.json"], before)


def test_a_client_whose_file_is_protected_keeps_it(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "python"}}}))
    file.chmod(0o444)
    result = CliRunner().invoke(init, ["--client", str(file), "--write"])
    assert isinstance(result.exception, SettingsError)
    assert names_in(tmp_path) == ["c.json"]


def test_files_that_are_mended_together_are_all_as_they_were_if_one_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_bytes(b"a")
    second.write_bytes(b"b")
    refuse_to_replace(monkeypatch, "b.json")
    with pytest.raises(SettingsError, match=r"b\.json: cannot be written"):
        write_all([FixedFile(first, b"a", b"A", ()), FixedFile(second, b"b", b"B", ())])
    assert (first.read_bytes(), second.read_bytes(), names_in(tmp_path)) == (b"a", b"b", ["a.json", "b.json"])


def test_a_link_to_itself_is_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SettingsError, match="loop cannot be written"):
        write_whole(tmp_path / "loop", "text", "--lock")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    (tmp_path / "out").symlink_to(f"/proc/self/fd/{writing}")
    write_whole(tmp_path / "out", "text", "--baseline")
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"text"
