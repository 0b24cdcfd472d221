"""The configurations of compose file, Kubernetes and Helm load and follow the defaults, and the image uses them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from assent.config.load import parse_settings
from support.clients.transports import ROOT

DEPLOY = ROOT / "deploy"
SECRETS = {
    "ASSENT_DB_PASSWORD": "x",
    "ASSENT_STORE": "postgresql://a@db/a",
    "ASSENT_KEY": "assent_agent000_" + "x" * 32,
}


def configurations() -> dict[str, str]:
    kubernetes = next(yaml.safe_load_all((DEPLOY / "kubernetes" / "assent.yaml").read_text()))
    helm = yaml.safe_load((DEPLOY / "helm" / "assent" / "values.yaml").read_text())
    return {
        "compose": (DEPLOY / "compose" / "assent.yaml").read_text(),
        "kubernetes": kubernetes["data"]["assent.yaml"],
        "helm": yaml.safe_dump(helm["config"]),
    }


@pytest.mark.parametrize("name", ["compose", "kubernetes", "helm"])
def test_a_shipped_configuration_loads_and_keeps_the_strict_defaults(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in SECRETS.items():
        monkeypatch.setitem(os.environ, variable, value)
    settings = parse_settings(configurations()[name])
    assert settings.defaults.confirmation.critical == "approver"
    assert settings.defaults.metadata_addresses == "refuse"
    assert settings.pins_at_first_sight
    assert [key.asks for key in settings.auth.api_keys] == [None]


@pytest.mark.parametrize("path", ["compose/assent.yaml", "kubernetes/assent.yaml", "helm/assent/values.yaml"])
def test_a_shipped_configuration_says_who_decides_and_where(path: str) -> None:
    text = (DEPLOY / path).read_text()
    assert "wait for an approver, who decides at /console" in text
    assert "asks: person" in text


def test_the_image_names_its_configuration_and_has_every_feature() -> None:
    text = Path(ROOT / "Dockerfile").read_text()
    assert '"-c", "/etc/assent/assent.yaml"' in text, "a configuration that nobody named needs a person's word"
    assert "[standard,postgres,telemetry]" in text
    assert "bubblewrap libseccomp2" in text, "what `sandbox:` needs"
