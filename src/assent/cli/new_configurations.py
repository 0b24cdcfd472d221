"""The configurations that `assent init` writes: one for a team, and a person's own."""

from __future__ import annotations

from pathlib import Path

import click

from assent.config.load import check_structure, user_file
from assent.config.trust import trust_written
from assent.errors import Fault, SettingsError
from assent.files import Disk

OWN = """\
# Your own configuration, written by `assent init`. `assent wrap` uses it for the servers of your clients.
preset: recommended   # finds secrets, private hosts and values that strangers chose; observes what servers do
mode: observe         # only records what it would ask or refuse. To be asked and protected: mode: enforce
"""

TEAM = """\
# Assent for a team. Add servers, check this file (assent serve --check), start the gateway (assent serve).
# `assent contract schema --config` prints every setting.

# `recommended` adds to what is written here:
#   guards     calls with secrets in them, and links into private networks, are refused; SQL that may write in a tool
#              that reads is asked about
#   flow       a value that a stranger chose is asked about before it leaves
#   sandbox    what servers on this machine read, write and reach is recorded (assent sandbox learn NAME)
# Definitions are pinned when they are first seen: a tool that changes materially is withheld until
# `assent pin --accept NAME`. What you set yourself wins over the preset.
preset: recommended
mode: enforce                        # observe: only record what would be asked or refused

store: sqlite:///assent.db           # several replicas: postgresql://user@host/database
public_url: http://127.0.0.1:8420    # the address that people and clients use
secrets: {directory: .assent}        # keys of this gateway, made at the first start; do not commit them

# The servers behind the gateway. `assent add NAME -- COMMAND` and `assent add NAME URL` add some.
upstreams: {}
#  files:
#    command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/files]
#    roots: [/srv/files]              # paths that lead elsewhere are refused
#    sandbox: {mode: enforce, write: [/srv/files]}
#  billing: {url: "https://billing.example.com/mcp", headers: {Authorization: "Bearer ${BILLING_TOKEN}"}}
#  linear: {url: "https://mcp.linear.example/mcp", auth: oauth, identity: per_user}

# What tools promise, where you know better than inference: assent contract init NAME > contracts/NAME.yaml
#contracts: [contracts/*.yaml]
#without_contract: withhold           # serve no tool that nobody wrote a contract for

# Who calls. Agents get keys, people sign in to the console and approve.
auth:
  anonymous: {kind: agent, scopes: ["*"]}   # callers on this machine without a key; remove it once you have keys
#  api_keys:
#    - {name: ci, key: "${CI_KEY}", kind: agent, tenant: acme, scopes: ["orders:*"]}
#    - {name: ann, key: "${ANN_KEY}", kind: human, tenant: acme, scopes: ["*"], roles: [approver]}
#  jwt: {issuer: "https://id.example.com", audience: "https://assent.example.com/mcp"}
#console: {oidc: {issuer: "https://id.example.com", client_id: assent, groups: {approvers: approver}}}

# Who confirms critical calls of agents over HTTP: approver (a person with that role) or user (at the client).
defaults: {confirmation: {critical: approver}}

# Who is told that a call waits.
#notify: [{webhook: "https://hooks.example.com/assent", secret: "${HOOK_SECRET}", events: [approval.pending]}]

# How much is allowed.
#limits: [{match: {tier: compute}, calls: 100, per: 1m}]
#budgets: [{match: {tool: "orders_*"}, amount: 500, currency: EUR, per: 1d}]

# More rules: `assent rule --list guards` names all guards. A guard of a rule of the preset replaces the preset's.
#guards: [{rule: block_private_hosts, allow: [intranet.example.com]}]
#policies: [policies/*.cedar]

# Copies of signed checkpoints, so that nobody can rewrite the log unnoticed.
#audit: {anchors: [{directory: /var/lib/assent/anchors}]}
"""


def write_team(path: Path) -> None:
    """Write the configuration for a team; an existing file is not changed."""
    check_structure(TEAM, str(path))
    try:
        Disk().create(path, TEAM.encode(), mode=0o600)
    except FileExistsError:
        remedy = "Add `preset: recommended` to it, or name another file with -c"
        raise SettingsError(Fault("it exists, so it was not changed", remedy, file=str(path))) from None
    except OSError as error:
        raise SettingsError(Fault(f"cannot be written: {error.strerror}", "Name another file with -c", "-c")) from None
    trust_written(path)
    click.echo(f"{path} is written, with preset: recommended. Next:", err=True)
    chosen = "" if path == Path("assent.yaml") else f" -c {path}"
    for line in (
        f"  assent add NAME -- COMMAND{chosen}     add your servers (or: assent add NAME URL{chosen})",
        f"  assent drill{chosen}                   which known attacks it stops",
        f"  assent serve{chosen}                   start the gateway",
    ):
        click.echo(line, err=True)


def missing_own() -> Path | None:
    """The place of the user's own configuration if there is none yet."""
    path = user_file()
    return None if path.exists() else path


def write_own() -> Path | None:
    """Write the user's own configuration if there is none; returns its place if it was written."""
    path = missing_own()
    if path is None:
        return None
    try:
        Disk().create(path, OWN.encode(), mode=0o600)
    except OSError as error:
        raise SettingsError(Fault(f"{path} cannot be written: {error.strerror}", "Correct its permissions")) from None
    return path


def remove_own() -> Path | None:
    """Remove the user's own configuration if it is as `assent init` wrote it; returns its place if it was removed."""
    path = user_file()
    try:
        if path.read_bytes() != OWN.encode():
            return None
        path.unlink()
    except OSError:
        return None
    return path
