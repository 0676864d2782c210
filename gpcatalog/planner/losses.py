"""Losses of the steps of a plan: properties that differ between partitions, merged by the same
rules as in a migration.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from gpcatalog.model.properties import FACT, Properties
from gpcatalog.model.quantity import plural
from gpcatalog.model.traits import (
    TraitConflict,
    Traits,
    converted,
    index_properties_lost,
    merged,
    of_heap,
    privileges_lost,
    replaced,
)
from gpcatalog.planner import operations as op

if TYPE_CHECKING:
    from gpcatalog.planner.plan import TablePlan
    from gpcatalog.planner.sets.reader import Reader

_PRIVILEGE, _INDEXES, _COMMENT = "privilege", ("index properties", ""), ("table comment", "")


COMMENTS_SHOWN = 20  # maximum number of partitions whose lost comments are listed by name


def comments_lost(names: Sequence[str]) -> list[str]:
    """Return sentences on the comments of these partitions, which no relation gets."""
    found = [f"comment on {name}" for name in names[:COMMENTS_SHOWN]]
    if len(names) > COMMENTS_SHOWN:
        found.append(f"comments on {plural(len(names) - COMMENTS_SHOWN, 'other partition')}")
    return found


def comments_merged(comments: Sequence[str]) -> list[str]:
    """Return a sentence if the comments of merged partitions differ: the new partition gets all
    of them.

    comments: of each part; empty if it has none

    >>> comments_merged(["a", "a"]), comments_merged(["", "a"])
    ([], ['comment on 1 of 2 partitions: it becomes the comment of the whole new partition'])
    """
    given = [c for c in comments if c]
    if len(set(comments)) < 2:
        return []
    one = len(set(given)) == 1
    what, becomes = ("comment", "it becomes") if one else ("comments", "they become, one per line,")
    number = f"{len(given)} of {plural(len(comments), 'partition')}"
    return [f"{what} on {number}: {becomes} the comment of the whole new partition"]


def possible(reader: Reader, plans: Sequence[TablePlan]) -> set[int]:
    """Indexes of the roots whose steps may lose something.

    These are tables whose partitions differ in properties, and, if leaves are converted, tables
    with a leaf that has storage options that only heap tables support.
    """
    rows = reader.snapshot.rows("SELECT DISTINCT root, options FROM relation WHERE options <> ''")
    with_options = {
        row["root"] for row in rows if any(of_heap(o) for o in row["options"].split(", "))
    }
    return {
        root.index
        for root in reader.roots
        if FACT in root.facts or (plans[root.index].converted and root.oid in with_options)
    }


def _split(properties: Traits) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Split properties into traits that the rules merge, and privileges."""
    plain = {
        k: v for k, v in properties.items() if k[0] != _PRIVILEGE and k not in (_INDEXES, _COMMENT)
    }
    return plain, [name for what, name in properties if what == _PRIVILEGE]


def lost(properties: Properties, step: op.AnyStep) -> tuple[str, ...]:
    """Return sentences on the losses of a step, as in `gpcatalog migrate`."""
    return tuple(dict.fromkeys(_lost(step, properties)))


@singledispatch
def _lost(step: op.Step, properties: Properties) -> list[str]:
    """Return the sentences for one kind of step. A kind without its own function loses nothing."""
    return []


@_lost.register(op.Merge)
@_lost.register(op.Convert)
def _(step: op.Merge | op.Convert, properties: Properties) -> list[str]:
    found: list[str] = []
    for lane, new in enumerate(step.new):
        parts = [leaf for leaf in step.leaves if leaf.lane == lane]
        like = next((leaf for leaf in parts if leaf.oid == new.like), parts[-1])
        found += _merged(properties, [*(p for p in parts if p.oid != like.oid), like], new.storage)
    if isinstance(step, op.Merge):
        for lane in range(len(step.new)):
            parts = [leaf for leaf in step.leaves if leaf.lane == lane]
            found += comments_merged([properties.of(p.oid).get(_COMMENT) or "" for p in parts])
    leaves = {leaf.oid for leaf in step.leaves}
    if step.units and leaves.isdisjoint(
        u.oid for u in step.units
    ):  # partitions with partitions of their own
        found += comments_merged([properties.of(u.oid).get(_COMMENT) or "" for u in step.units])
        above = [_split(properties.of(u.oid))[1] for u in step.units]
        found += privileges_lost(above, set.intersection(*map(set, above)), "the new partition")
    return found


@_lost.register
def _(step: op.Flatten, properties: Properties) -> list[str]:
    found: list[str] = []
    for unit, leaf in zip(step.units, step.leaves, strict=True):
        was, granted = _split(properties.of(unit.oid))
        then, kept = _split(properties.of(leaf.oid))
        found += [*privileges_lost([granted], kept, leaf.name), *replaced([was], then)]
        if _COMMENT in properties.of(unit.oid):
            found.append(
                f"comment on {unit.name}: the new partition has the comment of {leaf.name}"
            )
    return found


def _merged(properties: Properties, parts: Sequence[op.Leaf], storage: str) -> list[str]:
    """Losses of a leaf that is merged from these parts with this storage; the last part counts
    as the newest.
    """
    every = [properties.of(p.oid) for p in parts]
    split = [_split(p) for p in every]
    kept = set.intersection(*(set(privileges) for _, privileges in split))
    try:
        traits, found = merged([plain for plain, _ in split], _split(properties.of())[0])
        newest = parts[-1]
        found += (
            converted(traits, storage, newest.options)[1]
            if storage and storage != newest.storage
            else []
        )
    except TraitConflict:  # a migration refuses this step and reports the reason
        found = []
    found += privileges_lost([privileges for _, privileges in split], kept, "the new partition")
    return found + index_properties_lost(
        [p.get(_INDEXES) for p in every], every[-1].get(_INDEXES), parts[-1].name
    )


@_lost.register
def _(step: op.Unpartition, properties: Properties) -> list[str]:
    every: list[dict[tuple[str, str], Any]] = [properties.of(leaf.oid) for leaf in step.leaves]
    table, kept = _split(properties.of())
    toast = {p.get(("toast options", "")) for p in every}
    if len(toast) == 1 and (text := toast.pop()) is not None:
        table["toast options", ""] = (
            # a partitioned table has no TOAST table: options that are the same on all leaves are
            # kept
            text
        )
    split = [_split(p) for p in every]
    found = [
        *replaced([plain for plain, _ in split], table),
        *privileges_lost([p for _, p in split], kept, "the table"),
    ]
    return found + comments_lost(
        [leaf.name for leaf, p in zip(step.leaves, every, strict=True) if _COMMENT in p]
    )
