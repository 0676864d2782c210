"""Partitioned tables of a snapshot: their keys, the planned level, and the reasons why a whole
table is not changed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from gpcatalog.capacity.model import Index
from gpcatalog.model import generations
from gpcatalog.model.bounds import (
    Family,
    family,
)
from gpcatalog.model.properties import of_facts
from gpcatalog.planner.calendar_age import whole_months
from gpcatalog.planner.costs import RootShape
from gpcatalog.planner.operations import (
    CHECK_NOT_VALID,
    KEY_NOT_COMPARED,
    no_comparison,
    no_exchange_with_check,
)
from gpcatalog.planner.policy import Policy, ResolvedPolicy, interval_days, resolve_policy, rule_key
from gpcatalog.planner.sets.arrays import SLOTS
from gpcatalog.store.snapshot import Snapshot


@dataclass
class Key:
    """One level of a partition key, as in the snapshot."""

    level: int
    strategy: str
    key: str
    key_types: str
    has_template: bool

    @property
    def parts(self) -> list[str]:
        """Types of the columns of the key; '' for an expression.

        The names of columns do not show how many there are: a name may contain a comma.

        >>> Key(0, "range", "a, b", 'numeric(10,2), "odd, type"[], ', False).parts
        ['numeric(10,2)', '"odd, type"[]', '']
        """
        found = [""]
        for piece in re.findall(r'"[^"]*"|\([^)]*\)|, |.', self.key_types, re.S):
            if piece == ", ":
                found.append("")
            else:
                found[-1] += piece
        return found


@dataclass(kw_only=True)
class Root:
    """One partitioned table.

    level:   depth of the units that are merged (1 below the root), 0 if none are
    cut_level: depth of the partitions with ranges of time or numbers, even if nothing is merged; 0
               if there are none
    reason:  why no partitions of it are merged; empty if it is planned
    blocked: whether the reason prevents all other operations, too
    removable: blocked, but partitions past their retention can be detached or dropped
    several: families of the columns of a range key with several columns
    numeric: whether the key is of type numeric: its axis is that of whole numbers, or that of
             decimals if its bounds need it
    lists:   whether units are sorted list values, and cells are numbers of values
    widths:  integer keys: widths of the cells, in slots 0…; calendar keys use grains
    digits:  8 or 6 if integers are dates (20240131, 202401)
    shift:   microseconds by which the calendar is moved: local midnights of a timestamptz key
    """

    oid: int
    schema: str
    name: str
    storage: str
    options: str
    depth: int
    leaves: int
    keys: list[Key]
    policy: ResolvedPolicy
    facts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    level: int = 0
    cut_level: int = 0
    reason: str = ""
    blocked: bool = False
    removable: bool = False
    family: Family = Family.OTHER
    several: tuple[Family, ...] = ()
    numeric: bool = False
    lists: bool = False
    widths: tuple[int, ...] = ()
    digits: int = 0
    shift: int = 0
    index: int = 0

    @property
    def calendar(self) -> bool:
        """True if the axis is time."""
        return self.family.time or self.digits > 0

    @property
    def key(self) -> str:
        """Column by which the planned level is partitioned."""
        return next((k.key for k in self.keys if k.level == self.level - 1), "")


def root_shape(facts: dict[str, list[tuple[int, str]]], leaves: int) -> RootShape:
    """Return columns and indexes of a root from its facts; leaves: number of its leaves."""
    columns = json.loads(facts["columns"][0][1]) if "columns" in facts else {}
    indexes = tuple(
        Index(
            int(i["columns"]),
            bool(i["constraint"]),
            int(i.get("depends", 0)),
            bool(i.get("bitmap")),
        )
        for i in (json.loads(d) for _, d in facts.get("index", ()))
    )
    counts = {
        k: int(columns.get(k, 0)) for k in ("live", "not_null", "defaults", "checks", "depends")
    }
    rows = json.loads(facts["rows of leaves"][0][1]) if "rows of leaves" in facts else {}
    other = tuple((catalog, n / leaves) for catalog, n in sorted(rows.items()) if leaves)
    return RootShape(**counts, indexes=indexes, other=other)


def _choose_level(root: Root) -> None:
    """Choose the level that is merged: the first range level of one time column, otherwise the
    first of a number, otherwise lists if the policy requires it.
    """
    best: tuple[int, int] | None = None
    for k in root.keys:
        kinds = [family(part) for part in k.parts]
        if k.strategy == "range" and all(kind.ordered for kind in kinds):
            rank = (0 if kinds[0].time else 1, k.level)
            if best is None or rank < best:
                best = rank
    if best is not None:
        root.level = best[1] + 1
        parts = [family(part) for part in next(k for k in root.keys if k.level == best[1]).parts]
        root.family, root.several = parts[0], tuple(parts) if len(parts) > 1 else ()
        if root.family is Family.NUMERIC and not root.several:
            root.family, root.numeric = Family.INTEGER, True  # until its bounds are read
        return
    strategies = {k.strategy for k in root.keys}
    if (
        root.policy.merge_lists > 1
        and root.keys
        and root.keys[-1].strategy == "list"
        and len(root.keys[-1].parts) == 1
        and root.keys[-1].parts[0]
    ):
        root.level, root.lists, root.family = root.keys[-1].level + 1, True, Family.INTEGER
        doublings: list[int] = []
        n = 2
        while n <= root.policy.merge_lists and len(doublings) < SLOTS - 1:
            doublings.append(n)
            n *= 2
        root.widths = tuple(doublings)
        return
    if not root.keys:
        root.reason = "its partition key was not read"
    elif "hash" in strategies:
        root.reason = "hash partitions cannot be merged"
    elif strategies == {"list"} and root.policy.merge_lists > 1:
        several = len(root.keys[-1].parts) > 1
        root.reason = f"its list key {'has several columns' if several else 'is an expression'}"
    elif strategies == {"list"}:
        root.reason = "list partitions are merged only if the policy has merge_lists"
    elif any("" in k.parts for k in root.keys):
        root.reason = "its key is an expression, whose order is not known"
    elif any(len(k.parts) > 1 for k in root.keys):
        root.reason = "its range key has several columns, and not all are dates or numbers"
    else:
        types = ", ".join(sorted({k.key_types for k in root.keys if k.strategy == "range"}))
        root.reason = f"range keys of type {types} are neither dates nor integers"


def _table_obstacles(root: Root, *, classic: bool) -> None:
    facts = root.facts
    if root.policy.skip:
        root.reason, root.level = "the policy has skip for this table", 0
        return
    planned = root.reason
    if any(detail == "REPLICATED" for _, detail in facts.get("distribution", ())):
        root.reason = (
            "the table is replicated; partitions of a replicated table cannot be exchanged"
        )
    elif "foreign key" in facts or _REFERENCED in facts:
        names = ", ".join(
            sorted({d for f in ("foreign key", _REFERENCED) for _, d in facts.get(f, ())})[:3]
        )
        has = "foreign keys reference it" if _REFERENCED in facts else "it has foreign keys"
        root.reason = f"{has} ({names})"
    elif "publication of all tables" in facts or "publication of its schema" in facts:
        name = (facts.get("publication of all tables") or facts["publication of its schema"])[0][1]
        what = "every table" if "publication of all tables" in facts else "its whole schema"
        root.reason = (
            f"publication {name} publishes {what}; new partitions would be sent to subscribers"
            " that do not have them"
        )
    elif any(o == root.oid for o, _ in facts.get("publication", ())):
        name = next(d for o, d in facts["publication"] if o == root.oid)
        root.reason = f"publication {name} publishes it; subscribers would not get the exchange"
    elif any(o == root.oid for o, _ in facts.get("index that is not valid", ())):
        name = next(d for o, d in facts["index that is not valid"] if o == root.oid)
        root.reason = (
            f"index {name} is not valid; attaching a partition would build it on all partitions"
        )
    elif CHECK_NOT_VALID in facts:
        root.reason = no_exchange_with_check(facts[CHECK_NOT_VALID][0][1])
    elif KEY_NOT_COMPARED in facts:
        root.reason = no_comparison(facts[KEY_NOT_COMPARED][0][1])
    elif "other schema" in facts:
        place = facts["other schema"][0][1]
        root.reason = (
            f"it has partitions in schema {place}, but Greenplum 6 would create new ones in"
            f" {root.schema}"
        )
    elif classic and (
        dependents := [
            f"{f} {d}" for f in ("rule", "trigger") for o, d in facts.get(f, ()) if o == root.oid
        ]
    ):
        root.reason = f"it has {dependents[0]}, which Greenplum 6 does not copy to new partitions"
    root.blocked |= root.reason != planned
    root.removable = root.blocked and not classic and _removable(root)
    if root.reason:
        root.level = 0


def _removable(root: Root) -> bool:
    """Whether partitions can be removed although they cannot be exchanged: not if the table is
    referenced, or if the policy skips it.
    """
    return not (
        root.policy.skip
        or any(o == root.oid for o, _ in root.facts.get(_REFERENCED, ()))
        or not root.facts.keys() & _OF_EXCHANGES
    )


_REFERENCED = "referenced by foreign key"
_OF_EXCHANGES = {
    "foreign key",
    "publication",
    "publication of all tables",
    "publication of its schema",
    "index that is not valid",
    KEY_NOT_COMPARED,
}
"""Facts that prevent merges, but not DETACH PARTITION or DROP TABLE."""


def trigger_states(root: Root) -> list[tuple[int, str]]:
    """Partitions whose trigger has another state than on the table, with its name, unless all
    of them have the same state.
    """
    properties = of_facts(root.facts)
    return [] if properties is None else properties.uneven("trigger", root.leaves)


_COPIED = (
    "default",
    "not null",
    "not null comment",
    "comment",
    "storage",
    "compression",
    "check",
    "check comment",
)
"""Properties that a new intermediate partition gets from the partition that it is created like
(tested: PostgreSQL 18, Greenplum 7).
"""


def properties_between(
    snapshot: Snapshot, root: Root, *, classic: bool
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return intermediate partitions whose properties a merge would not keep, and those with any
    properties of their own.

    Privileges and comments are kept or listed.
    """
    properties = of_facts(root.facts)
    if properties is None or root.depth < 2:
        return [], []
    oids = [
        r["oid"]
        for r in snapshot.rows(
            "SELECT oid FROM relation WHERE root = ? AND kind = 'intermediate' ORDER BY oid",
            [root.oid],
        )
    ]
    table = properties.of()
    all_of = {
        oid: {
            k: v
            for k, v in properties.of(oid).items()
            if k[0] not in ("privilege", "table comment")
        }
        for oid in oids
    }
    own = [
        (oid, f"{k[0]} {k[1]}".strip())
        for oid in oids
        for k, v in all_of[oid].items()
        if v != table.get(k)
    ]
    lost = [(oid, name) for oid, name in own if classic or not name.startswith(_COPIED)]
    for key in sorted({k for of in all_of.values() for k in of if k[0] in _COPIED}):
        values = Counter(of.get(key) for of in all_of.values())
        usual = values.most_common(1)[0][0]
        lost += [
            (oid, f"{key[0]} {key[1]}".strip())
            for oid in oids
            if not classic and all_of[oid].get(key) != usual
        ]
    return lost, own


def partman_keep(facts: dict[str, list[tuple[int, str]]]) -> float | None:
    """Days after which pg_partman removes a leaf of this table; None if it removes none, or if
    its retention is a number.
    """
    try:
        return interval_days(_partman_retention(facts))
    except ValueError:
        return None


def partman_months(facts: dict[str, list[tuple[int, str]]]) -> int:
    """The same in calendar months; 0 if it is not a whole number of them."""
    return whole_months(_partman_retention(facts))


def _partman_retention(facts: dict[str, list[tuple[int, str]]]) -> str:
    if "pg_partman" not in facts:
        return ""
    return str(json.loads(facts["pg_partman"][0][1]).get("retention") or "")


def _keys(snapshot: Snapshot) -> dict[int, list[Key]]:
    """Partition keys of every table, by OID of the root, ordered by level."""
    keys: dict[int, list[Key]] = {}
    for r in snapshot.rows(
        'SELECT root, level, strategy, "key", key_types, has_template FROM partition_key ORDER BY'
        " root, level"
    ):
        keys.setdefault(r["root"], []).append(
            Key(
                r["level"],
                r["strategy"],
                r["key"] or "",
                r["key_types"] or "",
                bool(r["has_template"]),
            )
        )
    return keys


def _facts(snapshot: Snapshot) -> dict[int, dict[str, list[tuple[int, str]]]]:
    """Facts of every table, by OID of the root and name: (OID of the relation, detail)."""
    facts: dict[int, dict[str, list[tuple[int, str]]]] = {}
    for r in snapshot.rows(
        "SELECT root, oid, fact, detail FROM partition_fact ORDER BY root, fact, oid, detail"
    ):
        facts.setdefault(r["root"], {}).setdefault(r["fact"], []).append(
            (r["oid"], r["detail"] or "")
        )
    if generations.is_classic(snapshot.header["generation"]):
        # ALTER TABLE … SET SCHEMA moves only the root on Greenplum 6
        for r in snapshot.rows(
            "WITH used AS (SELECT root, kind = 'root' AS own, \"schema\" FROM relation"
            " WHERE kind IN ('root', 'leaf', 'intermediate') GROUP BY ALL)"
            ' SELECT p.root AS oid, min(p."schema") AS place FROM used t JOIN used p ON p.root ='
            ' t.root AND p."schema" <> t."schema" WHERE t.own AND NOT p.own GROUP BY p.root'
        ):
            facts.setdefault(r["oid"], {})["other schema"] = [(r["oid"], r["place"])]
    return facts


def _add_facts(snapshot: Snapshot, root: Root, *, classic: bool) -> None:
    """Add facts that follow from the properties of its partitions."""
    for oid, name in trigger_states(root):
        root.facts.setdefault("trigger", []).append((oid, name))
    kept_not, own = properties_between(snapshot, root, classic=classic)
    if kept_not:
        root.facts["own properties"] = kept_not
    if own:
        root.facts["properties between"] = own


def _obstacles(root: Root, *, classic: bool, unread: str | None) -> None:
    """Set the reason why no partitions of a table are merged, if there is one.

    unread: status of the probe of facts if it was not read
    """
    if (
        classic
        and 0 < root.level < root.depth
        and any(json.loads(d)["constraint"] for _, d in root.facts.get("index", ()))
    ):
        # EXCHANGE below an added partition reports invalid constraints (tested on 6.25.3)
        root.level, root.reason = (
            0,
            "Greenplum 6 cannot exchange subpartitions of a table with a primary or unique key",
        )
    _table_obstacles(root, classic=classic)
    if unread is not None and not root.blocked:
        root.reason = (
            "its views, triggers, policies and foreign keys are unknown (probe"
            f" partition_facts: {unread})"
        )
        root.level, root.blocked = 0, True


def _undecoded(snapshot: Snapshot) -> dict[int, str]:
    """Tables of a database without an encoding whose names or bounds are not UTF-8: one such
    name, by OID of the root.
    """
    if snapshot.header.get("encoding") != "SQL_ASCII":
        return {}
    rows = snapshot.rows(
        "SELECT root, min(\"schema\" || '.' || name) AS name FROM relation"
        ' WHERE contains(name, chr(65533)) OR contains("schema", chr(65533)) OR contains(bound, chr(65533))'
        " GROUP BY root"
    )
    return {row["root"]: row["name"] for row in rows}


def load_roots(snapshot: Snapshot, policy: Policy) -> list[Root]:
    """Every partitioned table of the snapshot, ordered by OID, with the level to plan or the
    reason why there is none. Raises CatalogError.
    """
    keys, facts = _keys(snapshot), _facts(snapshot)
    classic = generations.is_classic(snapshot.header["generation"])
    # if facts were not read, the absence of a fact proves nothing
    unread = next(
        (
            r["status"]
            for r in snapshot.rows(
                "SELECT status FROM coverage WHERE probe = 'partition_facts' AND status <> 'read'"
            )
        ),
        None,
    )
    undecoded = _undecoded(snapshot)
    memo: dict[tuple[int, ...], ResolvedPolicy] = {}
    roots: list[Root] = []
    for r in snapshot.rows("""
        SELECT t.oid, t."schema", t.name, t.storage, t.options, t.persistence, s.depth, s.leaves
          FROM relation t JOIN (SELECT root, max(level)::INTEGER AS depth, count(*) FILTER (kind = 'leaf') AS leaves
                                  FROM relation WHERE kind IN ('leaf', 'intermediate') GROUP BY root) s ON s.root = t.oid
         WHERE t.kind = 'root' ORDER BY t.oid"""):
        rule = rule_key(policy, r["schema"], r["name"])
        if rule not in memo:
            memo[rule] = resolve_policy(policy, r["schema"], r["name"])
        root = Root(
            oid=r["oid"],
            schema=r["schema"],
            name=r["name"],
            storage=r["storage"],
            options=r["options"] or "",
            depth=r["depth"],
            leaves=r["leaves"],
            keys=keys.get(r["oid"], []),
            policy=memo[rule],
            facts=facts.get(r["oid"], {}),
            index=len(roots),
        )
        _choose_level(root)
        root.cut_level = 0 if root.lists else root.level
        if root.policy.keep is None and root.family.time:
            kept = partman_keep(root.facts)
            if kept is not None:
                root.policy = msgspec.structs.replace(
                    root.policy, keep=kept, keep_months=partman_months(root.facts)
                )
        _add_facts(snapshot, root, classic=classic)
        _obstacles(root, classic=classic, unread=unread)
        if r["persistence"] == "t":
            root.reason, root.level, root.blocked = "it is a temporary table", 0, True
        if root.oid in undecoded:
            root.reason = (
                f"its name or bounds, or a partition's ({undecoded[root.oid]}), contain bytes"
                " that are not UTF-8; gpcatalog writes no SQL for them"
            )
            root.level, root.blocked = 0, True
        roots.append(root)
    return roots
