"""Loads and writes the records of a whole batch in few round trips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from assent.audit.leaf import Sealed
from assent.core.document import Document
from assent.ports import Pruned
from assent.stores.api_keys import key_of, key_row
from assent.stores.batched_store import approval_of, approval_row, claim_of, claim_row, move_row
from assent.stores.migrations import statements
from assent.stores.operations import Needs, StoreOperation, Sweep
from assent.stores.optimistic_claims import OptimisticClaims, names_in
from assent.stores.quota_reservations import WindowSpend
from assent.stores.record_rules import ChangeSet, Records

SQL = statements("postgres")
CHANNEL = "assent_ended"
_LONGEST_NOTICE = 7000


async def load(
    connection: Any, operations: Sequence[StoreOperation[Any]], started: OptimisticClaims | None = None
) -> Records:
    """Load the records that these operations need, with one statement per kind.

    With `started`, claims that this process is known to have started are not read.
    """
    records = Records()
    claims = started.unknown(operations, records) if started is not None else names_in(operations)
    if claims:
        found = await connection.fetch(SQL["recall"], list(claims))
        records.claims.update((row[0], claim_of(row)) for row in found)
    needs = [operation.needs for operation in operations if operation.needs is not None]
    reserved = [[name for name, _ in record.charges] for record in records.claims.values() if record.charges]
    if names := _names((*(one.tallies for one in needs), *reserved)):
        rows = await connection.fetch(SQL["tallies"], names)
        records.tallies = {name: WindowSpend(Decimal(spent), until) for name, spent, until in rows}
    if needs:
        await _load_needs(connection, needs, records)
    return records


async def _load_needs(connection: Any, needs: Sequence[Needs], records: Records) -> None:
    if names := _names(one.approvals for one in needs):
        _add_approvals(records, await connection.fetch(SQL["approval"], names))
    for question in (question for one in needs for question in one.questions):
        values = (question.binding, question.tenant, question.requester, question.now, question.since)
        _add_approvals(records, await connection.fetch(SQL["related_approvals"], *values))
    if names := _names(one.rates for one in needs):
        records.rates = dict(map(tuple, await connection.fetch(SQL["rates"], names)))
    if names := _names(one.keys for one in needs):
        records.keys = {row[0]: key_of(row) for row in await connection.fetch(SQL["key"], names)}
    if documents := [name for one in needs for name in one.documents]:
        rows = await connection.fetch(SQL["document"], *map(list, zip(*documents, strict=True)))
        records.documents = {one.name: one for one in (Document(*row) for row in rows)}
    if places := [place for one in needs for place in one.places]:
        found = await connection.fetch(SQL["places"], places)
        records.places = {index: Sealed(leaf, vals) for index, leaf, vals in found}


def _names(given: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in given for name in names))


def _add_approvals(records: Records, rows: Iterable[Any]) -> None:
    records.approvals.update((row[0], approval_of(row)) for row in rows)


async def keep_claims(connection: Any, records: Records) -> bool:
    """Write the claims. False if some of them have changed in the database; then the caller must roll back."""
    changed, claims = records.changed, records.claims
    added = [claim_row(claims[name]) for name in changed.claims - changed.replacing]
    moved = [move_row(claims[name], before) for name, before in changed.moved.items()]
    await _keep(connection, "replace_claims", [claim_row(claims[name]) for name in changed.replacing])
    kept = await _keep(connection, "add_claims", added) + await _keep(connection, "move_claims", moved)
    return kept == len(added) + len(moved)


async def keep_rest(connection: Any, records: Records) -> int | None:
    """Write the changes besides claims; returns the index of the first new entry, if there are any."""
    changed = records.changed
    if changed.has_rare:
        await _keep_rare(connection, records, changed)
    return await _append(connection, changed.entries, _notices((*changed.moved, *changed.approvals)))


async def _keep_rare(connection: Any, records: Records, changed: ChangeSet) -> None:
    await _keep(connection, "keep_approvals", [approval_row(records.approvals[name]) for name in changed.approvals])
    await _keep(connection, "keep_rates", [(name, records.rates[name]) for name in changed.rates])
    tallies = ((name, records.tallies[name]) for name in changed.tallies)
    await _keep(connection, "keep_tallies", [(name, str(tally.spent), tally.until) for name, tally in tallies])
    await _keep(connection, "keep_keys", [key_row(records.keys[digest]) for digest in changed.keys])
    documents = [records.documents[name] for name in changed.documents if name in records.documents]
    await _keep(connection, "keep_documents", documents)
    deleted = [name for name in changed.documents if name not in records.documents]
    await _keep(connection, "delete_documents", deleted)
    await _keep(connection, "erase", [(place, records.places[place].values) for place in changed.places])


async def _append(connection: Any, rows: Sequence[Sealed], notices: list[str]) -> int | None:
    """Append entries to the log, and notify every process on commit about what ended or was decided."""
    if not rows:
        if notices:
            await connection.execute(SQL["notify"], CHANNEL, notices)
        return None
    leaves, values = [row.leaf for row in rows], [row.values for row in rows]
    first: int = await connection.fetchval(SQL["append"], leaves, values, CHANNEL, notices)
    return first


async def _keep(connection: Any, name: str, rows: Sequence[Sequence[Any]]) -> int:
    """Run a statement on rows and return the number of rows it affected."""
    if not rows:
        return 0
    status: str = await connection.execute(SQL[name], *map(list, zip(*rows, strict=True)))
    return int(status.rpartition(" ")[2])


def _notices(names: Iterable[str]) -> list[str]:
    """Pack ids into notifications of limited length."""
    notices, notice = [], ""
    for name in names:
        if "\n" in name or len(name) > 200:
            continue  # Waiters for such an unusual name find the change by polling.
        if len(notice) + len(name) > _LONGEST_NOTICE:
            notices.append(notice)
            notice = ""
        notice += name + "\n"
    return [*notices, notice] if notice else notices


async def prune(connection: Any, sweep: Sweep) -> Pruned:
    async def drop(name: str, until: float) -> int:
        status: str = await connection.execute(SQL[name], until, sweep.limit)
        return int(status.rpartition(" ")[2])

    return Pruned(
        await drop("expire_results", sweep.now),
        await drop("delete_approvals", sweep.before),
        await drop("delete_rates", sweep.now) + await drop("delete_tallies", sweep.before),
        await drop("delete_expired_documents", sweep.now) + await drop("delete_rehearsals", sweep.before),
    )
