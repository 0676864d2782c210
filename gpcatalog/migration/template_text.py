"""The text of subpartition templates (Greenplum), for the partitions of a table as they are and
as they will be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpcatalog.migration.introspect import ProbeRunner, Relation, Table
from gpcatalog.migration.introspect import (
    quote_ident_always as quote,
)  # for partitions: Greenplum 6 accepts few keywords as their names
from gpcatalog.model.bounds import BoundKind, joined_list, merged_text, parse
from gpcatalog.model.storage import Storage
from gpcatalog.planner import operations as op


def _bound(text: str) -> str:
    """A bound in the notation of templates, which is the same on every generation.

    >>> _bound("FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')"), _bound("FOR VALUES IN ('a', 'b')")
    ("START ('2024-01-01') END ('2024-02-01')", "VALUES ('a', 'b')")
    """
    bound = parse(text)
    if bound.kind is BoundKind.LIST:
        return joined_list([bound], classic=True)
    if bound.kind is BoundKind.RANGE:
        return merged_text(bound, bound, classic=True)
    raise ValueError(f"the bound {text} is neither a range nor a list")


def _options(leaf: Relation) -> str:
    """The storage in a template. Without it, a new subpartition is heap on Greenplum 6,
    independent of its table.
    """
    found = [
        o
        for o in leaf.options.split(", ")
        if o and o.split("=")[0] not in ("appendonly", "appendoptimized", "orientation")
    ]
    if leaf.storage in (Storage.AO_ROW, Storage.AO_COLUMN):
        found = [
            "appendonly=true",
            f"orientation={'column' if leaf.storage == Storage.AO_COLUMN else 'row'}",
            *found,
        ]
    else:
        found = ["appendonly=false", *found]
    return f" WITH ({', '.join(found)})"


def _element(name: str, bound: str, leaf: Relation) -> str:
    place = f" TABLESPACE {quote(leaf.tablespace)}" if leaf.tablespace else ""
    options = _options(leaf) if leaf.kind == "leaf" else ""
    if leaf.is_default:
        return f"DEFAULT SUBPARTITION {quote(name or 'other')}{options}{place}"
    label = f"SUBPARTITION {quote(name)} " if name else ""
    return f"{label}{_bound(bound)}{options}{place}"


def _name(leaf: Relation, *, classic: bool) -> str:
    """The partition's name: on Greenplum 7, it is only the end of the relation's name."""
    return (
        leaf.partition
        if classic
        else leaf.name.rpartition("_prt_")[2]
        if "_prt_" in leaf.name
        else ""
    )


def elements(
    table: Table, parent: Relation, steps: Sequence[op.AnyStep], *, classic: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The elements of a template that is like the parent's partitions: now, and after these steps.

    Raises ValueError.
    """
    children = sorted(table.children(parent.oid), key=lambda r: r.oid)
    if not children:
        raise ValueError("it has no subpartitions")
    now = tuple(_element(_name(c, classic=classic), c.bound, c) for c in children)
    merged: dict[str, op.Merge] = {}
    gone: set[str] = set()
    for step in steps:
        if isinstance(step, op.Merge) and step.parent_name == parent.name:
            merged |= {u.name: step for u in step.units}
        elif isinstance(step, op.DropEmpty) and step.parent_name == parent.name:
            gone |= {u.name for u in step.units}
    live = {c.name: c for c in children}
    merged_ids: set[str] = set()
    then = []
    for c in children:
        step_ = merged.get(c.name)
        if c.name in gone or (step_ is not None and step_.id in merged_ids):
            continue
        if step_ is None:
            then.append(_element(_name(c, classic=classic), c.bound, c))
            continue
        merged_ids.add(step_.id)
        missing = [u.name for u in step_.units if u.name not in live]
        if missing:
            raise ValueError(f"changed since it was planned: {missing[0]} is gone")
        units = [live[u.name] for u in step_.units]
        parts = [parse(u.bound) for u in units]
        lists = parts[0].kind is BoundKind.LIST
        text = (
            joined_list(parts, classic=True)
            if lists
            else merged_text(parts[0], parts[-1], classic=True)
        )
        then.append(_element(step_.partition, text, units[-1]))
    return now, tuple(then)


def templates_lost(
    table: Table, run_probe: ProbeRunner, derived: Mapping[int, Sequence[str]]
) -> list[str]:
    """Greenplum 7: a sentence for each subpartition template that differs from the partitions. The
    server does not print its storage options, so scripts write it from the partitions.

    derived: by level: the elements for the present partitions
    """
    return [
        f"what distinguishes the subpartition template of level {r['level']} from the partitions: a"
        " rollback writes it from the partitions"
        for r in run_probe("migration_template", root=str(table.root.oid))
        if r["level"] in derived and not _alike(r["element"], derived[r["level"]])
    ]


def _alike(server: str, elements: Sequence[str]) -> bool:
    """Whether a template has these elements, except for their order and storage.

    >>> _alike("SUBPARTITION TEMPLATE(SUBPARTITION a VALUES ('a'), DEFAULT SUBPARTITION o)",
    ...     ['DEFAULT SUBPARTITION "o" WITH (appendonly=false)', "SUBPARTITION a VALUES ('a')"])
    True
    """

    def parts(text: str) -> list[str]:
        plain = re.sub(
            r" WITH \([^()]*\)| TABLESPACE \S+|::[\w ]+|\b(date|timestamp) |[\"\s]", "", text
        )
        return sorted(p.strip(",") for p in re.split(r"(?=(?:DEFAULT)?SUBPARTITION)", plain) if p)

    inside = server.partition("(")[2].rpartition(")")[0]
    return parts(inside) == parts(", ".join(elements))


def set_template(table: str, elements: Sequence[str]) -> str:
    """The statement that sets this subpartition template for a table, or for the partition
    after ALTER TABLE … ALTER PARTITION.
    """
    element_list = ",\n        ".join(elements)
    return f"ALTER TABLE {table} SET SUBPARTITION TEMPLATE (\n        {element_list});"
