"""Shapes of a live table and all relations below it, from rows of probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpcatalog.capacity.generation import generation
from gpcatalog.capacity.model import Index, Place, Shape
from gpcatalog.capacity.toast import needs_toast
from gpcatalog.model.quantity import plural
from gpcatalog.model.storage import Storage

BOOTSTRAP = 10  # oid of the role that initdb creates; its objects have no row in pg_shdepend

_PLACES = {
    "table": Place.PLAIN,
    "root": Place.ROOT,
    "intermediate": Place.INTERMEDIATE,
    "leaf": Place.LEAF,
}


def shapes(
    server: str,
    oid: int,
    relations: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, Any]],
    indexes: Sequence[Mapping[str, Any]],
    checks: int,
) -> dict[Shape, int]:
    """Return the table `oid` and its partitions as shapes with their number.

    relations: rows of the probe `relations` for this table and the relations whose root it is
    columns:   type, typmod, plain, dropped, not_null, has_default of the table's columns
    indexes:   columns, owned (by a constraint) and bitmap of the table's indexes
    checks:    number of its CHECK constraints, including those that the server created for its
               bounds
    Partitions are assumed to have the defaults, NOT NULL and CHECK constraints of the table, and
    partition keys to have one column; subpartition templates (a few rows on the coordinator) are
    not read.
    """
    gen = generation(server)
    live = [x for x in columns if not x["dropped"]]
    dropped = len(columns) - len(live)
    needed = needs_toast(
        gen, [(x["type"], x["typmod"]) for x in live], plain={x["type"] for x in live if x["plain"]}
    )
    own = tuple(Index(x["columns"], constraint=x["owned"], bitmap=x["bitmap"]) for x in indexes)
    by_oid = {x["oid"]: x for x in relations}
    storages = [Storage(x["storage"]) for x in relations if x["kind"] in ("table", "leaf")]
    common = max(set(storages), key=storages.count, default=Storage.HEAP)
    levels = max((x["level"] for x in relations), default=1)

    def bounds(row: Mapping[str, Any] | None) -> int:
        found = 0
        while row is not None and row["level"] > 0:
            found += not row["is_default"]
            row = by_oid.get(row["parent"])
        return found

    if gen.rule_catalogs:
        checks = max(
            0, checks - bounds(by_oid.get(oid))
        )  # CHECK constraints of a partition's bounds are not CHECK constraints of its table

    found: dict[Shape, int] = {}
    for row in relations:
        place = _PLACES[row["kind"]]
        storage = Storage(row["storage"])
        if place.parent and storage not in gen.storages:
            storage = common  # the root has no storage on PostgreSQL
        lost = min(dropped, row["columns"])
        shape = Shape(
            storage,
            row["columns"] - lost,
            toastable=(
                row["toast"]
                if storage in gen.toast and (gen.root_is_table or not place.parent)
                else needed
            ),
            dropped=lost,
            indexes=own
            if row["indexes"] == len(own)
            else _split(row["indexes"], row["index_columns"]),
            place=place,
            bounds=bounds(row) if place.child else 0 if place is Place.ROOT else 1,
            levels=max(levels, 1) if place is Place.ROOT else 1,
            not_null=sum(x["not_null"] for x in live),
            defaults=sum(x["has_default"] for x in live),
            checks=checks,
            owned=row["owner"] != BOOTSTRAP,
            unlogged=row["persistence"] == "u",
        )
        found[shape] = found.get(shape, 0) + 1
    return found


def _split(indexes: int, columns: int) -> tuple[Index, ...]:
    """Plain indexes with this number of columns together. Costs are linear, so the distribution of
    the columns to the indexes does not matter.
    """
    if not indexes:
        return ()
    return (Index(columns - indexes + 1), *(Index(1) for _ in range(indexes - 1)))


_OTHERS = {
    "sequences": ("owned sequence", "owned sequences"),
    "foreign_keys": ("foreign key", "foreign keys"),
    "referencing": ("foreign key of another table", "foreign keys of other tables"),
    "triggers": ("trigger", "triggers"),
    "rules": ("rule", "rules"),
    "others": ("policy or statistics object", "policies and statistics objects"),
    "parents": ("inherited table", "inherited tables"),
    "own_types": ("column of a type of its own", "columns of types of their own"),
    "special_indexes": (
        "index with an expression or predicate, of a deferrable or exclusion constraint",
        "indexes with expressions or predicates, of deferrable or exclusion constraints",
    ),
}


def not_counted(found: Mapping[str, Any], *, partition: bool) -> list[str]:
    """What a table has whose rows and files its shapes do not include, as a note; [] for nothing.

    found: the row of the probe `table_others`; partition: it is a partition, so its parent is
    counted
    """
    numbers = {**found, "parents": 0 if partition else found["parents"]}
    parts = [plural(numbers[key], *names) for key, names in _OTHERS.items() if numbers[key]]
    parts += [word for word in ("privileges", "comments") if found[word]]
    return [f"rows and files not counted: {', '.join(parts)}"] if parts else []
