"""How are the records of a whole batch found in the tables, and kept there, in few round trips?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from assent.audit.leaf_encoder import Sealed
from assent.core.document import Document
from assent.ports import Pruned
from assent.stores.operations import Needs, StoreOperation, Sweep
from assent.stores.optimistic_claims import OptimisticClaims, names_in
from assent.stores.record_rules import Records, WindowSpend
from assent.stores.rows import approval_of, approval_row, claim_of, claim_row, key_of, key_row, move_row
from assent.stores.sql_files import statements

SQL = statements("postgres")
CHANNEL = "assent_ended"
_LONGEST_NOTICE = 7000


async def load(
    connection: Any, operations: Sequence[StoreOperation[Any]], started: OptimisticClaims | None = None
) -> Records:
    """The records that these operations need; one statement for each kind that is needed.

    With claims that are known to be started, only those are looked up of which nothing is thought already.
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
        _take(records, await connection.fetch(SQL["approval"], names))
    for question in (question for one in needs for question in one.questions):
        asked = (question.binding, question.tenant, question.requester, question.now, question.since)
        _take(records, await connection.fetch(SQL["asked"], *asked))
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


def _take(records: Records, rows: Iterable[Any]) -> None:
    records.approvals.update((row[0], approval_of(row)) for row in rows)


async def keep_claims(connection: Any, records: Records) -> bool:
    """Write the claims; False if some were not as was thought, and all must be taken back."""
    changed, claims = records.changed, records.claims
    added = [claim_row(claims[name]) for name in changed.claims - changed.replacing]
    moved = [move_row(claims[name], before) for name, before in changed.moved.items()]
    await _keep(connection, "replace_claims", [claim_row(claims[name]) for name in changed.replacing])
    kept = await _keep(connection, "add_claims", added) + await _keep(connection, "move_claims", moved)
    return kept == len(added) + len(moved)


async def keep_rest(connection: Any, records: Records) -> int | None:
    """Write what has changed besides claims; the place of the first entry, if there are any."""
    changed = records.changed
    await _keep(connection, "keep_approvals", [approval_row(records.approvals[name]) for name in changed.approvals])
    rehearsals = (records.rehearsals[digest] for digest in changed.rehearsals)
    await _keep(connection, "keep_rehearsals", [(one.digest, one.preview, one.at) for one in rehearsals])
    await _keep(connection, "keep_rates", [(name, records.rates[name]) for name in changed.rates])
    tallies = ((name, records.tallies[name]) for name in changed.tallies)
    await _keep(connection, "keep_tallies", [(name, str(tally.spent), tally.until) for name, tally in tallies])
    await _keep(connection, "keep_keys", [key_row(records.keys[digest]) for digest in changed.keys])
    documents = [records.documents[name] for name in changed.documents if name in records.documents]
    await _keep(connection, "keep_documents", documents)
    deleted = [name for name in changed.documents if name not in records.documents]
    await _keep(connection, "delete_documents", deleted)
    await _keep(connection, "erase", [(place, records.places[place].values) for place in changed.places])
    return await _append(connection, changed.entries, _notices((*changed.moved, *changed.approvals)))


async def _append(connection: Any, rows: Sequence[Sealed], notices: list[str]) -> int | None:
    """Give entries the next places in the log, and tell every process, on commit, what was ended or decided."""
    if not rows:
        if notices:
            await connection.execute(SQL["tell"], CHANNEL, notices)
        return None
    leaves, values = [row.leaf for row in rows], [row.values for row in rows]
    first: int = await connection.fetchval(SQL["append"], leaves, values, CHANNEL, notices)
    return first


async def _keep(connection: Any, name: str, rows: Sequence[Sequence[Any]]) -> int:
    """How many there are now."""
    if not rows:
        return 0
    said: str = await connection.execute(SQL[name], *map(list, zip(*rows, strict=True)))
    return int(said.rpartition(" ")[2])


def _notices(names: Iterable[str]) -> list[str]:
    """Names, as many to a notice as fit."""
    notices, notice = [], ""
    for name in names:
        if "\n" in name or len(name) > 200:
            continue  # whoever waits for so odd a name finds out by looking
        if len(notice) + len(name) > _LONGEST_NOTICE:
            notices.append(notice)
            notice = ""
        notice += name + "\n"
    return [*notices, notice] if notice else notices


async def prune(connection: Any, sweep: Sweep) -> Pruned:
    async def drop(name: str, until: float) -> int:
        said: str = await connection.execute(SQL[name], until, sweep.limit)
        return int(said.rpartition(" ")[2])

    return Pruned(
        await drop("bury", sweep.now),
        await drop("close", sweep.before),
        await drop("forget", sweep.before),
        await drop("reset_rates", sweep.now) + await drop("reset_tallies", sweep.before),
        await drop("drop_expired_documents", sweep.now),
    )
