"""Intermediate partitions: a unit and the partitions between it and its leaves, now and after
they are created again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpcatalog.migration.introspect import (
    Relation,
    Table,
    common_grants,
    quote_ident_always,
    statistics_targets,
)
from gpcatalog.migration.operations import IntermediatePartition, PathStep, Unit
from gpcatalog.migration.predicates import Refusal
from gpcatalog.model.names import NAMEDATALEN, cut, shortened


class SubtreeChanged(Exception):
    """The reason why subpartitions cannot be matched any more."""


def label(relation: Relation) -> str:
    """The name that a partition gets if Greenplum 6 creates it: its own name, or the number
    with which the server named its relation.
    """
    return relation.partition or relation.name.rpartition("_prt_")[2]


def path(
    table: Table, leaf: Relation, unit: Relation, addresses: dict[int, str]
) -> tuple[PathStep, ...]:
    """Return the path from below a unit down to a leaf; empty if the unit is the leaf."""
    return tuple(
        PathStep(label(r), r.bound, r.name, addresses.get(r.oid, ""))
        for r in table.path_between(leaf.oid, unit.oid)
    )


def middles(
    table: Table, unit: Relation, addresses: dict[int, str]
) -> tuple[IntermediatePartition, ...]:
    """Return a unit and the partitions between it and its leaves, parents first, as they are;
    empty if the unit is the leaf.
    """
    if unit.kind == "leaf":
        return ()
    found: list[IntermediatePartition] = []
    to_do: list[tuple[Relation, tuple[str, ...]]] = [(unit, ())]
    while to_do:
        r, at = to_do.pop(0)
        encodings = tuple(
            (quote_ident_always(c.name), c.encoding)
            for c in table.columns.get(r.oid, ())
            if c.encoding
        )
        indexes = tuple((i, i.name) for i in table.indexes.get(r.oid, ()))
        found.append(
            IntermediatePartition(
                name=r.name,
                label=label(r),
                bound=r.bound,
                path=at,
                like=r,
                grants=r.grants,
                comment=r.comment,
                address=addresses.get(r.oid, ""),
                encodings=encodings,
                indexes=indexes,
                statistics=statistics_targets(table.columns.get(r.oid, ())),
            )
        )
        to_do += [(c, (*at, c.bound)) for c in table.children(r.oid) if c.kind != "leaf"]
    return tuple(found)


def merged(
    units: Sequence[Unit],
    name: str,
    new_label: str,
    bound: str,
    used_names: set[str],
    index_name: Callable[[str, str, str], str],
    *,
    classic: bool,
) -> tuple[IntermediatePartition, ...]:
    """Return the intermediate partitions of a partition that replaces these units. Raises
    SubtreeChanged, and Refusal if partition keys differ.

    It is built like the last unit. Privileges are those that all units grant, as for leaves;
    comments are joined.
    index_name: returns the name of an index for its old table, its old name and its new table
    """
    found: list[IntermediatePartition] = []
    names: dict[tuple[str, ...], tuple[str, str]] = {}  # by path: relation name before and after
    for m in units[-1].middles:
        same = [next((x for x in u.middles if x.path == m.path), None) for u in units]
        parts = [x for x in same if x is not None]
        if len(parts) != len(units):
            raise SubtreeChanged(
                f"not all of its partitions have a subpartition {', '.join(m.path)}"
            )
        if other := next((p for p in parts if p.like.split != m.like.split), None):
            raise Refusal(
                f"{other.name} is partitioned by {other.like.split}, but {m.name} by {m.like.split}"
            )
        if m.path:
            old_parent, parent = names[m.path[:-1]]
            new = child_name(parent, m.like, old_parent, used_names, classic=classic)
        else:
            new = name
        names[m.path] = (m.name, new)
        comment = "\n".join(dict.fromkeys(p.comment for p in parts if p.comment))
        grants = common_grants([p.grants for p in parts])
        same_place = m if m.path else replace(m, label=new_label, bound=bound)
        indexes = tuple((i, index_name(m.name, i.name, new)) for i, _ in m.indexes)
        found.append(replace(same_place, name=new, grants=grants, comment=comment, indexes=indexes))
    return tuple(found)


def child_name(
    parent: str, like: Relation, old_parent: str, used_names: set[str], *, classic: bool
) -> str:
    """Name of the relation of a partition below `parent` that replaces `like` below `old_parent`.

    Greenplum 6 chooses the name. On other servers, the parent's name is replaced in the old name,
    and the result is not in use. It has at most 63 bytes.
    """
    if classic:
        tail = f"_{like.level}_prt_{label(like)}"
        return cut(parent, NAMEDATALEN - len(cut(tail).encode())) + cut(tail)
    rest = (
        like.name[len(old_parent) :]
        if like.name.startswith(old_parent) and like.name != old_parent
        else f"_{like.name}"
    )
    for n in range(1, 10_000):
        tail = cut(rest if n == 1 else f"{cut(rest, 30)}_{n}", 40)
        found = shortened(parent, NAMEDATALEN - len(tail.encode())) + tail
        if found not in used_names:
            used_names.add(found)
            return found
    raise SubtreeChanged("no free name: 10,000 names are in use")
