"""The policy of the owner, read from a TOML file: grains by age, what to keep, storage, hot
days; it has defaults for everything.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from gpcatalog.capacity import limits
from gpcatalog.errors import CatalogError
from gpcatalog.model import toml_settings
from gpcatalog.planner import time_key
from gpcatalog.planner.calendar_age import whole_months
from gpcatalog.planner.grid import GRAINS, Grain

GIB = limits.GIB
MIB = limits.MIB

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 1024,
    "mb": MIB,
    "gb": GIB,
    "tb": 1024 * GIB,
    "kib": 1024,
    "mib": MIB,
    "gib": GIB,
    "tib": 1024 * GIB,
}
_SPANS = {
    "h": 1 / 24,
    "hour": 1 / 24,
    "d": 1,
    "day": 1,
    "w": 7,
    "week": 7,
    "month": 30.436875,
    "quarter": 91.310625,
    "y": 365.2425,
    "year": 365.2425,
}


def size(text: str | int) -> int:
    """Bytes of "40MB", "1.5 GiB" or a plain number; prefixes are powers of 1024. Raises ValueError.

    >>> size("4 MB"), size("1.5GiB"), size(10)
    (4194304, 1610612736, 10)
    """
    if isinstance(text, int):
        number, unit = float(text), ""
    else:
        m = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
        if m is None or m[2].lower() not in _UNITS:
            raise ValueError(f'{text!r} is not a size; write "40MB", "1.5GiB" or bytes')
        number, unit = float(m[1]), m[2].lower()
    value = number * _UNITS[unit]
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    if not value < 2**62:
        raise ValueError(f"{text!r} is larger than any cluster")
    return int(value)


def days(text: str | int | float) -> float:
    """Days of "36 months", "2y", "12h" or a plain number of days. Raises ValueError.

    >>> days("2 weeks"), days(30), round(days("1y"), 4)
    (14.0, 30.0, 365.2425)
    """
    if isinstance(text, (int, float)):
        value = float(text)
    else:
        m = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
        unit = (m[2].lower() if m else "?") or "d"
        span = _SPANS.get(unit, _SPANS.get(unit.removesuffix("s")))
        if m is not None and unit == "m":
            raise ValueError(f'{text!r} may be months or minutes; write "{m[1]} months", or days')
        if m is None or span is None:
            raise ValueError(
                f'{text!r} is not a period; write "36 months", "2y", "30d" or a number of days'
            )
        value = float(m[1]) * span
    if not 0 <= value < 1e7:
        raise ValueError(f"{text!r} is not a valid period for a table")
    return value


_INTERVAL_PARTS = {
    "year": 365.2425,
    "mon": 30.436875,
    "month": 30.436875,
    "week": 7.0,
    "day": 1.0,
    "hour": 1 / 24,
}


def interval_days(text: str) -> float:
    """Days of an interval in PostgreSQL's output format. Raises ValueError.

    >>> interval_days("7 days"), interval_days("01:00:00") * 24, interval_days("3 mons") > 90
    (7.0, 1.0, True)
    """
    found = 0.0
    rest = text.strip()
    for m in re.finditer(r"(\d+) (year|month|mon|week|day|hour)s?\b|(\d+):(\d\d):(\d\d)", rest):
        found += (
            int(m[1]) * _INTERVAL_PARTS[m[2]]
            if m[1]
            else (int(m[3]) * 3600 + int(m[4]) * 60 + int(m[5])) / 86400
        )
        rest = rest.replace(m[0], "", 1)
    if rest.strip() or found <= 0:
        raise ValueError(f"{text!r} is not an interval")
    return found


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Weights of the optimizer, in points. They are choices of this program: no source publishes
    them.

    row:     a catalog row on one instance
    file:    a file on one segment
    rewrite: a mebibyte rewritten, all segments together
    scan:    an additional mebibyte per day that queries read, all segments together
    drop:    an empty leaf dropped (its range no longer accepts rows)
    """

    row: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    file: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    rewrite: Annotated[float, msgspec.Meta(ge=0)] = 0.02
    scan: Annotated[float, msgspec.Meta(ge=0)] = 0.01
    drop: Annotated[float, msgspec.Meta(ge=0)] = 5.0


class Rule(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """Per-table rules: for tables whose qualified name matches `match` (shell pattern on
    schema.table).

    grains:       grains that a merged leaf may have, each with a minimum age (days or "2y"): {month
                  = "60d", year = "2y"}
    hot_days:     leaves that contain anything younger than this are not changed
    keep:         the owner removes rows older than this, so leaves past this age are not changed
                  (default: pg_partman's retention, if any)
    retention_unit: the range that the owner drops at a time: a merged leaf never crosses its edges
    max_leaf, min_leaf: maximum size of a merged leaf on its fullest segment; a leaf of min_leaf or
                        more is merged only with smaller ones
    storage:      "auto", "keep", or the storage that cold leaves should have
    small_column_file: column files smaller than this are a reason for ao_row
    heap_below:   leaves smaller than this on the fullest segment may become heap (0: none)
    empty:        "drop" or "keep" empty leaves that end before the hot window or begin after
                  premade_days. With "drop", an empty leaf whose neighbors are merged is merged,
                  too, so its range is kept; it is dropped only if no merge includes it
    premade_days: the horizon: leaves that begin within it are never dropped
    merge_lists:  merge small list partitions into groups of at most this many partitions (0: never)
    unpartition_below: tables whose total size is smaller than this lose their partitions (0: never)
    flatten:      remove a level that has one partition per parent
    unused_subpartitions: "drop" removes list subpartitions that are empty below every partition,
                          also from the template; other changes of the table follow in the next plan
    externalise_after: propose to move cold leaves older than this to files behind an external table
    boundaries:   dates or numbers that no merged leaf may span
    skip:         do not change these tables

    Only for `gpcatalog upkeep`:
    automatic_maintenance: write upkeep scripts for these tables
    grain:        of new partitions: a word of the calendar (default: that of the newest ones)
    premake:      how far ahead of today partitions are created
    premake_batch: create them only when the cover is shorter than `premake` by this much
    keep_partitions: for keys that are plain numbers, instead of `keep`: number of partitions before
                     the newest one with rows that are kept
    quiet:        merge only partitions that were not written for this time, according to their
                  files
    fill_gaps:    create partitions for gaps in the past, too
    retention:    what happens to partitions that are older than `keep`: none, detach, drop, or
                  externalize (Greenplum: their rows are moved to files behind an external table)
    retention_schema: schema to which detached partitions are moved (default: they stay in their
                      schema)
    external_location: of these files, such as gpfdist://etl1:8081/{file}.txt; separate several by
                       spaces
    default_rows: "move" rows of the default partition into new ones, or "report" them
    time_zone:    in which ranges of timestamptz keys begin at midnight (default: the one that
                  fits); plans use it, too
    name:         template of partition names, such as p{%Y%m%d} or {table}_{%Y_%m}
    """

    match: str = ""
    grains: dict[str, str | float] | None = None
    hot_days: str | float | None = None
    keep: str | float | None = None
    retention_unit: str | None = None
    max_leaf: str | int | None = None
    min_leaf: str | int | None = None
    storage: Literal["auto", "keep", "ao_row", "ao_column", "heap"] | None = None
    small_column_file: str | int | None = None
    heap_below: str | int | None = None
    empty: Literal["drop", "keep"] | None = None
    premade_days: str | float | None = None
    merge_lists: Annotated[int, msgspec.Meta(ge=0)] | None = None
    unpartition_below: str | int | None = None
    flatten: bool | None = None
    unused_subpartitions: Literal["drop", "keep"] | None = None
    externalise_after: str | float | None = None
    boundaries: list[str | int] | None = None
    skip: bool | None = None
    automatic_maintenance: bool | None = None
    grain: str | None = None
    premake: str | float | None = None
    premake_batch: str | float | None = None
    keep_partitions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    quiet: str | float | None = None
    fill_gaps: bool | None = None
    retention: Literal["none", "detach", "drop", "externalize"] | None = None
    retention_schema: str | None = None
    external_location: str | None = None
    default_rows: Literal["report", "move"] | None = None
    time_zone: str | None = None
    name: str | None = None


class Upkeep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of one night of `gpcatalog upkeep`, for all tables.

    max_leaves:  partitions that are merged, detached or dropped; new partitions are not counted
    max_rewrite: bytes that are copied by merges, all segments together
    window:      seconds after which no further step begins
    lock_wait:   longest wait for a lock in one attempt, in seconds
    lock_attempts: attempts to take a lock, a second apart
    """

    max_leaves: Annotated[int, msgspec.Meta(ge=1)] = 1000
    max_rewrite: str | int = "50GB"
    window: str | float = "30min"
    lock_wait: str | float = 0.3
    lock_attempts: Annotated[int, msgspec.Meta(ge=1)] = 60


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits for all tables; those of the command line take precedence.

    target_leaves: leaves and unpartitioned tables of the database afterwards
    target_files:  files on one segment afterwards
    max_rewrite:   bytes that may be rewritten, all segments together
    window:        maximum time of all steps together, in seconds
    max_lock:      maximum number of locks of one merge or conversion
    headroom:      free bytes on the fullest segment: no step copies more
    """

    target_leaves: Annotated[int, msgspec.Meta(ge=0)] | None = None
    target_files: Annotated[int, msgspec.Meta(ge=0)] | None = None
    max_rewrite: str | int | None = None
    window: str | float | None = None
    max_lock: Annotated[int, msgspec.Meta(ge=1)] | None = None
    headroom: str | int | None = None


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Assumptions on queries if no workload is specified; stated in every plan.

    fresh_per_day:  how many times per day the rows of one day are queried alone while they are
                    fresh
    half_life:      days after which they are queried half as often
    column_share:   share of the columns that a query reads
    """

    fresh_per_day: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    half_life: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    column_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.25


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole policy file: `[limits]`, `[upkeep]`, `[weights]`, `[workload]`, `[default]` and
    `[[table]]` rules; the last match wins, key by key.
    """

    limits: Limits = Limits()
    upkeep: Upkeep = Upkeep()
    weights: Weights = Weights()
    workload: Workload = Workload()
    default: Rule = Rule()
    table: list[Rule] = []


class ResolvedPolicy(msgspec.Struct, kw_only=True, frozen=True):
    """The rules of one table, with a value for every key; sizes in bytes, ages in days.

    retention_rule: the rule that sets the retention, with its pattern. For the others, see Rule.
    """

    grains: tuple[tuple[int, float], ...]  # (Grain, minimum age in days)
    hot_days: float
    keep: float | None
    keep_months: int
    retention_unit: int | None
    max_leaf: int
    min_leaf: int
    storage: str
    small_column_file: int
    heap_below: int
    empty: str
    premade_days: float
    merge_lists: int
    unpartition_below: int
    flatten: bool
    unused_subpartitions: str
    externalise_after: float | None
    externalise_after_months: int
    boundaries: tuple[str, ...]
    skip: bool
    grains_named: bool
    automatic_maintenance: bool
    grain: int | None
    premake: float | None
    premake_batch: float | None
    keep_partitions: int | None
    quiet: float | None
    fill_gaps: bool
    retention: str
    retention_rule: str
    retention_schema: str
    external_location: str
    default_rows: str
    time_zone: str
    name: str


_DEFAULTS: dict[str, object] = {
    "hot_days": 31.0,
    "keep": None,
    "keep_months": 0,
    "retention_unit": None,
    # 100 column files of the published 40 MB target
    "max_leaf": 100 * int(limits.AVERAGE_FILE_TARGET.value),
    "min_leaf": 0,
    "storage": "auto",
    "small_column_file": int(limits.SLOWDOWN_BOUNDARY.value),
    "heap_below": 0,
    "empty": "drop",
    "premade_days": 400.0,
    "merge_lists": 0,
    "unpartition_below": 0,
    "flatten": False,
    "unused_subpartitions": "keep",
    "externalise_after": None,
    "externalise_after_months": 0,
    "boundaries": [],
    "skip": False,
    "automatic_maintenance": False,
    "grain": None,
    "premake": None,
    "premake_batch": None,
    "keep_partitions": None,
    "quiet": None,
    "fill_gaps": False,
    "retention": "none",
    "retention_rule": "",
    "retention_schema": "",
    "external_location": "",
    "default_rows": "report",
    "time_zone": "",
    "name": "",
}
_FORMS = 'sizes are "40MB" or bytes, ages "30d", "2y" or days, grains {month = "60d", year = "2y"}'
_SIZES = {"max_leaf", "min_leaf", "small_column_file", "heap_below", "unpartition_below"}
_AGES = {
    "hot_days",
    "keep",
    "premade_days",
    "externalise_after",
    "premake",
    "premake_batch",
    "quiet",
}


def _combined_values(
    rules: list[tuple[str, Rule]],
) -> tuple[dict[str, object], dict[str, str | float] | None]:
    """Values of all keys, where later rules override earlier ones, and the grains. Raises
    CatalogError.
    """
    found = dict(_DEFAULTS)
    grains: dict[str, str | float] | None = None
    for where, rule in rules:
        for key in msgspec.structs.fields(Rule):
            value = getattr(rule, key.name)
            if value is None or key.name == "match":
                continue
            try:
                if key.name == "grains":
                    grains = value
                    for name, age in value.items():
                        if name not in GRAINS:
                            raise ValueError(
                                f"{name!r} is not a valid grain; use one of {', '.join(GRAINS)}"
                            )
                        days(age)
                elif key.name in ("retention_unit", "grain"):
                    if value not in GRAINS:
                        raise ValueError(
                            f"{value!r} is not a valid grain; use one of {', '.join(GRAINS)}"
                        )
                    found[key.name] = value
                elif key.name == "retention":
                    found[key.name] = value
                    found["retention_rule"] = where + (
                        f", match {rule.match!r}" if rule.match else ""
                    )
                else:
                    if f"{key.name}_months" in _DEFAULTS:
                        found[f"{key.name}_months"] = whole_months(value)
                    found[key.name] = (
                        size(value)
                        if key.name in _SIZES
                        else days(value)
                        if key.name in _AGES
                        else value
                    )
            except ValueError as e:
                raise CatalogError(f"policy: {where}.{key.name}: {e}", hint=_FORMS) from None
    return found, grains


def _resolve(rules: list[tuple[str, Rule]]) -> ResolvedPolicy:
    """Combine rules; later rules override earlier ones. Raises CatalogError."""
    found, grains = _combined_values(rules)
    _consistent(rules[-1][0] if rules else "default", found)
    boundaries = found["boundaries"]
    assert isinstance(boundaries, list)
    retention = found["retention_unit"]
    every = grains if grains is not None else {g.word: 0 for g in Grain}
    return ResolvedPolicy(
        grains=tuple(sorted((int(GRAINS[name]), days(age)) for name, age in every.items())),
        grains_named=grains is not None,
        hot_days=float(found["hot_days"]),  # type: ignore[arg-type]
        keep=found["keep"],  # type: ignore[arg-type]
        keep_months=found["keep_months"],  # type: ignore[arg-type]
        retention_unit=int(GRAINS[str(retention)]) if retention is not None else None,
        max_leaf=int(found["max_leaf"]),  # type: ignore[call-overload]
        min_leaf=int(found["min_leaf"]),  # type: ignore[call-overload]
        storage=str(found["storage"]),
        small_column_file=int(found["small_column_file"]),  # type: ignore[call-overload]
        heap_below=int(found["heap_below"]),  # type: ignore[call-overload]
        empty=str(found["empty"]),
        premade_days=float(found["premade_days"]),  # type: ignore[arg-type]
        merge_lists=int(found["merge_lists"]),  # type: ignore[call-overload]
        unpartition_below=int(found["unpartition_below"]),  # type: ignore[call-overload]
        flatten=bool(found["flatten"]),
        unused_subpartitions=str(found["unused_subpartitions"]),
        externalise_after=found["externalise_after"],  # type: ignore[arg-type]
        externalise_after_months=found["externalise_after_months"],  # type: ignore[arg-type]
        boundaries=tuple(str(b) for b in boundaries),
        skip=bool(found["skip"]),
        automatic_maintenance=bool(found["automatic_maintenance"]),
        grain=None if found["grain"] is None else int(GRAINS[str(found["grain"])]),
        premake=found["premake"],  # type: ignore[arg-type]
        premake_batch=found["premake_batch"],  # type: ignore[arg-type]
        keep_partitions=found["keep_partitions"],  # type: ignore[arg-type]
        quiet=found["quiet"],  # type: ignore[arg-type]
        fill_gaps=bool(found["fill_gaps"]),
        retention=str(found["retention"]),
        retention_rule=str(found["retention_rule"]),
        retention_schema=str(found["retention_schema"]),
        external_location=str(found["external_location"]),
        default_rows=str(found["default_rows"]),
        time_zone=str(found["time_zone"]),
        name=str(found["name"]),
    )


def check_zone(where: str, name: str) -> None:
    """Raise CatalogError for a name that is not a time zone; an empty name is valid."""
    try:
        if name:
            time_key.zone_of(name)
    except ValueError as e:
        raise CatalogError(
            f"policy: {where}.time_zone: {e}", hint='write a name such as "Europe/Berlin"'
        ) from None


_PROTOCOLS = ("gpfdist://", "gpfdists://", "s3://")


def _location(where: str, found: dict[str, object]) -> None:
    """Raise CatalogError for an invalid location of external files."""
    place, externalizes = str(found["external_location"]), found["retention"] == "externalize"
    if not externalizes and place:
        raise CatalogError(
            f'policy: {where}: external_location is for retention = "externalize"',
            hint="set retention, or leave external_location out",
        )
    if not externalizes:
        return
    hint = 'write it as "gpfdist://etl1:8081/{file}.txt"'
    if not place.split() or not all(p.startswith(_PROTOCOLS) for p in place.split()):
        raise CatalogError(
            f"policy: {where}: external_location {place!r} is not a location that can be written"
            f" and read ({', '.join(_PROTOCOLS)})",
            hint=hint,
        )
    if not all("{file}" in part for part in place.split()):
        raise CatalogError(
            f"policy: {where}: external_location {place!r} has no {{file}}: several partitions, or a"
            " second attempt, would write the same file",
            hint=hint,
        )


LONGEST_PREMAKE = 18262.125
"""Maximum of `premake` in days: 50 years."""


def _consistent(where: str, found: dict[str, object]) -> None:
    def number(key: str) -> float | None:
        value = found[key]
        return None if value is None else float(value)  # type: ignore[arg-type]

    max_leaf, min_leaf, keep, hot = (
        number("max_leaf"),
        number("min_leaf"),
        number("keep"),
        number("hot_days"),
    )
    if max_leaf is not None and min_leaf is not None and min_leaf > max_leaf:
        raise CatalogError(
            f"policy: {where}: min_leaf ({min_leaf:.0f} bytes) is more than max_leaf"
            f" ({max_leaf:.0f} bytes)",
            hint=("lower min_leaf or raise max_leaf"),
        )
    if keep is not None and hot is not None and keep < hot:
        raise CatalogError(
            f"policy: {where}: keep ({keep:g} days) is less than hot_days ({hot:g} days)",
            hint=("raise keep or lower hot_days"),
        )
    premake, batch = number("premake"), number("premake_batch")
    if premake is not None and batch is not None and batch > premake:
        raise CatalogError(
            f"policy: {where}: premake_batch ({batch:g} days) is more than premake ({premake:g}"
            " days)",
            hint="lower premake_batch",
        )
    if premake is not None and premake > LONGEST_PREMAKE:
        raise CatalogError(
            f"policy: {where}: premake ({premake:,.0f} days) is more than 50 years",
            hint='write for example premake = "14d"',
        )
    if found["retention"] != "none" and keep is None and found["keep_partitions"] is None:
        raise CatalogError(
            f"policy: {where}: retention is {found['retention']!r}, but keep is not set",
            hint='say how long partitions are kept, for example keep = "5y"',
        )
    if found["retention_schema"] and found["retention"] != "detach":
        raise CatalogError(
            f'policy: {where}: retention_schema is for retention = "detach"',
            hint="remove retention_schema",
        )
    _location(where, found)
    check_zone(where, str(found["time_zone"]))
    later = number("externalise_after")
    if later is not None and hot is not None and later < hot:
        raise CatalogError(
            f"policy: {where}: externalise_after ({later:g} days) is less than hot_days ({hot:g}"
            " days)",
            hint="recent leaves are never moved to external files; raise externalise_after",
        )


def resolve_policy(policy: Policy, schema: str, name: str) -> ResolvedPolicy:
    """The rules of one table: defaults, then [default], then every [[table]] that matches, in
    order. Raises CatalogError.
    """
    rules = [("default", policy.default)]
    rules += [(f"table[{n}]", policy.table[n]) for n in rule_key(policy, schema, name)]
    return _resolve(rules)


def rule_key(policy: Policy, schema: str, name: str) -> tuple[int, ...]:
    """Which [[table]] rules match: tables with the same key have the same rules."""
    full = f"{schema}.{name}"
    return tuple(
        n
        for n, r in enumerate(policy.table)
        if fnmatch.fnmatchcase(full, r.match) or fnmatch.fnmatchcase(name, r.match)
    )


def _check_patterns(policy: Policy) -> None:
    """Raise CatalogError for a [[table]] rule without a pattern, and for a pattern in [default]."""
    if policy.default.match:
        raise CatalogError(
            f"policy: default.match: {policy.default.match!r}: [default] is for all tables",
            hint="write a [[table]] rule for the tables that match, or remove match",
        )
    for n, rule in enumerate(policy.table):
        if not rule.match:
            raise CatalogError(
                f"policy: table[{n}] has no match, so the tables that it is for are not known",
                hint='write for example match = "sales.orders"; [default] is for all tables',
            )


def check_unqualified(policy: Policy, names: Sequence[tuple[str, str]]) -> None:
    """Raise CatalogError for a [[table]] rule whose pattern is a name without a schema, if tables
    of several schemas have this name.

    names: schema and name of each partitioned table
    """
    for n, rule in enumerate(policy.table):
        if any(c in rule.match for c in ".*?["):
            continue
        same = sorted({f"{schema}.{name}" for schema, name in names if name == rule.match})
        if len(same) > 1:
            raise CatalogError(
                f"policy: table[{n}].match: {rule.match!r} has no schema and matches"
                f" {len(same)} tables: {', '.join(same[:5])}{', …' if len(same) > 5 else ''}",
                hint=f'write match = "{same[0]}", or "*.{rule.match}" for all schemas',
            )


def read(path: Path) -> Policy:
    """Read the policy in a TOML file.

    Raises CatalogError (usage) with the key that is unknown, has the wrong type or contradicts
    another.
    """
    return loads(toml_settings.read_text(path, "policy"), str(path))


def loads(text: str, origin: str = "policy") -> Policy:
    """Read the policy in a TOML text; see `read`."""
    raw = toml_settings.parse(text, origin)
    found = toml_settings.as_settings(raw, Policy, origin, hint=_FORMS)
    _check_patterns(found)
    _resolve([("default", found.default)])
    for n, rule in enumerate(found.table):
        _resolve([("default", found.default), (f"table[{n}]", rule)])
    check_limits(found.limits)
    for key, reading in (("max_rewrite", size), ("window", seconds), ("lock_wait", seconds)):
        try:
            reading(getattr(found.upkeep, key))
        except ValueError as e:
            raise CatalogError(f"policy: upkeep.{key}: {e}") from None
    return found


def check_limits(limits: Limits) -> None:
    """Raise CatalogError for sizes or times among the limits that are invalid."""
    for key, reading in (("max_rewrite", size), ("headroom", size), ("window", _window_days)):
        value = getattr(limits, key)
        if value is not None:
            try:
                reading(value)
            except ValueError as e:
                raise CatalogError(f"limit {key}: {e}") from None


def _window_days(text: str | float) -> float:
    return seconds(text) / 86400


_SECONDS = {
    "": 1,
    "ms": 0.001,
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}


def seconds(text: str | float) -> float:
    """Seconds of "4h", "90min", "1 day", "30s", "300ms" or a plain number of seconds. Raises
    ValueError.

    >>> seconds("1.5h"), seconds("90 min"), seconds(10), seconds("300ms"), seconds("2 days")
    (5400.0, 5400.0, 10.0, 0.3, 172800.0)
    """
    if isinstance(text, (int, float)):
        return float(text)
    m = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    unit = _SECONDS.get(m[2], _SECONDS.get(m[2].removesuffix("s"))) if m else None
    if m is None or unit is None:
        raise ValueError(f'{text!r} is not a period; write "4h", "90min", "1 day" or seconds')
    return float(m[1]) * unit
