"""The transactions that replace partitions by new ones: one transaction while writers wait, or
several that copy while writers continue.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from gpcatalog.migration.journal import SCHEMA
from gpcatalog.migration.operations import Context, StagingTable
from gpcatalog.migration.writer import Phase, Phases, Writer, array, call, literal
from gpcatalog.model.names import qualified

if TYPE_CHECKING:
    from gpcatalog.migration.steps.replace_partitions import ReplacePartitions


def _guard(
    writer: Writer, context: Context, swap: ReplacePartitions, *, done: str, exact: bool
) -> list[str]:
    """Return the statements that stop the step unless its partitions are as planned, and not
    larger.
    """
    guard = writer.guard(
        context, swap, done=done, exact=exact, partitions=[u.relation for u in swap.gone]
    )
    if swap.limit_bytes is not None:
        guard.append(call("expect_bytes", array(r.sql for r in swap.leaves), str(swap.limit_bytes)))
    return guard


def locked(
    writer: Writer,
    context: Context,
    swap: ReplacePartitions,
    *,
    done: str,
    exact: bool,
    most: int | None = None,
) -> list[str]:
    """The transactions of a swap in locked mode.

    most: maximum bytes that all merges of an upkeep script copy; None: no limit
    """
    stages = swap.stages
    guard = _guard(writer, context, swap, done=done, exact=exact)
    budget = []
    if most is not None:
        sizes = " + ".join(_size(leaf.sql) for leaf in swap.leaves)
        budget = [f"IF NOT {SCHEMA}.may_copy({sizes}, {most}) THEN RETURN; END IF;"]
    phases: Phases = [
        (Phase.GUARD, [*guard, *budget, *writer.requirements(swap.needs)]),
        (Phase.LOCK, [writer.writers_out(context, swap), *guard]),
        (Phase.STAGE, [line for s in stages for line in writer.make_stage(context, swap, s)]),
        (Phase.COPY, [line for s in stages for line in writer.copies(context, s)]),
        (
            Phase.PROVE,
            [
                *writer.prove_old(context, swap),
                *writer.prove_new(context, swap),
                *writer.compare(context, swap, swap.rows),
            ],
        ),
        # CREATE INDEX and ANALYZE run functions of the table's owner with the owner's privileges:
        # the following check finds what they added
        (
            Phase.INDEX,
            [
                *(line for s in stages for line in [*writer.indexes(s), writer.statistics(s)]),
                writer.trusted(context, swap),
            ],
        ),
        *writer.exchange(context, swap),
        (Phase.NOTE, writer.note(context, swap, done)),
    ]
    return [*writer.before(context, swap, done), writer.block(context, swap, phases)]


def online(writer: Writer, context: Context, swap: ReplacePartitions, *, exact: bool) -> list[str]:
    """The transactions of a swap in online mode: build, copy, index; then compare again under
    the lock, and swap.
    """
    guard = _guard(writer, context, swap, done="done", exact=exact)
    return [
        *writer.before(context, swap, "done"),
        writer.block(context, swap, _build(writer, context, swap, guard=guard)),
        writer.block(context, swap, _copy(writer, context, swap)),
        writer.block(context, swap, _index(writer, context, swap)),
        writer.block(context, swap, _swap(writer, context, swap, guard=guard)),
    ]


def instalments(
    writer: Writer, context: Context, swap: ReplacePartitions, *, most: int
) -> list[str]:
    """The transactions of a swap whose leaves are copied one by one, over several nights if a run
    may not copy all of them.

    most: maximum bytes that all merges of a run copy
    """
    guard = _guard(writer, context, swap, done="done", exact=False)
    pieces = [
        (stage, source, f"{swap.id} {source}")
        for stage in swap.stages
        for source, _ in stage.sources
    ]
    names = [piece for _, _, piece in pieces]
    # the window applies to each leaf
    untimed = replace(swap, needs=replace(swap.needs, seconds=0.0))
    digest = _digest(writer, context, swap)
    build, *rest = _build(
        writer, context, untimed, guard=[*guard, *_restarted(context, swap, names, digest)]
    )
    rest[-1][1].append(
        call("staged_for", literal(context.root.sql), literal(swap.id), literal(digest))
    )
    plan = literal(context.plan)
    waiting = " OR ".join(f"{SCHEMA}.state({plan}, {literal(p)}) <> 'copied'" for p in names)
    ready, *indexed = _index(writer, context, swap)
    # not before all leaves are copied
    ready[1][:] = [
        _unless(context, swap, "<> 'staged'"),
        f"IF {waiting} THEN RETURN; END IF;",
        writer.trusted(context, swap),
    ]
    end = _swap(writer, context, swap, guard=guard)
    end[0][1].insert(len(guard), _unless(context, swap, "<> 'built'"))
    return [
        writer.block(context, swap, [build, *rest]),
        *(
            writer.block(context, swap, _piece(writer, context, swap, stage, source, piece, most))
            for stage, source, piece in pieces
        ),
        writer.block(context, swap, [ready, *indexed]),
        *writer.before(context, swap, "done", [_unless(context, swap, "<> 'built'")]),
        writer.block(context, swap, end),
    ]


def _digest(writer: Writer, context: Context, swap: ReplacePartitions) -> str:
    """A checksum of everything from which the staging tables are built: if it differs, they are
    built again.
    """
    lines = [context.signature, *context.columns]
    for s in swap.stages:
        lines += [*writer.make_stage(context, swap, s), *writer.indexes(s), *s.properties.late]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _size(relation: str) -> str:
    """The expression for the bytes of a relation."""
    return f"pg_catalog.pg_relation_size({literal(relation)}::pg_catalog.regclass)"


def _restarted(
    context: Context, swap: ReplacePartitions, pieces: list[str], digest: str
) -> list[str]:
    """The statements that drop staging tables of an earlier night if the table has changed
    since then: everything is copied again.
    """
    plan, step, root = literal(context.plan), literal(swap.id), literal(context.root.sql)
    stale = " OR ".join(
        f"{SCHEMA}.stale({step}, {literal(qualified(s.schema, s.name))}, {literal(digest)})"
        for s in swap.stages
    )
    tables = ", ".join(qualified(s.schema, s.name) for s in swap.stages)
    return [
        f"IF {stale} THEN",
        f"    DROP TABLE IF EXISTS {tables};",
        *(
            f"    PERFORM {SCHEMA}.note({plan}, {literal(p)}, 'restarted', {root}, began);"
            for p in (swap.id, *pieces)
        ),
        "END IF;",
    ]


def _piece(
    writer: Writer,
    context: Context,
    swap: ReplacePartitions,
    stage: StagingTable,
    source: str,
    piece: str,
    most: int,
) -> Phases:
    """Copy one leaf, unless an earlier night has copied it, or this run has copied enough.

    piece: name of the copy in the journal; most: maximum bytes that all merges of a run copy
    """
    plan = literal(context.plan)
    return [
        (
            Phase.GUARD,
            [
                _unless(context, swap, "<> 'staged'"),
                f"IF {SCHEMA}.state({plan}, {literal(piece)}) = 'copied' THEN RETURN; END IF;",
                *writer.time(swap.needs.seconds / len(swap.leaves)),
                f"IF NOT {SCHEMA}.may_copy({_size(source)}, {most}) THEN RETURN; END IF;",
                writer.trusted(context, swap),
            ],
        ),
        (Phase.PROVE, [writer.tally(context, swap, "copied", source, f"ONLY {source}")]),
        (Phase.COPY, writer.copies(context, stage, [source])),
        (
            Phase.NOTE,
            [
                call(
                    "note",
                    plan,
                    literal(piece),
                    literal("copied"),
                    literal(context.root.sql),
                    "began",
                )
            ],
        ),
    ]


def _unless(context: Context, swap: ReplacePartitions, condition: str) -> str:
    """The statement that ends a transaction if the state of its step satisfies the condition."""
    state = f"{SCHEMA}.state({literal(context.plan)}, {literal(swap.id)})"
    return f"IF {state} {condition} THEN RETURN; END IF;"


def _noted(context: Context, swap: ReplacePartitions, word: str) -> list[str]:
    """The statement that records the progress of the step."""
    plan, step, root = literal(context.plan), literal(swap.id), literal(context.root.sql)
    return [call("note", plan, step, literal(word), root, "began")]


def _build(
    writer: Writer, context: Context, swap: ReplacePartitions, *, guard: list[str]
) -> Phases:
    """The first transaction: create empty staging tables."""
    return [
        (
            Phase.GUARD,
            [
                *guard,
                _unless(context, swap, "IN ('staged', 'copied', 'built')"),
                *writer.requirements(swap.needs),
            ],
        ),
        (
            Phase.STAGE,
            [line for s in swap.stages for line in writer.make_stage(context, swap, s)],
        ),
        (Phase.NOTE, _noted(context, swap, "staged")),
    ]


def _copy(writer: Writer, context: Context, swap: ReplacePartitions) -> Phases:
    """The second transaction: copy the rows while writers continue."""
    return [
        (
            Phase.GUARD,
            [_unless(context, swap, "<> 'staged'"), writer.trusted(context, swap)],
        ),
        # before the copy: every later change of a leaf is found when the leaf is compared again
        (
            Phase.PROVE,
            [writer.tally(context, swap, "copied", r.sql, f"ONLY {r.sql}") for r in swap.leaves],
        ),
        (Phase.COPY, [line for s in swap.stages for line in writer.copies(context, s)]),
        (Phase.NOTE, _noted(context, swap, "copied")),
    ]


def _index(writer: Writer, context: Context, swap: ReplacePartitions) -> Phases:
    """The third transaction: create indexes and statistics while writers continue."""
    return [
        (
            Phase.GUARD,
            [_unless(context, swap, "<> 'copied'"), writer.trusted(context, swap)],
        ),
        (
            Phase.INDEX,
            [line for s in swap.stages for line in [*writer.indexes(s), writer.statistics(s)]],
        ),
        (Phase.NOTE, _noted(context, swap, "built")),
    ]


def _copied_again(writer: Writer, context: Context, swap: ReplacePartitions) -> list[str]:
    """The statements that copy leaves again that have changed since they were copied."""
    plan, step = literal(context.plan), literal(swap.id)
    columns = ", ".join(context.copied)
    again = writer.prove_old(context, swap)
    for stage in swap.stages:
        table = qualified(stage.schema, stage.name)
        for (source, _), piece in zip(stage.sources, stage.slices, strict=True):
            again.append(
                f"IF {SCHEMA}.differs({plan}, {step}, {literal(source)}) THEN DELETE FROM"
                f" {table} WHERE {piece}; INSERT INTO {table} ({columns}) SELECT {columns} FROM"
                f" ONLY {source}; END IF;"
            )
    return again


def _swap(writer: Writer, context: Context, swap: ReplacePartitions, *, guard: list[str]) -> Phases:
    """The last transaction: writers wait, changed leaves are copied again, then the swap."""
    plan, step = literal(context.plan), literal(swap.id)
    tables = [qualified(s.schema, s.name) for s in swap.stages]
    # if a row was copied and deleted again before its leaf was compared, no leaf differs: then all
    # leaves are copied again
    once_more = [
        *(f"TRUNCATE TABLE ONLY {table};" for table in tables),
        *(line for s in swap.stages for line in writer.copies(context, s)),
        *writer.prove_new(context, swap),
    ]
    locks = replace(swap.needs, segment_bytes=0, seconds=0.0)
    return [
        (Phase.GUARD, [*guard, *writer.requirements(locks)]),
        (Phase.READERS, [writer.readers_done(context, swap)]),
        (Phase.LOCK, [writer.writers_out(context, swap), *guard]),
        (Phase.RECHECK, _copied_again(writer, context, swap)),
        (
            Phase.PROVE,
            [
                *writer.prove_new(context, swap),
                f"IF NOT {SCHEMA}.alike({plan}, {step}, 'old', 'new') THEN",
                *("    " + line for line in once_more),
                "END IF;",
                *writer.compare(context, swap, swap.rows),
            ],
        ),
        *writer.exchange(context, swap),
        (Phase.NOTE, writer.note(context, swap, "done")),
    ]
