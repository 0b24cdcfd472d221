"""How are the records of a whole batch found in the tables, and kept there, in few round trips?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from assent.ports import Pruned
from assent.stores.operations import Operation, Sweep
from assent.stores.records import Records, Tally
from assent.stores.rows import EntryRow, approval_of, approval_row, claim_of, claim_row, key_of, key_row
from assent.stores.statements import statements

SQL = statements("postgres")
CHANNEL = "assent_ended"
_LONGEST_NOTICE = 7000


async def load(connection: Any, operations: Sequence[Operation[Any]]) -> Records:
    """The records that these operations need; one statement for each kind that is needed."""
    records = Records()
    if names := _names(operation.claims for operation in operations):
        records.claims = {row[0]: claim_of(row) for row in await connection.fetch(SQL["recall"], names)}
    if names := _names(operation.approvals for operation in operations):
        _take(records, await connection.fetch(SQL["approval"], names))
    for question in (question for operation in operations for question in operation.questions):
        asked = (question.binding, question.tenant, question.requester, question.now, question.since)
        _take(records, await connection.fetch(SQL["asked"], *asked))
    if names := _names(operation.rates for operation in operations):
        records.rates = dict(map(tuple, await connection.fetch(SQL["rates"], names)))
    reserved = ([name for name, _ in record.charges] for record in records.claims.values())
    if names := _names((*(operation.tallies for operation in operations), *reserved)):
        rows = await connection.fetch(SQL["tallies"], names)
        records.tallies = {name: Tally(Decimal(spent), until) for name, spent, until in rows}
    if names := _names(operation.keys for operation in operations):
        records.keys = {row[0]: key_of(row) for row in await connection.fetch(SQL["key"], names)}
    if places := [place for operation in operations for place in operation.places]:
        found = await connection.fetch(SQL["places"], places)
        records.places = {index: EntryRow(leaf, vals) for index, leaf, vals in found}
    return records


def _names(given: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in given for name in names))


def _take(records: Records, rows: Iterable[Any]) -> None:
    records.approvals.update((row[0], approval_of(row)) for row in rows)


async def keep(connection: Any, records: Records) -> int | None:
    """Write what has changed; the place of the first entry, if there are any."""
    changed = records.changed
    await _keep(connection, "keep_claims", [claim_row(records.claims[name]) for name in changed.claims])
    await _keep(connection, "keep_approvals", [approval_row(records.approvals[name]) for name in changed.approvals])
    rehearsals = (records.rehearsals[digest] for digest in changed.rehearsals)
    await _keep(connection, "keep_rehearsals", [(one.digest, one.preview, one.at) for one in rehearsals])
    await _keep(connection, "keep_rates", [(name, records.rates[name]) for name in changed.rates])
    tallies = ((name, records.tallies[name]) for name in changed.tallies)
    await _keep(connection, "keep_tallies", [(name, str(tally.spent), tally.until) for name, tally in tallies])
    await _keep(connection, "keep_keys", [key_row(records.keys[digest]) for digest in changed.keys])
    await _keep(connection, "erase", [(place, records.places[place].vals) for place in changed.places])
    return await append(connection, changed.entries)


async def append(connection: Any, rows: Sequence[EntryRow]) -> int | None:
    """Give entries the next places in the log."""
    if not rows:
        return None
    first: int = await connection.fetchval(SQL["append"], [row.leaf for row in rows], [row.vals for row in rows])
    return first


async def _keep(connection: Any, name: str, rows: Sequence[Sequence[Any]]) -> None:
    if rows:
        await connection.execute(SQL[name], *map(list, zip(*rows, strict=True)))


async def tell(connection: Any, names: Sequence[str]) -> None:
    """Tell every process that something was ended or decided; delivered with the commit."""
    notices, notice = [], ""
    for name in names:
        if "\n" in name or len(name) > 200:
            continue  # whoever waits for so odd a name finds out by looking
        if len(notice) + len(name) > _LONGEST_NOTICE:
            notices.append(notice)
            notice = ""
        notice += name + "\n"
    if notice:
        await connection.execute(SQL["tell"], CHANNEL, [*notices, notice])


async def prune(connection: Any, sweep: Sweep) -> Pruned:
    async def drop(name: str, until: float) -> int:
        said: str = await connection.execute(SQL[name], until, sweep.limit)
        return int(said.rpartition(" ")[2])

    return Pruned(
        await drop("bury", sweep.now),
        await drop("close", sweep.before),
        await drop("forget", sweep.before),
        await drop("reset_rates", sweep.now) + await drop("reset_tallies", sweep.before),
    )
