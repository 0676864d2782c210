"""Partition sets of a snapshot as columns: units in order on their axis, the leaves under them, and where merging must stop."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gpcatalog.capacity.generation import Generation
from gpcatalog.capacity.limits import GIB
from gpcatalog.capacity.model import Cluster, Index
from gpcatalog.model.bounds import (
    DAY,
    HOUR,
    INFINITY,
    MINUS_INFINITY,
    OPEN_HIGH,
    OPEN_LOW,
    Axis,
    BoundKind,
    Family,
    Term,
    TermKind,
    TupleEnd,
    added_again,
    axis,
    family,
    first_column,
    parse,
    spelled_dates,
    timestamp_axis,
    tuple_ends,
)
from gpcatalog.model.properties import of_facts
from gpcatalog.model.storage import Storage
from gpcatalog.planner import grid
from gpcatalog.planner.costs import LeafClass, RootShape, Table, heap_files, model_generation
from gpcatalog.planner.ends import Ends
from gpcatalog.planner.policy import Policy, ResolvedPolicy, interval_days, rule_key, wishes_for
from gpcatalog.planner.workload import Workload
from gpcatalog.store.snapshot import Snapshot

CHUNK = 100_000  # leaves read and planned at a time: bounds memory
KEPT = 500_000  # leaves up to which what was prepared is kept, and not read a second time
SLOTS = 9  # widths of cells a set may have: 1..6 are the calendar's grains, integer keys use up to 8 round multiples

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class KeepReason(IntEnum):
    """Why a unit is left as it is, whatever the optimiser would like."""

    FREE = 0
    DEFAULT = 1
    UNPARSED = 2
    HOT = 3
    EXTERNAL = 4
    HANGS_ON = 5
    UNKNOWN_SIZE = 6
    PAST_RETENTION = 7
    OTHER_DISTRIBUTION = 8
    EXTERNALISE = 9
    NOT_AGAIN = 10


WHY_TEXT = {
    KeepReason.DEFAULT: "the default partition is never merged",
    KeepReason.UNPARSED: "its bound is not understood",
    KeepReason.HOT: "inside the hot window",
    KeepReason.EXTERNAL: "external, foreign or of an unknown storage",
    KeepReason.HANGS_ON: "a view, trigger, policy, publication or another object hangs on it",
    KeepReason.UNKNOWN_SIZE: "holds rows, but the snapshot does not say how many bytes",
    KeepReason.PAST_RETENTION: "older than its retention: the owner's clean-up will remove it",
    KeepReason.OTHER_DISTRIBUTION: "distributed otherwise than its table",
    KeepReason.EXTERNALISE: "old enough to live in files outside: proposed",
    KeepReason.NOT_AGAIN: "starts EXCLUSIVE where another one ends INCLUSIVE: Greenplum 6 reports an overlap if a rollback adds it again",
}


HANGING = (
    "view",
    "rule",
    "trigger",
    "own check",
    "policy",
    "row security",
    "column grants",
    "sequence",
    "needed by another object",
    "publication",
    "subscription",
    "exclusion constraint",
    "index that is not valid",
    "own index",
    "own expression",
    "own properties",
    "member of an extension",
    "security label",
    "row type",
    "pending detach",
)
"""Facts that keep a partition as it is: what hangs on it would be lost with it, or would hold up DROP TABLE."""


@dataclass
class Key:
    """One level of a partition key, as the snapshot has it."""

    level: int
    strategy: str
    key: str
    key_types: str
    has_template: bool

    @property
    def parts(self) -> list[str]:
        """Types of the columns of the key; '' stands for an expression.

        Names of columns do not tell how many there are: a comma may be part of one.

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


@dataclass
class Root:
    """One partitioned table.

    level:   depth of the units that are put together (1 below the root), 0 where none are
    reason:  why no partitions of it are merged; empty where it is planned
    blocked: the reason stands in the way of every other operation, too
    several: families of the columns of a range key that has several of them
    numeric: the key is of type numeric: its axis is that of whole numbers, or that of decimals where its bounds need it
    lists:   units are list values put in order, cut by numbers of values
    widths:  integer keys: widths of the cells, in slots 0…; calendar keys use grains
    digits:  8 or 6 where integers spell dates (20240131, 202401)
    shift:   microseconds that the calendar is moved by: local midnights of a timestamptz key
    """

    oid: int
    schema: str
    name: str
    storage: str
    options: str
    depth: int
    leaves: int
    keys: list[Key]
    wishes: ResolvedPolicy
    facts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    level: int = 0
    reason: str = ""
    blocked: bool = False
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
        """True where the axis is time."""
        return self.family.time or self.digits > 0

    @property
    def key(self) -> str:
        """Column that the planned level is cut by."""
        return next((k.key for k in self.keys if k.level == self.level - 1), "")


def _root_shape(facts: dict[str, list[tuple[int, str]]], leaves: int) -> RootShape:
    columns = json.loads(facts["columns"][0][1]) if "columns" in facts else {}
    indexes = tuple(
        Index(int(i["columns"]), bool(i["constraint"]), int(i.get("depends", 0)), bool(i.get("bitmap")))
        for i in (json.loads(d) for _, d in facts.get("index", ()))
    )
    told = {k: int(columns.get(k, 0)) for k in ("live", "not_null", "defaults", "checks", "depends")}
    rows = json.loads(facts["rows of leaves"][0][1]) if "rows of leaves" in facts else {}
    other = tuple((catalog, n / leaves) for catalog, n in sorted(rows.items()) if leaves)
    return RootShape(**told, indexes=indexes, other=other)


def _choose_level(root: Root) -> None:
    """Which level is put together: the first range level of one time column, else the first of a number, else lists if asked."""
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
    if root.wishes.merge_lists > 1 and root.keys and root.keys[-1].strategy == "list" and len(root.keys[-1].parts) == 1:
        root.level, root.lists, root.family = root.keys[-1].level + 1, True, Family.INTEGER
        doublings: list[int] = []
        n = 2
        while n <= root.wishes.merge_lists and len(doublings) < SLOTS - 1:
            doublings.append(n)
            n *= 2
        root.widths = tuple(doublings)
        return
    if not root.keys:
        root.reason = "its partition key was not read"
    elif "hash" in strategies:
        root.reason = "hash partitions cannot be merged"
    elif strategies == {"list"} and root.wishes.merge_lists > 1:
        root.reason = "its list key has several columns"
    elif strategies == {"list"}:
        root.reason = "list values are put together only where a policy says so (merge_lists)"
    elif any("" in k.parts for k in root.keys):
        root.reason = "its key is an expression, whose order is not known"
    elif any(len(k.parts) > 1 for k in root.keys):
        root.reason = "its range key has several columns, not all of them dates or numbers"
    else:
        types = ", ".join(sorted({k.key_types for k in root.keys if k.strategy == "range"}))
        root.reason = f"range keys of type {types} lie on no calendar and no whole numbers"


def _table_obstacles(root: Root, lock_limit: float | None, indexes: int, *, classic: bool) -> None:
    facts = root.facts
    if root.wishes.skip:
        root.reason, root.level = "the policy says skip", 0
        return
    planned = root.reason
    if any(detail == "REPLICATED" for _, detail in facts.get("distribution", ())):
        root.reason = "replicated: partitions of a replicated table are not exchanged"
    elif "foreign key" in facts or "referenced by foreign key" in facts:
        names = ", ".join(sorted({d for f in ("foreign key", "referenced by foreign key") for _, d in facts.get(f, ())})[:3])
        root.reason = f"foreign keys hang on it ({names})"
    elif "publication of all tables" in facts or "publication of its schema" in facts:
        name = (facts.get("publication of all tables") or facts["publication of its schema"])[0][1]
        what = "every table" if "publication of all tables" in facts else "its whole schema"
        root.reason = f"publication {name} publishes {what}: new partitions would be sent to subscribers that do not have them"
    elif any(o == root.oid for o, _ in facts.get("publication", ())):
        name = next(d for o, d in facts["publication"] if o == root.oid)
        root.reason = f"publication {name} publishes it: subscribers would not follow the exchange"
    elif any(o == root.oid for o, _ in facts.get("index that is not valid", ())):
        name = next(d for o, d in facts["index that is not valid"] if o == root.oid)
        root.reason = f"index {name} is not valid: attaching partitions would build it on all of them"
    elif "other schema" in facts:
        place = facts["other schema"][0][1]
        root.reason = f"partitions of it lie in schema {place}: Greenplum 6 would make new ones in {root.schema}"
    elif classic and (hung := [f"{f} {d}" for f in ("rule", "trigger") for o, d in facts.get(f, ()) if o == root.oid]):
        root.reason = f"{hung[0]} hangs on it, which Greenplum 6 does not carry over"
    elif lock_limit is not None and root.level:
        # LOCK TABLE of the root reaches every leaf, and what is dropped takes its indexes along
        needed = 1 + root.leaves
        if needed > lock_limit:
            root.reason = f"one lock for each of its {root.leaves} leaves does not fit {lock_limit:.0f} lock slots"
    root.blocked |= root.reason != planned
    if root.reason:
        root.level = 0


def trigger_states(root: Root) -> list[tuple[int, str]]:
    """Partitions whose trigger is not enabled as on the table, with its name, where not all of them have it alike."""
    properties = of_facts(root.facts)
    return [] if properties is None else properties.uneven("trigger", root.leaves)


_COPIED = ("default", "not null", "not null name", "comment", "storage", "compression", "check", "check comment")
"""Properties that a new partition with partitions of its own has from the one that it is like (tried: PostgreSQL 18, Greenplum 7)."""


def properties_between(snapshot: Snapshot, root: Root, *, classic: bool) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return partitions with partitions of their own whose properties a merge would not keep, and those that have any of their own.

    Privileges and comments are kept or listed.
    """
    properties = of_facts(root.facts)
    if properties is None or root.depth < 2:
        return [], []
    oids = [r["oid"] for r in snapshot.rows("SELECT oid FROM relation WHERE root = ? AND kind = 'intermediate' ORDER BY oid", [root.oid])]
    table = properties.of()
    all_of = {oid: {k: v for k, v in properties.of(oid).items() if k[0] not in ("privilege", "table comment")} for oid in oids}
    own = [(oid, f"{k[0]} {k[1]}".strip()) for oid in oids for k, v in all_of[oid].items() if v != table.get(k)]
    lost = [(oid, name) for oid, name in own if classic or not name.startswith(_COPIED)]
    for key in sorted({k for of in all_of.values() for k in of if k[0] in _COPIED}):
        values = Counter(of.get(key) for of in all_of.values())
        usual = values.most_common(1)[0][0]
        lost += [(oid, f"{key[0]} {key[1]}".strip()) for oid in oids if not classic and all_of[oid].get(key) != usual]
    return lost, own


def partman_keep(facts: dict[str, list[tuple[int, str]]]) -> float | None:
    """Days after which pg_partman takes a leaf out of this table; None where it does not, or a number says when."""
    if "pg_partman" not in facts:
        return None
    config = json.loads(facts["pg_partman"][0][1])
    try:
        return interval_days(str(config.get("retention") or ""))
    except ValueError:
        return None


def load_roots(snapshot: Snapshot, policy: Policy, lock_limit: float | None) -> list[Root]:
    """Every partitioned table of the snapshot, by oid, with the level to plan or the reason for none. Raises CatalogError."""
    keys: dict[int, list[Key]] = {}
    for r in snapshot.rows('SELECT root, level, strategy, "key", key_types, has_template FROM partition_key ORDER BY root, level'):
        keys.setdefault(r["root"], []).append(Key(r["level"], r["strategy"], r["key"] or "", r["key_types"] or "", bool(r["has_template"])))
    facts: dict[int, dict[str, list[tuple[int, str]]]] = {}
    for r in snapshot.rows("SELECT root, oid, fact, detail FROM partition_fact ORDER BY root, fact, oid, detail"):
        facts.setdefault(r["root"], {}).setdefault(r["fact"], []).append((r["oid"], r["detail"] or ""))
    if snapshot.header["generation"] == "gp6":
        # ALTER TABLE … SET SCHEMA moves the root alone there
        for r in snapshot.rows(
            'SELECT t.oid, min(p."schema") AS place FROM relation t JOIN relation p ON p.root = t.oid AND p."schema" <> t."schema"'
            " WHERE t.kind = 'root' AND p.kind IN ('leaf', 'intermediate') GROUP BY t.oid"
        ):
            facts.setdefault(r["oid"], {})["other schema"] = [(r["oid"], r["place"])]
    # nothing found where nothing was read proves nothing
    unread = [r["status"] for r in snapshot.rows("SELECT status FROM coverage WHERE probe = 'partition_facts' AND status <> 'read'")]
    memo: dict[tuple[int, ...], ResolvedPolicy] = {}
    roots: list[Root] = []
    for r in snapshot.rows("""
        SELECT t.oid, t."schema", t.name, t.storage, t.options, t.indexes, s.depth, s.leaves
          FROM relation t JOIN (SELECT root, max(level)::INTEGER AS depth, count(*) FILTER (kind = 'leaf') AS leaves
                                  FROM relation WHERE kind IN ('leaf', 'intermediate') GROUP BY root) s ON s.root = t.oid
         WHERE t.kind = 'root' ORDER BY t.oid"""):
        rule = rule_key(policy, r["schema"], r["name"])
        if rule not in memo:
            memo[rule] = wishes_for(policy, r["schema"], r["name"])
        root = Root(
            r["oid"],
            r["schema"],
            r["name"],
            r["storage"],
            r["options"] or "",
            r["depth"],
            r["leaves"],
            keys.get(r["oid"], []),
            memo[rule],
            facts.get(r["oid"], {}),
            index=len(roots),
        )
        _choose_level(root)
        if root.wishes.keep is None and root.family.time:
            kept = partman_keep(root.facts)
            if kept is not None:
                root.wishes = msgspec.structs.replace(root.wishes, keep=kept)
        for oid, name in trigger_states(root):
            root.facts.setdefault("trigger", []).append((oid, name))
        classic = snapshot.header["generation"] == "gp6"
        kept_not, own = properties_between(snapshot, root, classic=classic)
        if kept_not:
            root.facts["own properties"] = kept_not
        if own:
            root.facts["properties between"] = own
        if classic and 0 < root.level < root.depth and any(json.loads(d)["constraint"] for _, d in root.facts.get("index", ())):
            # EXCHANGE below a partition that was added reports invalid constraints (tried on 6.25.3)
            root.level, root.reason = 0, "Greenplum 6 exchanges no subpartitions of a table with a primary or unique key"
        _table_obstacles(root, lock_limit, r["indexes"], classic=classic)
        if unread and not root.blocked:
            root.reason = f"its views, triggers, policies and foreign keys are unknown (probe partition_facts: {unread[0]})"
            root.level, root.blocked = 0, True
        roots.append(root)
    return roots


_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """splitmix64's finaliser: sums of it stand for sets."""
    x = (x ^ (x >> np.uint64(30))) * _M1
    x = (x ^ (x >> np.uint64(27))) * _M2
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


class Bounds:
    """The distinct bounds of a snapshot and, parsed on demand, where they lie on a family's axis."""

    def __init__(self, snapshot: Snapshot) -> None:
        # Texts are put together for one partition a bound. That two of 5 million bounds share a key of 64 bits happens once in a million
        # snapshots; a step made of them would not pass the migration's comparison of bounds.
        found = snapshot.columns(
            "SELECT bound_key AS h, bound FROM relation WHERE oid IN (SELECT min(oid) FROM relation GROUP BY bound_key)"
            " AND bound <> '' ORDER BY 1"
        )
        self.hashes: npt.NDArray[np.uint64] = np.asarray(found["h"], dtype=np.uint64)
        self.texts: npt.NDArray[Any] = np.asarray(found["bound"], dtype=object)
        self._axes: dict[Family, Axis] = {}
        self._memo: dict[Family, tuple[Ints, Ints, Bools, Bools]] = {}
        self._reasons: dict[tuple[Family, int], str] = {}

    def codes(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Position of each hash among the distinct bounds; the length of the list for none."""
        at = np.searchsorted(self.hashes, hashes)
        missing = at >= len(self.hashes)
        at[missing] = 0
        if len(self.hashes):
            missing |= self.hashes[at] != hashes
        at[missing] = len(self.hashes)
        return at

    def intervals(self, kind: Family, codes: npt.NDArray[np.int64]) -> tuple[Ints, Ints, Bools]:
        """lower, upper and whether they are known, for bounds by code. Each distinct bound is parsed once a family."""
        n = len(self.texts)
        if kind not in self._memo:
            self._memo[kind] = (np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.bool_), np.zeros(n + 1, np.bool_))
        low, high, good, done = self._memo[kind]
        axis_ = self._axes.setdefault(kind, Axis(kind))
        for code in np.unique(codes[~done[codes]]).tolist():
            done[code] = True
            if code == n:
                self._reasons[kind, code] = "it has no bound"
                continue
            try:
                low[code], high[code] = axis_.interval(self.texts[code])
                good[code] = True
            except ValueError as e:
                self._reasons[kind, code] = str(e)
        return low[codes], high[codes], good[codes]

    def tuples(self, kinds: Sequence[Family], codes: npt.NDArray[np.int64]) -> tuple[Ints, Ints, Ints, Ints, Bools]:
        """Return where ranges of several columns lie: their ends in order, their ends on the axis of the first column, and whether known.

        Columns of a year and a month, or of a year, a month and a day, lie on the axis of numbers that spell dates.
        """
        n = len(codes)
        good = np.zeros(n, np.bool_)
        ends: dict[int, tuple[TupleEnd, TupleEnd]] = {}
        for i, code in enumerate(codes.tolist()):
            try:
                ends[i] = tuple_ends(parse(self.texts[code]) if code < len(self.texts) else parse(None), kinds)
                good[i] = True
            except ValueError as e:
                self._reasons[kinds[0], code] = str(e)
        place = {end: at for at, end in enumerate(sorted({end for pair in ends.values() for end in pair}))}
        low, high = np.zeros(n, np.int64), np.ones(n, np.int64)
        first_low, first_high = low.copy(), high.copy()
        dates = spelled_dates([end for pair in ends.values() for end in pair], kinds)
        for i, (start, end) in ends.items():
            low[i], high[i] = place[start], place[end]
            if dates is not None:
                first_low[i], first_high[i] = dates[start], dates[end]
            else:
                first_low[i], first_high[i] = first_column(start, kinds[0], upper=False), first_column(end, kinds[0], upper=True)
        return low, high, first_low, first_high, good

    def flagged(self, codes: npt.NDArray[np.int64]) -> bool:
        """Whether one of these bounds says EXCLUSIVE or INCLUSIVE."""
        return any("CLUSIVE" in self.texts[code] for code in np.unique(codes[codes < len(self.texts)]).tolist())

    def reason(self, kind: Family, code: int) -> str:
        """Why a bound has no place on the axis."""
        return self._reasons.get((kind, int(code)), "")


@dataclass
class Chunk:
    """Some tables' partition sets, all arrays in order: units by (table, set, axis), leaves by (run, lane, unit).

    A unit is a partition of the planned level; a lane is one subpartition position below it (one lane where the units are leaves);
    a run is a stretch of units that may be put together; sets are the units of one parent.

    Units: oid, root (index), set, low, high (axis), cal_low, cal_high (the same on the calendar), code (bound), leaves, bytes,
           segment (bytes on the fullest segment, lanes added up), rows, files (catalog rows, files of one segment), catalog
           (estimated catalog bytes on all instances), rate (questions
           a day for it alone), scanned (bytes that one question reads now), why (Why), empty, droppable, unknown
    Leaves: leaf_oid, leaf_unit, leaf_class, leaf_bytes (-1 unknown), leaf_segment, leaf_filled (1, 0, -1 unknown),
            leaf_files (on one segment)
    Runs: run_unit (first unit), run_length, run_lanes, run_leaf (first leaf)
    """

    roots: list[Root]
    table: Table
    classes: list[LeafClass]
    oid: npt.NDArray[np.uint32]
    root: npt.NDArray[np.int32]
    set: npt.NDArray[np.int32]
    low: Ints
    high: Ints
    cal_low: Ints
    cal_high: Ints
    code: Ints
    leaves: Ints
    bytes: Floats
    segment: Floats
    rows: Floats
    files: Floats
    catalog: Floats
    rate: Floats
    scanned: Floats
    why: npt.NDArray[np.int8]
    empty: Bools
    droppable: Bools
    unknown: Bools
    run: npt.NDArray[np.int32]
    run_unit: Ints
    run_length: Ints
    run_lanes: Ints
    run_leaf: Ints
    leaf_oid: npt.NDArray[np.uint32]
    leaf_unit: Ints
    leaf_class: npt.NDArray[np.int32]
    leaf_bytes: Floats
    leaf_segment: Floats
    leaf_filled: npt.NDArray[np.int8]
    leaf_files: Floats
    hot_edge: Ints  # by unit: nothing that ends after it is touched
    intervals: dict[int, Intervals]
    block: int


@dataclass
class Intervals:
    """Intervals that queries ask one table for: how many calls a day overlap a stretch of its axis."""

    total: float
    starts: Ints
    calls_by_start: Floats
    ends: Ints
    calls_by_end: Floats

    @classmethod
    def of(cls, asked: list[tuple[int, int, float]]) -> Intervals:
        starts = sorted((s, c) for s, _, c in asked)
        ends = sorted((e, c) for _, e, c in asked)
        return cls(
            sum(c for _, _, c in asked),
            np.array([s for s, _ in starts], dtype=np.int64),
            np.concatenate([[0.0], np.cumsum([c for _, c in starts])]),
            np.array([e for e, _ in ends], dtype=np.int64),
            np.concatenate([[0.0], np.cumsum([c for _, c in ends])]),
        )

    def overlapping(self, low: Ints, high: Ints) -> Floats:
        """Calls a day whose interval [start, end) overlaps [low, high)."""
        before = self.calls_by_end[np.searchsorted(self.ends, low, side="right")]
        after = self.total - self.calls_by_start[np.searchsorted(self.starts, high, side="left")]
        return np.asarray(self.total - before - after, dtype=np.float64)


class Reader:
    """Reads partition sets out of a snapshot, a chunk of tables at a time."""

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        *,
        lock_limit: float | None = None,
        now: datetime | None = None,
        workload: Workload | None = None,
    ) -> None:
        self.workload = workload
        self.snapshot = snapshot
        self.policy = policy
        self.generation: Generation = model_generation(snapshot.header["generation"])
        nodes = snapshot.one(
            "SELECT count(*) FILTER (content >= 0 AND role = 'p') AS primaries, count(*) FILTER (content >= 0 AND role = 'm') AS mirrors,"
            " count(*) FILTER (content = -1 AND role = 'm') AS standby FROM instance"
        )
        self.cluster = Cluster(int(nodes["primaries"]), mirrors=nodes["mirrors"] > 0, standby=nodes["standby"] > 0)
        self.segments = max(1, self.cluster.segments)
        moment = now or snapshot.header["taken_at"].replace(tzinfo=UTC)
        self.now = int(moment.timestamp() * 1_000_000)
        self.roots = load_roots(snapshot, policy, lock_limit)
        self.bounds = Bounds(snapshot)
        self.shapes = [_root_shape(r.facts, r.leaves) for r in self.roots]
        self._classes: dict[LeafClass, int] = {}
        self._ends: dict[Family, Ends] = {}
        self.intervals: dict[int, Intervals] = {}  # by index of the root, where a workload asks for ranges
        self._oids = np.array([r.oid for r in self.roots], dtype=np.int64)
        rows = snapshot.rows("""
            SELECT hash(storage, "columns", toast, indexes, index_columns, owner, tablespace, options, persistence) AS h,
                   any_value(storage) AS storage,
                   any_value("columns") AS "columns", any_value(toast) AS toast, any_value(indexes) AS indexes,
                   any_value(index_columns) AS index_columns, any_value(owner) AS owner, any_value(tablespace) AS tablespace,
                   any_value(options) AS options, any_value(persistence) AS persistence
              FROM relation WHERE kind IN ('leaf', 'intermediate') GROUP BY 1 ORDER BY 1""")
        self._shape_hashes = np.array([r["h"] for r in rows], dtype=np.uint64)
        self._shape_rows = rows

    def ends(self, kind: Family) -> Ends:
        """Reads typed ends of bounds of one family; what it took apart once it knows."""
        return self._ends.setdefault(kind, Ends(kind))

    def chunks(self, only: set[int] | None = None) -> Iterator[Chunk]:
        """Chunks of whole tables, in order of oid; `only` names indexes of roots."""
        batch: list[Root] = []
        size = 0
        for root in self.roots:
            if only is not None and root.index not in only:
                continue
            batch.append(root)
            size += root.leaves
            if size >= CHUNK:
                yield self._chunk(batch)
                batch, size = [], 0
        if batch:
            yield self._chunk(batch)

    def _read(self, batch: list[Root]) -> dict[str, npt.NDArray[Any]]:
        block = int(self.snapshot.header["block_size"])
        # without a directory listing bytes are the server's estimate, pages; an empty table needs no estimate
        size = f"coalesce(bytes, CASE WHEN filled = false THEN 0 WHEN pages > 0 THEN pages * {block} ELSE -1 END)"
        segment = (
            "coalesce(max_segment_bytes, CASE WHEN filled = false THEN 0"
            f" WHEN pages > 0 THEN ceil(pages * {block} / {self.segments}.0) ELSE -1 END)"
        )
        lo, hi = batch[0].oid, batch[-1].oid
        found = self.snapshot.columns(
            f"""SELECT oid, root, coalesce(parent, 0)::UINTEGER AS parent, level, (kind = 'leaf') AS leaf, is_default,
                       coalesce(filled::TINYINT, -1::TINYINT) AS filled, {size}::BIGINT AS bytes, {segment}::BIGINT AS segment,
                       coalesce(files, -1)::BIGINT AS files,
                       hash(storage, "columns", toast, indexes, index_columns, owner, tablespace, options, persistence) AS shape,
                       bound_key AS bound
                  FROM relation WHERE kind IN ('leaf', 'intermediate') AND root BETWEEN {lo} AND {hi} ORDER BY root, level, oid"""
        )
        arrays = {name: np.asarray(values) for name, values in found.items()}
        wanted = np.isin(arrays["root"], np.array([r.oid for r in batch], dtype=arrays["root"].dtype))
        if not wanted.all():
            arrays = {name: values[wanted] for name, values in arrays.items()}
        return arrays

    def _classify(self, shape: npt.NDArray[np.uint64], root: npt.NDArray[np.int64], bounds: Ints, leaf: Bools) -> npt.NDArray[np.int32]:
        """Class of every relation: what it looks like, how many bounds lie on its path, whose columns it has."""
        at = np.searchsorted(self._shape_hashes, shape)
        packed = ((root * 64 + bounds) * 2 + leaf) * (len(self._shape_rows) + 1) + at
        distinct, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), dtype=np.int32)
        for n, i in enumerate(first.tolist()):
            r = self._shape_rows[int(at[i])]
            one = LeafClass(
                Storage(r["storage"]) if r["storage"] in set(Storage) else Storage.OTHER,
                int(r["columns"]),
                bool(r["toast"]),
                int(r["indexes"]),
                int(r["index_columns"]),
                int(r["owner"] or 0),
                int(r["tablespace"] or 0),
                r["options"] or "",
                r["persistence"] or "",
                int(bounds[i]),
                bool(leaf[i]),
                int(root[i]),
            )
            codes[n] = self._classes.setdefault(one, len(self._classes))
        return codes[inverse]

    def _heap_files(self, klass: npt.NDArray[np.int32], segment: Floats) -> Floats:
        heap = np.array([c.storage is Storage.HEAP for c in self._classes], dtype=np.bool_)
        return heap_files(np.where(heap[klass], segment, 0.0), int(self.snapshot.header["block_size"]))

    def _chunk(self, batch: list[Root]) -> Chunk:
        a = self._read(batch)
        n = len(a["oid"])
        oid, leaf, level = a["oid"].astype(np.int64), a["leaf"].astype(np.bool_), a["level"].astype(np.int64)
        # dictionary look-ups by binary search: oids of this chunk → rows, roots → index
        by_oid = np.argsort(oid, kind="stable")
        sorted_oid = oid[by_oid]
        parent_at = np.searchsorted(sorted_oid, a["parent"].astype(np.int64))
        parent_at[parent_at >= n] = 0
        has_parent = sorted_oid[parent_at] == a["parent"] if n else np.zeros(0, np.bool_)
        parent = np.where(has_parent, by_oid[parent_at], -1) if n else np.zeros(0, np.int64)
        batch_oids = np.array([r.oid for r in batch], dtype=np.int64)
        batch_index = np.array([r.index for r in batch], dtype=np.int64)
        batch_level = np.array([r.level or 1 for r in batch], dtype=np.int64)
        local_root = np.searchsorted(batch_oids, a["root"].astype(np.int64))
        root = batch_index[local_root]
        unit_level = batch_level[local_root]

        # climb to the planned level, collecting the path below it and how many bounds lie on it
        bounded = (~a["is_default"].astype(np.bool_)).astype(np.int64)
        unit = np.arange(n, dtype=np.int64)
        path = np.zeros(n, dtype=np.uint64)
        with np.errstate(over="ignore"):
            while True:
                below = level[unit] > unit_level
                if not below.any():
                    break
                i = np.flatnonzero(below)
                path[i] = _mix(path[i] + a["bound"][unit[i]] + np.uint64(1))
                unit[i] = parent[unit[i]]
            nbounds, at = bounded.copy(), parent.copy()
            while (at >= 0).any():
                i = np.flatnonzero(at >= 0)
                nbounds[i] += bounded[at[i]]
                at[i] = parent[at[i]]
            klass = self._classify(a["shape"], root, nbounds, leaf)
            table = Table.of(self.generation, self.cluster, list(self._classes), self.shapes)
            # what lies under a unit, as a number: equal numbers mean equal subpartitions of equal shape
            shape_key = klass.astype(np.uint64) * np.uint64(2) + leaf.astype(np.uint64)
            is_unit = level == unit_level
            signature = _mix(path ^ _mix(np.where(is_unit & ~leaf, np.uint64(0), shape_key) + np.uint64(7)))

        units = np.flatnonzero(is_unit)
        number = np.full(n, -1, dtype=np.int64)
        number[units] = np.arange(len(units))
        of = np.where(level >= unit_level, number[unit], -1)  # unit number of every relation at or below the level
        inside = of >= 0
        u_root = root[units]
        u_sig = np.zeros(len(units), dtype=np.uint64)
        with np.errstate(over="ignore"):
            np.add.at(u_sig, of[inside], signature[inside])

        filled = a["filled"].astype(np.int8)
        size, segment = a["bytes"].astype(np.float64), a["segment"].astype(np.float64)
        is_leaf = inside & leaf
        li = np.flatnonzero(is_leaf)
        unknown_leaf = (size[li] < 0) & (filled[li] != 0)
        clean = np.maximum(size[li], 0)
        clean_segment = np.maximum(segment[li], 0)

        def total(values: Floats) -> Floats:
            return np.asarray(np.bincount(of[li], weights=values, minlength=len(units)), dtype=np.float64)

        cost_rows = np.nan_to_num(table.rows[:, 0])
        file_now = np.where(filled != 0, table.filled[klass, 0] + self._heap_files(klass, segment), table.empty[klass, 0])
        # where the directories were listed the table's own files are known, those of several writers as well, but for forks
        listed = a["files"] / self.segments
        space_map = self._heap_files(klass, np.minimum(segment, GIB))
        file_now = np.where(a["files"] > 0, table.empty[klass, 0] - 1 + listed + space_map, file_now)
        file_now = np.nan_to_num(np.where(leaf, file_now, table.empty[klass, 0]))

        def total_all(values: Floats) -> Floats:
            return np.asarray(np.bincount(of[inside], weights=values[inside], minlength=len(units)), dtype=np.float64)

        rows_now = cost_rows[klass] + np.where(leaf & (filled != 0), np.nan_to_num(table.more[klass, 0]), 0.0)
        u_rows, u_files = total_all(rows_now), total_all(file_now)
        u_catalog = total_all(np.nan_to_num(table.catalog[klass, 0]))
        u_leaves = np.bincount(of[li], minlength=len(units)).astype(np.int64)
        u_bytes, u_segment = total(clean), total(clean_segment)
        share = np.where(table.column_stored[klass[li]], self.policy.workload.column_share, 1.0)
        u_scanned = total(clean * share)
        u_unknown = total(unknown_leaf.astype(np.float64)) > 0
        u_empty = (total((filled[li] != 0).astype(np.float64)) == 0) & (u_leaves > 0)

        code = self.bounds.codes(np.asarray(a["bound"][units], dtype=np.uint64))
        low, high, cal_low, cal_high, why = self._axes(batch, u_root, code, a["is_default"][units].astype(np.bool_), units, a)
        stored = np.array([c.storage in self.generation.storages for c in self._classes], dtype=np.bool_)
        odd = total((~stored[klass[li]]).astype(np.float64)) > 0
        why[(why == KeepReason.FREE) & odd] = KeepReason.EXTERNAL
        why[(why == KeepReason.FREE) & ~self._added_again(code, parent[units])] = KeepReason.NOT_AGAIN
        hung, otherwise = self._hanging(batch, oid, of, n)
        why[(why == KeepReason.FREE) & np.isin(np.arange(len(units)), hung)] = KeepReason.HANGS_ON
        why[(why == KeepReason.FREE) & np.isin(np.arange(len(units)), otherwise)] = KeepReason.OTHER_DISTRIBUTION

        set_key = parent[units]
        set_key = np.where(set_key < 0, -1 - u_root, set_key)
        aside = (why == KeepReason.UNPARSED) | (why == KeepReason.DEFAULT)  # they lie nowhere on the axis
        order = np.lexsort((oid[units], low, aside, set_key, u_root))
        back = np.empty(len(units), dtype=np.int64)
        back[order] = np.arange(len(units))
        u_root, set_key, low, high = u_root[order], set_key[order], low[order], high[order]
        cal_low, cal_high, why = cal_low[order], cal_high[order], why[order]
        u_sig, u_empty, u_unknown = u_sig[order], u_empty[order], u_unknown[order]
        new_set = np.ones(len(units), dtype=np.bool_)
        new_set[1:] = (set_key[1:] != set_key[:-1]) | (u_root[1:] != u_root[:-1])
        sets = (np.cumsum(new_set) - 1).astype(np.int32)

        edge, droppable, past = self._ages(batch, u_root, sets, low, high, cal_low, cal_high, why, u_empty)
        why[(why == KeepReason.FREE) & past] = KeepReason.PAST_RETENTION
        why[(why == KeepReason.FREE) & (cal_high > edge)] = KeepReason.HOT
        why[(why == KeepReason.FREE) & u_unknown & ~self._named(batch, u_root)] = KeepReason.UNKNOWN_SIZE
        stop = new_set.copy()
        free = why == KeepReason.FREE
        stop[1:] |= ~free[1:] | ~free[:-1] | (high[:-1] != low[1:]) | (u_sig[1:] != u_sig[:-1])
        self._stops(batch, u_root, cal_low, cal_high, stop)
        run = (np.cumsum(stop) - 1).astype(np.int32)
        run_unit = np.flatnonzero(stop)
        run_length = np.diff(np.append(run_unit, len(units)))
        u_leaves = u_leaves[order]
        run_lanes = u_leaves[run_unit] if len(units) else np.zeros(0, np.int64)

        leaf_unit = back[of[li]]
        leaf_order = np.lexsort((leaf_unit, path[li], run[leaf_unit]))
        li, leaf_unit = li[leaf_order], leaf_unit[leaf_order]
        run_leaf = np.concatenate([[0], np.cumsum(run_length * run_lanes)])[:-1] if len(units) else np.zeros(0, np.int64)
        rate = self._rates(batch, u_root, sets, low, high, cal_low, cal_high)
        return Chunk(
            batch,
            table,
            list(self._classes),
            oid[units][order].astype(np.uint32),
            u_root.astype(np.int32),
            sets,
            low,
            high,
            cal_low,
            cal_high,
            code[order],
            u_leaves,
            u_bytes[order],
            u_segment[order],
            u_rows[order],
            u_files[order],
            u_catalog[order],
            rate,
            u_scanned[order],
            why,
            u_empty,
            droppable,
            u_unknown,
            run,
            run_unit,
            run_length,
            run_lanes,
            run_leaf,
            oid[li].astype(np.uint32),
            leaf_unit,
            klass[li],
            size[li],
            segment[li],
            filled[li],
            file_now[li],
            edge,
            self.intervals,
            int(self.snapshot.header["block_size"]),
        )

    def _axes(
        self, batch: list[Root], root: Ints, code: Ints, default: Bools, units: Ints, a: dict[str, npt.NDArray[Any]]
    ) -> tuple[Ints, Ints, Ints, Ints, npt.NDArray[np.int8]]:
        """Where every unit lies, and why some lie nowhere. Sets digits, shift and widths of the roots."""
        n = len(root)
        low, high = np.zeros(n, np.int64), np.ones(n, np.int64)
        why = np.zeros(n, dtype=np.int8)
        starts = np.searchsorted(root, [r.index for r in batch]) if _sorted(root) else None
        assert starts is not None
        ends = np.append(starts[1:], n)
        cal_low, cal_high = low.copy(), high.copy()
        for r, s, e in zip(batch, starts.tolist(), ends.tolist(), strict=True):
            if s == e:
                continue
            here = slice(s, e)
            why[here][default[here]] = KeepReason.DEFAULT
            if not r.level:
                why[here] = KeepReason.UNPARSED
                continue
            if r.lists:
                self._list_order(here, code, default, low, high, why, a["parent"][units[here]])
                cal_low[here], cal_high[here] = low[here], high[here]
                continue
            if r.several:
                low[here], high[here], lo, hi, good = self.bounds.tuples(r.several, code[here])
                why[here][~good & ~default[here]] = KeepReason.UNPARSED
                cal_low[here], cal_high[here] = self._calendar(r, lo, hi, good)
                continue
            lo, hi, good = self.bounds.intervals(r.family, code[here])
            if r.numeric and (not good[~default[here]].all() or self.bounds.flagged(code[here])):
                # fractions, and ends of which it matters what lies behind them: 6 does not follow 5 INCLUSIVE
                found = self.bounds.intervals(Family.NUMERIC, code[here])
                if found[2].sum() >= good.sum():
                    r.family, (lo, hi, good) = Family.NUMERIC, found
            why[here][~good & ~default[here]] = KeepReason.UNPARSED
            lo, hi = np.where(good, lo, 0), np.where(good, hi, 1)
            low[here], high[here] = lo, hi
            cal_low[here], cal_high[here] = self._calendar(r, lo, hi, good)
        return low, high, cal_low, cal_high, why

    def _list_order(
        self, here: slice, code: Ints, default: Bools, low: Ints, high: Ints, why: npt.NDArray[np.int8], parents: npt.NDArray[Any]
    ) -> None:
        """Lists have no axis: values in the order of their text stand one after another, set by set."""
        texts: list[tuple[int, str, int]] = []
        for i, (c, p) in enumerate(zip(code[here].tolist(), parents.tolist(), strict=True)):
            bound = parse(self.bounds.texts[c]) if c < len(self.bounds.texts) else parse(None)
            if bound.kind is BoundKind.LIST and not any(t.kind is TermKind.NULL for t in bound.values):
                texts.append((p, bound.values[0].value, i))
            elif not default[here][i]:
                why[here.start + i] = KeepReason.UNPARSED
        for position, (_, _, i) in enumerate(sorted(texts)):
            low[here.start + i], high[here.start + i] = position, position + 1

    def _calendar(self, r: Root, lo: Ints, hi: Ints, good: Bools) -> tuple[Ints, Ints]:
        """The units' ends on the calendar (or as they are for plain numbers)."""
        closed = good & (lo > MINUS_INFINITY) & (hi < INFINITY)
        if r.family.time:
            lengths = hi[closed] - lo[closed]
            if len(lengths) and int(np.median(lengths)) >= 20 * HOUR:
                # local midnights: the remainder most starts share is the calendar's origin
                values, counts = np.unique(lo[closed] % DAY, return_counts=True)
                # midnights at 21:00 UTC are those of a zone three hours ahead, not of one 21 hours behind
                r.shift = int(values[int(np.argmax(counts))])
                r.shift -= DAY if r.shift > 12 * HOUR else 0
            return _moved(lo, -r.shift), _moved(hi, -r.shift)
        if not closed.any():
            return lo, hi
        for digits in (8, 6):
            at, fits = grid.dates_from_numbers(lo, digits)
            to, fits_too = grid.dates_from_numbers(hi, digits)
            # an end such as 20240132 or 20240100 is no date: three of four must be, the others lie nowhere
            if closed.sum() >= 2 and (fits & fits_too)[closed].mean() >= 0.75:
                r.digits = digits
                at = np.where(fits, at, np.where(lo <= MINUS_INFINITY, lo, OPEN_LOW))
                to = np.where(fits_too, to, np.where(hi >= INFINITY, hi, OPEN_HIGH))
                return at, to
        spans, counts = np.unique((hi - lo)[closed], return_counts=True)
        width = int(spans[int(np.argmax(counts))])
        span = int(hi[closed].max()) - int(lo[closed].min())
        r.widths = tuple(grid.round_multiples(width, max(span, width * 2), SLOTS - 1))
        return lo, hi

    def _added_again(self, code: Ints, parents: Ints) -> Bools:
        """Units that Greenplum 6 accepts again when a rollback adds them; elsewhere, all of them."""
        found = np.ones(len(code), dtype=np.bool_)
        if not self.generation.rule_catalogs:
            return found
        texts = [*self.bounds.texts.tolist(), ""]
        odd = np.array(["EXCLUSIVE" in t and "INCLUSIVE" in t for t in texts], dtype=np.bool_)
        code = np.minimum(code, len(texts) - 1)
        for parent in np.unique(parents[odd[code]]).tolist():
            at = np.flatnonzero(parents == parent)
            siblings = [parse(texts[c]) for c in code[at].tolist()]
            found[at] = added_again(siblings, siblings)
        return found

    def _hanging(self, batch: list[Root], oid: Ints, of: Ints, n: int) -> tuple[list[int], list[int]]:
        """Units that something hangs on, and units distributed otherwise."""
        hung: list[int] = []
        otherwise: list[int] = []
        for r in batch:
            for fact, into in (*((f, hung) for f in HANGING), ("other distribution", otherwise)):
                for one, _ in r.facts.get(fact, ()):
                    if one != r.oid:
                        into += [int(of[i]) for i in np.flatnonzero(oid == one).tolist() if of[i] >= 0]
        return hung, otherwise

    def _ages(
        self,
        batch: list[Root],
        root: Ints,
        sets: npt.NDArray[np.int32],
        low: Ints,
        high: Ints,
        cal_low: Ints,
        cal_high: Ints,
        why: npt.NDArray[np.int8],
        empty: Bools,
    ) -> tuple[Ints, Bools, Bools]:
        """By unit: the edge of the hot window, whether an empty one may be dropped, whether it is past its retention."""
        n = len(root)
        edge = np.full(n, OPEN_HIGH, dtype=np.int64)
        drop, past = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        starts = np.searchsorted(root, [r.index for r in batch])
        ends = np.append(starts[1:], n)
        for r, s, e in zip(batch, starts.tolist(), ends.tolist(), strict=True):
            if s == e or not r.level:
                continue
            here = slice(s, e)
            w = r.wishes
            usable = (
                (why[here] != KeepReason.UNPARSED)
                & (why[here] != KeepReason.DEFAULT)
                & (why[here] != KeepReason.HANGS_ON)
                & (why[here] != KeepReason.EXTERNAL)
            )
            if r.calendar:
                hot = int(self.now - r.shift - w.hot_days * DAY)
                edge[here] = hot
                ahead = int(self.now - r.shift + w.premade_days * DAY)
                # an open end takes what no other leaf does: it is never dropped
                closed = (cal_low[here] > MINUS_INFINITY) & (cal_high[here] < INFINITY)
                drop[here] = empty[here] & usable & closed & ((cal_high[here] <= hot) | (cal_low[here] >= ahead))
                if w.externalise_after is not None and self.generation.greenplum:
                    old = (
                        (why[here] == KeepReason.FREE)
                        & ~empty[here]
                        & (cal_high[here] <= self.now - r.shift - int(w.externalise_after * DAY))
                    )
                    why[here][old] = KeepReason.EXTERNALISE
                if w.keep is not None:
                    past[here] = usable & (cal_high[here] <= self.now - r.shift - int(w.keep * DAY))
            elif not r.lists:
                # numbers have no clock: the highest leaf with rows is where writing goes on
                for at in np.unique(sets[here]).tolist():
                    i = np.flatnonzero(sets[here] == at) + s
                    full = i[~empty[i] & (why[i] != KeepReason.DEFAULT) & (why[i] != KeepReason.UNPARSED)]
                    some = i[(why[i] != KeepReason.DEFAULT) & (why[i] != KeepReason.UNPARSED)]
                    if len(some):
                        edge[i] = cal_low[full].max() if len(full) else cal_low[some].max()
                    if len(full):  # a set that never held rows tells nothing about what is past
                        closed = (cal_low[i] > MINUS_INFINITY) & (cal_high[i] < INFINITY)
                        drop[i] = empty[i] & usable[i - s] & closed & (cal_high[i] <= edge[i])
            if w.empty != "drop":
                drop[here] = False
            kept = np.flatnonzero(~drop[here])
            if not len(kept):  # a table keeps its last partition
                drop[e - 1] = False
        return edge, drop, past

    def _named(self, batch: list[Root], root: Ints) -> Bools:
        """Units of tables whose grains a policy names: merged by the calendar even where sizes are unknown."""
        named = {r.index: r.wishes.grains_named for r in batch}
        flags = np.zeros((max(named) + 1) if named else 1, dtype=np.bool_)
        for index, flag in named.items():
            flags[index] = flag
        return np.asarray(flags[root], dtype=np.bool_)

    def _stops(self, batch: list[Root], root: Ints, cal_low: Ints, cal_high: Ints, stop: Bools) -> None:
        """Retention units and boundaries that no merged leaf may span."""
        n = len(root)
        starts = np.searchsorted(root, [r.index for r in batch])
        ends = np.append(starts[1:], n)
        for r, s, e in zip(batch, starts.tolist(), ends.tolist(), strict=True):
            if s == e or not r.level:
                continue
            w = r.wishes
            if w.retention_unit is not None and r.calendar:
                grain = grid.Grain(w.retention_unit)
                safe = np.clip(cal_low[s:e], -(2**60), 2**60)
                cell = grid.cells(grain, safe)
                stop[s + 1 : e] |= cell[1:] != cell[:-1]
            for text in w.boundaries:
                try:
                    at = timestamp_axis(text) - r.shift if r.calendar else axis(Term(TermKind.VALUE, "", text), r.family)
                except ValueError:
                    continue
                stop[s + 1 : e] |= cal_low[s + 1 : e] == at
                # a boundary inside a leaf cannot be kept by merging its neighbours apart; the leaf itself spans it already

    def _asked(self, r: Root) -> tuple[list[tuple[int, int, float]], float] | None:
        """Intervals on the table's axis and calls for one unknown value, a day; None where no workload was given."""
        if self.workload is None or not r.key or r.lists or r.several:
            return None
        found: list[tuple[int, int, float]] = []
        points = 0.0
        step = r.family.step or 1
        for one in self.workload.of(r.schema, r.name, r.key):
            if one.point or (one.low is None and one.high is None):
                points += one.calls if one.point else 0.0
                continue
            try:
                low = OPEN_LOW if one.low is None else axis(Term(TermKind.VALUE, "", one.low), r.family)
                high = OPEN_HIGH if one.high is None else axis(Term(TermKind.VALUE, "", one.high), r.family)
            except ValueError:
                continue
            low += 0 if one.low_inclusive or one.low is None else step
            high += step if one.high_inclusive and one.high is not None else 0
            if low < high:
                found.append((low, high, one.calls))
        return found, points

    def _rates(
        self, batch: list[Root], root: Ints, sets: npt.NDArray[np.int32], low: Ints, high: Ints, cal_low: Ints, cal_high: Ints
    ) -> Floats:
        """Questions a day that ask for one unit alone, from the stated default workload."""
        w = self.policy.workload
        n = len(root)
        rate = np.zeros(n)
        starts = np.searchsorted(root, [r.index for r in batch])
        ends = np.append(starts[1:], n)
        for r, s, e in zip(batch, starts.tolist(), ends.tolist(), strict=True):
            if s == e or not r.level:
                continue
            if r.calendar:
                lo = np.clip(cal_low[s:e], -(2**60), 2**60).astype(np.float64)
                hi = np.clip(cal_high[s:e], -(2**60), 2**60).astype(np.float64)
                wide = np.clip((hi - lo) / DAY, 0, 3660)
                age = np.clip((self.now - r.shift - hi) / DAY, 0, 36500)
            else:
                # a number's age is how many leaves came after it
                wide = np.ones(e - s)
                age = np.arange(e - s, 0, -1, dtype=np.float64)
            likely = wide * np.exp2(-age / w.half_life)
            asked = self._asked(r)
            if asked is None:
                rate[s:e] = w.fresh_per_day * likely
                continue
            # one unknown value is as likely anywhere as the default has it; known ranges say themselves what they overlap
            total = float(likely.sum())
            rate[s:e] = asked[1] * likely / total if total > 0 else 0.0
            if asked[0]:
                self.intervals[r.index] = Intervals.of(asked[0])
        return rate


def _sorted(values: Ints) -> bool:
    return bool(np.all(values[1:] >= values[:-1])) if len(values) else True


def _moved(values: Ints, by: int) -> Ints:
    """Values moved on the axis; open ends stay where they are."""
    if by == 0:
        return values
    ends = (values <= MINUS_INFINITY) | (values >= INFINITY)
    return np.where(ends, values, values + np.where(ends, 0, by))
