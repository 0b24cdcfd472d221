"""The example with two replicas behind nginx: one approval, one mail and one log, whichever replica is asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.clients.transports import ROOT
from support.stores.postgres_server import drop_store, new_store_url

sys.path.insert(0, str(ROOT))
from examples.postgres_replicas.conversation import HERE, find_nginx, serving, tell, verify


@pytest.mark.parametrize("front", ["nginx", "turns"])
async def test_two_replicas_act_as_one(front: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nginx = find_nginx() if front == "nginx" else None
    if front == "nginx" and nginx is None:
        pytest.skip("nginx is not installed")
    store = await new_store_url()
    try:
        with serving(tmp_path, store, nginx) as replicas:
            await tell(replicas)
            ports = [process.args[-1] for process in replicas.processes]  # type: ignore[index]
        assert "no problems found" in verify(tmp_path, store)
    finally:
        await drop_store(store)
    asked, mailed, killed = capsys.readouterr().out.split("\n\n")
    assert "confirm.approval_pending" in asked and "{'refunded': 80}" in asked
    assert all(port in mailed for port in ports), "both replicas answered"
    assert sum(int(line.split()[1]) for line in mailed.splitlines() if line.endswith("answers")) == 20
    assert killed.count("2 tickets") == 3
    assert (tmp_path / "book.txt").read_text().splitlines() == [
        "refunded 80 EUR for T-1",
        "mailed ann@example.com about T-1",
    ]


def test_the_readme_fits_one_screen_and_names_every_file() -> None:
    text = (HERE / "README.md").read_text()
    assert len(text.splitlines()) <= 40
    assert [path.name for path in HERE.iterdir() if path.is_file() and f"`{path.name}`" not in text] == ["README.md"]
