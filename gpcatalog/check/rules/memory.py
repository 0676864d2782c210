"""Memory of sessions that query a whole table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil

from gpcatalog.capacity import limits, memory
from gpcatalog.capacity.limits import MIB
from gpcatalog.check.report import RuleContext
from gpcatalog.check.rules.registry import rule
from gpcatalog.check.trees import exceeds, in_tree
from gpcatalog.effects.relations import Table
from gpcatalog.errors import CatalogError
from gpcatalog.model.finding import Figure, Severity
from gpcatalog.model.quantity import count, plural, size
from gpcatalog.model.storage import Storage

_Found = tuple[Table, int, int, limits.Limit]  # table, leaves, bytes, and the limit


def _stored(storage: Storage) -> Storage:
    """The storage whose measured figures apply."""
    return storage if storage in (Storage.AO_ROW, Storage.AO_COLUMN) else Storage.HEAP


def _most(s: RuleContext, table: Table, storages: Mapping[Storage, int]) -> int:
    """Bytes that a session keeps after a query over leaves with rows, on the instance where it
    keeps more.

    storages: number of leaves by storage
    """
    coordinator = segment = 0
    for storage, leaves in storages.items():
        shape = table.shape(s.edition, storage)
        found = memory.kept_bytes(s.edition.name, shape, leaves, memory.Touch.SELECT)
        coordinator += found.coordinator
        segment += found.segment or 0
    return max(coordinator, segment)


def _kept_in_parts(s: RuleContext) -> _Found | None:
    """The limit that a table with a partition clause exceeds because of this statement."""
    table = s.effect.table
    if table is None or not s.effect.leaves_created or not table.parts or not table.known:
        return None
    leaves = table.numbers[1]
    costliest = Storage.AO_COLUMN if s.edition.greenplum else Storage.HEAP
    try:
        if _most(s, table, {costliest: leaves}) < limits.SESSION_MEMORY.value:
            return None  # below the limit in every storage
        kept = _most(s, table, Counter(_stored(p.storage) for p in table.leaves()))
    except CatalogError:
        return None  # the server has no such tables
    before = kept * (leaves - s.effect.leaves_created) / max(leaves, 1)
    high = limits.SESSION_MEMORY_HIGH
    limit = high if kept >= high.value else limits.SESSION_MEMORY
    return (table, leaves, kept, limit) if before < limit.value <= kept else None


def _kept_in_tree(s: RuleContext) -> _Found | None:
    """The limit that a tree of separate tables exceeds because of this statement; all leaves are
    assumed to be like this one.
    """
    table = s.effect.table
    if table is None or not in_tree(table) or not table.known:
        return None
    try:
        each = _most(s, table, {_stored(table.storage): 1})
    except CatalogError:
        return None
    for limit in (limits.SESSION_MEMORY_HIGH, limits.SESSION_MEMORY):
        over = exceeds(s, limit.id, ceil(limit.value / each) - 1)
        if over is not None:
            root, leaves = over
            return root, leaves, each * leaves, limit
    return None


@rule("session-memory")
def session_memory(s: RuleContext) -> None:
    """A session that queries the whole table will keep much memory until it ends.

    What it finds: statements that add so many leaves to a table that a session keeps more than
    256 MB after a query over all leaves and columns, when the leaves contain rows. From 1 GB on it
    is a warning. Only the statement that exceeds the limit is reported.
    Why it matters: sessions that stay open, as those of connection pools, add up. They reach
    gp_vmem_protect_limit on Greenplum, where statements then fail, or the memory of the host.
    How sure it is: an estimate from the numbers of leaves, columns and indexes, measured on test
    servers. It is a lower bound: append-optimized leaves with more data keep up to 66 KB for each
    column on each segment.
    What to do: use a larger interval, fewer levels, or row orientation; let queries name the partition
    key.
    """
    found = _kept_in_parts(s) or _kept_in_tree(s)
    if found is None:
        return
    table, leaves, kept, limit = found
    place = " on the instance where it keeps most" if s.edition.greenplum else ""
    s.find(
        "session-memory",
        Severity.WARNING if limit is limits.SESSION_MEMORY_HIGH else Severity.NOTICE,
        f"a session keeps at least about {size(kept)}{place} after a query over all of"
        f" {table.title}",
        f"{plural(leaves, 'leaf', 'leaves')} with rows, {kept / leaves / 1024:,.0f} KB each"
        " (estimate)",
        "use a larger interval, fewer levels or row orientation; let queries name the partition key",
        figures=(
            Figure("memory kept", kept, "bytes", "estimate"),
            Figure(limit.id, limit.value, limit.unit, "limit"),
        ),
        source=limit.source,
        relation=table.title,
    )


@rule("statement-memory")
def statement_memory(s: RuleContext) -> None:
    """A query over the whole table will need more than statement_mem.

    What it finds: on Greenplum, statements that add so many leaves to a table that a plan of the
    Postgres planner over all of them needs more than the default of statement_mem (125 MB). A plan
    needs 100 KB for each leaf, so 1,278 leaves fit. Only the statement that exceeds the limit is
    reported.
    Why it matters: such a statement, EXPLAIN too, fails with "insufficient memory reserved for
    statement".
    How sure it is: equal to what Greenplum 6.25.3 and 7.0.0 accept. The settings of the cluster are
    not known. Resource groups, a larger statement_mem and GPORCA, whose plans have one operator for
    all leaves, accept more. The Postgres planner plans the statements that GPORCA cannot plan.
    What to do: use a larger interval, let queries name the partition key, or increase statement_mem.
    """
    limit = limits.STATEMENT_MEM
    fit = int(limit.value) // memory.OPERATOR_BYTES - memory.OTHER_OPERATORS
    table = s.effect.table
    if table is None or not s.edition.greenplum:
        return
    if table.parts and s.effect.leaves_created:
        leaves = table.numbers[1]
        if not leaves - s.effect.leaves_created <= fit < leaves:
            return
    else:
        over = exceeds(s, limit.id, fit)
        if over is None:
            return
        table, leaves = over
    needed = memory.plan_bytes(leaves)
    s.find(
        "statement-memory",
        Severity.NOTICE,
        f"queries over all {count(leaves)} leaves of {table.title} need {size(needed)} of"
        f" statement_mem (default: {size(limit.value)}) where GPORCA does not plan them",
        f"the Postgres planner needs 100 KB for each leaf, so {count(fit)} leaves fit; a query that"
        " needs more fails",
        "use a larger interval, let queries name the partition key, or SET statement_mem ="
        f" '{-(-needed // MIB)}MB' for these statements",
        figures=(
            Figure("needed", needed, "bytes", "derived"),
            Figure(limit.id, limit.value, limit.unit, "limit"),
        ),
        source=limit.source,
        relation=table.title,
    )
