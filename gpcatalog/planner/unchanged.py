"""Why partitions are not changed: the number of leaves by reason, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from gpcatalog.model.names import listed, printable
from gpcatalog.planner.plan import Left
from gpcatalog.planner.sets.keep_reasons import DEPENDENT_FACTS, WHY_TEXT, KeepReason

if TYPE_CHECKING:
    from gpcatalog.planner.curve import Curves
    from gpcatalog.planner.sets.reader import Reader
    from gpcatalog.planner.sets.roots import Root
    from gpcatalog.planner.steps import StepBuilder

OBJECTS_SHOWN = 3  # maximum number of dependent objects that a reason names


def above(relations: Mapping[int, tuple[int, str]], oid: int) -> set[int]:
    """Return the OIDs of a relation and of all partitions above it, without the root.

    relations: OID of the parent, and name, of each partition of the table, by OID
    """
    found = set[int]()
    while oid in relations and oid not in found:
        found.add(oid)
        oid = relations[oid][0]
    return found


def _depends(fact: str, detail: str, name: str) -> str:
    """One object that depends on the partition of this name."""
    if fact == "needed by another object":
        return printable(f"{detail}, which needs {name}")
    return printable(f"{fact} {detail} of {name}")


def first_dependent(root: Root, relations: Mapping[int, tuple[int, str]], oid: int) -> str:
    """Return the first object that depends on a partition or on one below it, with the name of the
    latter; empty if there is none.

    relations: as in `above`; oid: of the partition
    """
    for fact in DEPENDENT_FACTS:
        for one, detail in root.facts.get(fact, ()):
            if oid in above(relations, one):
                return _depends(fact, detail, relations[one][1])
    return ""


def _dependents(reader: Reader, roots: list[Root]) -> str:
    """The first objects that depend on partitions of these tables, and the number of the others."""
    found = {
        (one, fact, detail): root.oid
        for root in roots
        for fact in DEPENDENT_FACTS
        for one, detail in root.facts.get(fact, ())
        if one != root.oid
    }
    shown = list(islice(found, OBJECTS_SHOWN))
    marks = ", ".join("?" for _ in shown)
    names = {
        r["oid"]: r["name"]
        for r in (
            reader.snapshot.rows(
                f"SELECT oid, name FROM relation WHERE oid IN ({marks})", [one for one, *_ in shown]
            )
            if shown
            else ()
        )
    }
    texts = [_depends(fact, what, names.get(one, "a partition")) for one, fact, what in shown]
    return listed(texts + [""] * (len(found) - len(texts)), OBJECTS_SHOWN)


def left_by_reason(reader: Reader, curves: Curves) -> dict[str, int]:
    """Return the number of leaves that are not changed, by reason. The reason names the first
    objects that depend on partitions.
    """
    found: dict[str, int] = {}
    for root in reader.roots:
        if root.reason:
            found[root.reason] = found.get(root.reason, 0) + root.leaves
    planned = [root for root in reader.roots if not root.reason]
    for why in KeepReason:
        if why is KeepReason.FREE:
            continue
        some = [root for root in planned if curves.stays[root.index, int(why)]]
        if not some:
            continue
        text = WHY_TEXT[why]
        if why is KeepReason.HAS_DEPENDENTS and (objects := _dependents(reader, some)):
            text += f" ({objects})"
        found[text] = found.get(text, 0) + sum(int(curves.stays[r.index, int(why)]) for r in some)
    return found


def left_of(builder: StepBuilder) -> list[Left]:
    """Return the leaves of a table that are not changed, by reason, with up to three examples."""
    root, problem = builder.root, builder.problem
    if root.reason:
        return [Left(root.reason, root.leaves)]
    place = int(np.searchsorted(problem.roots, root.index))
    s, e = int(problem.unit_edges[place]), int(problem.unit_edges[place + 1])
    c = problem.chunk
    found = []
    for why in KeepReason:
        if why is KeepReason.FREE:
            continue
        at = np.flatnonzero((c.why[s:e] == why) & ~(c.droppable[s:e])) + s
        if not len(at):
            continue
        examples = []
        for u in at[:3].tolist():
            oid = int(c.oid[u])
            name = builder.relation[oid].name
            detail = ""
            if why is KeepReason.UNPARSED:
                detail = builder.reader.bounds.reason(root.family, int(c.code[u]))
            elif why is KeepReason.HAS_DEPENDENTS:
                relations = {o: (r.parent or 0, r.name) for o, r in builder.relation.items()}
                relations.pop(root.oid, None)
                detail = first_dependent(root, relations, oid)
            examples.append(f"{name}: {detail}" if detail else name)
        found.append(Left(WHY_TEXT[why], int(c.leaves[at].sum()), tuple(examples)))
    return found
