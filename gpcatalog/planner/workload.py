"""Predicates of queries on partition keys, parsed with sqlglot from pg_stat_statements or a
file of SQL.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpcatalog.errors import CatalogError

if TYPE_CHECKING:
    from sqlglot import exp

LARGEST = 64 * 1024 * 1024  # maximum bytes of a workload file


@dataclass(frozen=True, kw_only=True)
class KeyPredicate:
    """One predicate on one column of one table.

    low, high: texts of the ends, None if there is none; inclusive flags as in a bound
    calls:     number per day
    point:     an equality with an unknown value ($1): one unknown value of the key is read
    """

    low: str | None
    high: str | None
    low_inclusive: bool
    high_inclusive: bool
    calls: float
    point: bool = False


@dataclass
class Workload:
    """Predicates by table (lower-case "schema.table" if the query contains the schema, otherwise
    "table") and column.

    statements, understood: statements read, and those that read a part of a table by its key
    description: one sentence on the source and on how much was understood
    """

    predicates: dict[tuple[str, str], list[KeyPredicate]] = field(default_factory=dict)
    statements: int = 0
    understood: int = 0
    description: str = ""

    def of(self, schema: str, name: str, column: str) -> list[KeyPredicate]:
        """Predicates on one table's key."""
        return [
            *self.predicates.get((f"{schema}.{name}".lower(), column.lower()), ()),
            *self.predicates.get((name.lower(), column.lower()), ()),
        ]


def _statements(path: Path) -> list[tuple[str, float]]:
    try:
        if path.stat().st_size > LARGEST:
            raise CatalogError(
                f"{path} is larger than {LARGEST >> 20} MB",
                hint="keep only the most frequent statements",
            )
        content = path.read_text(encoding="utf-8")
    except OSError as e:
        raise CatalogError(f"cannot read the workload {path}: {e.strerror or e}") from None
    except UnicodeDecodeError:
        raise CatalogError(f"cannot read the workload {path}: not UTF-8 text") from None
    first = content.lstrip("\ufeff").splitlines()[0] if content.strip() else ""
    heads = [h.strip().strip('"').lower() for h in first.split(",")]
    if "query" in heads:
        csv.field_size_limit(LARGEST)
        found = []
        for row in csv.DictReader(io.StringIO(content.lstrip("\ufeff"))):
            line = {(k or "").strip().lower(): v for k, v in row.items() if isinstance(v, str)}
            try:
                calls = float(line.get("calls") or 1)
            except ValueError:
                calls = 1.0
            found.append((line.get("query") or "", calls))
        return found
    # the import takes 0.1 s, which most plans do not need
    from gpcatalog.dialect.script import Source, split

    return [(content[p.start : p.end], 1.0) for p in split(Source(content))]


def read(path: str, snapshot: Any) -> Workload:
    """Read the predicates of a workload file: a CSV with columns query and calls (as \\copy of
    pg_stat_statements writes it), or SQL.

    Calls of a CSV count as those of one day; each statement of a file of SQL counts once per day.
    Raises CatalogError if the file cannot be read, or if no statement in it filters a partitioned
    table by its key.
    """
    now: datetime = snapshot.header["taken_at"]
    keys = {
        (r["schema"].lower(), r["name"].lower()): {
            k.strip().lower() for k in (r["keys"] or "").split(",")
        }
        for r in snapshot.rows(
            'SELECT t."schema", t.name, string_agg(k."key", \',\') AS keys FROM relation t JOIN'
            " partition_key k ON k.root = t.oid GROUP BY ALL"
        )
    }
    found = Workload()
    for sql, calls in _statements(Path(path)):
        found.statements += 1
        if _one(sql, calls, keys, now, found):
            found.understood += 1
    found.description = (
        f"read from {Path(path).name}, {found.understood:,} of {found.statements:,} statements"
        " use a partition key; the calls count as those of one day"
    )
    if not found.understood:
        raise CatalogError(
            f"{path}: none of its {found.statements:,} statements filters a partitioned table by"
            " its partition key",
            hint=(
                "check that the file belongs to this database; without --workload,"
                " gpcatalog assumes a default"
            ),
        )
    return found


def _one(
    sql: str, calls: float, keys: dict[tuple[str, str], set[str]], now: datetime, into: Workload
) -> bool:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, read="postgres")
    except (SqlglotError, RecursionError, ValueError):
        return False
    hit = False
    for select in tree.find_all(exp.Select, exp.Delete, exp.Update):
        tables = _tables(select, keys)
        if not tables:
            continue
        ranges: dict[tuple[str, str], list[KeyPredicate]] = {}
        for part in _conjuncts(select):
            for alias, column, one in _predicate(part, calls, now):
                owners = [t for t in tables if (not alias or alias in t[0]) and column in t[2]]
                if len(owners) == 1:
                    ranges.setdefault((owners[0][1], column), []).append(one)
        for place, parts in ranges.items():
            into.predicates.setdefault(place, []).append(_narrowed(parts))
            hit = True
    return hit


def _tables(
    select: exp.Expression, keys: dict[tuple[str, str], set[str]]
) -> list[tuple[set[str], str, set[str]]]:
    """Partitioned tables of a statement: their names in it, the name for `Workload.predicates`, key
    columns.
    """
    from sqlglot import exp

    found = []
    for table in select.find_all(exp.Table):
        if table.find_ancestor(exp.Select, exp.Delete, exp.Update) is not select:
            continue
        name, schema = table.name.lower(), table.db.lower()
        columns: set[str] = set()
        for (s, n), k in keys.items():
            if n == name and (not schema or s == schema):
                columns |= k
        if columns:
            found.append(
                (
                    {x for x in (table.alias.lower(), name) if x},
                    f"{schema}.{name}" if schema else name,
                    columns,
                )
            )
    return found


def _conjuncts(select: exp.Expression) -> list[exp.Expression]:
    from sqlglot import exp

    found: list[exp.Expression] = []
    where = select.args.get("where")
    roots = [where.this] if where is not None else []
    roots += [
        join.args["on"]
        for join in select.args.get("joins") or []
        if join.args.get("on") is not None
    ]
    while roots:
        at = roots.pop()
        if isinstance(at, exp.And):
            roots += [at.left, at.right]
        elif isinstance(at, exp.Paren):
            roots.append(at.this)
        else:
            found.append(at)
    return found


def _column(node: Any) -> tuple[str, str] | None:
    from sqlglot import exp

    while isinstance(node, (exp.Cast, exp.Paren)):
        node = node.this
    return (node.table.lower(), node.name.lower()) if isinstance(node, exp.Column) else None


def _value(node: Any, now: datetime) -> tuple[bool, str | None]:
    """Whether a node is a value that is constant while the query runs, and its text if that is
    known.
    """
    from sqlglot import exp

    while (
        isinstance(node, (exp.Cast, exp.Paren, exp.TsOrDsToDate, exp.Date, exp.Timestamp))
        and node.this is not None
    ):
        node = node.this
    if isinstance(node, exp.Literal):
        return True, node.name
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return True, f"-{node.this.name}"
    if isinstance(node, (exp.Parameter, exp.Placeholder)):
        return True, None
    if isinstance(node, exp.CurrentDate):
        return True, now.strftime("%Y-%m-%d")
    if isinstance(node, (exp.CurrentTimestamp, exp.CurrentDatetime)):
        return True, now.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(node, (exp.Add, exp.Sub)):
        known, text = _value(node.left, now)
        span = _span(node.right)
        if known and text and span is not None:
            try:
                moment = datetime.fromisoformat(text) + (
                    span if isinstance(node, exp.Add) else -span
                )
            except ValueError:
                return True, None
            return True, moment.strftime("%Y-%m-%d %H:%M:%S")
    return False, None


def _span(node: Any) -> timedelta | None:
    from sqlglot import exp

    if isinstance(node, exp.Literal) and not node.is_string:
        return timedelta(days=float(node.name))
    if not isinstance(node, exp.Interval) or node.this is None:
        return None
    words = f"{node.this.name} {node.args['unit'].name if node.args.get('unit') else ''}".lower()
    m = re.match(r"\s*(\d+(?:\.\d+)?)\s*(hour|day|week|month|year)s?", words)
    per = {"hour": 1 / 24, "day": 1, "week": 7, "month": 30.436875, "year": 365.2425}
    return timedelta(days=float(m[1]) * per[m[2]]) if m else None


def _predicate(node: Any, calls: float, now: datetime) -> list[tuple[str, str, KeyPredicate]]:
    """Column and interval of one comparison; empty if it is not a comparison with a column."""
    from sqlglot import exp

    if isinstance(node, exp.Between):
        column = _column(node.this)
        found = _between(node, calls, now)
    elif isinstance(node, exp.In):
        column = _column(node.this)
        found = _in_list(node, calls, now)
    else:
        column, found = _comparison(node, calls, now)
    return [(*column, found)] if column and found else []


def _between(node: exp.Between, calls: float, now: datetime) -> KeyPredicate | None:
    """The interval of a BETWEEN with constant ends."""
    low, high = _value(node.args["low"], now), _value(node.args["high"], now)
    if not low[0] or not high[0]:
        return None
    return KeyPredicate(
        low=low[1], high=high[1], low_inclusive=True, high_inclusive=True, calls=calls
    )


def _in_list(node: exp.In, calls: float, now: datetime) -> KeyPredicate | None:
    """From the lowest to the highest value of an IN list; a point if some are unknown."""
    values = [_value(v, now) for v in node.expressions]
    if not values or not all(known for known, _ in values):
        return None
    texts = _ascending([t for _, t in values if t is not None])
    every = len(texts) == len(values)
    return KeyPredicate(
        low=texts[0] if every else None,
        high=texts[-1] if every else None,
        low_inclusive=True,
        high_inclusive=True,
        calls=calls,
        point=not every,
    )


def _ascending(texts: list[str]) -> list[str]:
    """Sort numbers by value, and other constants as text: dates are written year first.

    >>> _ascending(["10", "9.5"]), _ascending(["2024-02-01", "2024-01-01"])
    (['9.5', '10'], ['2024-01-01', '2024-02-01'])
    """
    try:
        return sorted(texts, key=Decimal)
    except InvalidOperation:
        return sorted(texts)


def _comparison(
    node: Any, calls: float, now: datetime
) -> tuple[tuple[str, str] | None, KeyPredicate | None]:
    """Column and interval of =, <, <=, > or >= between a column and a value, on either side."""
    from sqlglot import exp

    flips = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
    kind = type(node)
    if kind not in flips:
        return None, None
    left, right = _column(node.left), _column(node.right)
    if left and not right:
        column, (known, text) = left, _value(node.right, now)
    elif right and not left:
        column, (known, text), kind = right, _value(node.left, now), flips[kind]
    else:
        return None, None
    if not known:
        return None, None
    from_, to = kind in (exp.EQ, exp.GT, exp.GTE), kind in (exp.EQ, exp.LT, exp.LTE)
    return column, KeyPredicate(
        low=text if from_ else None,
        high=text if to else None,
        low_inclusive=kind is not exp.GT,
        high_inclusive=kind is not exp.LT,
        calls=calls,
        point=kind is exp.EQ and text is None,
    )


def _narrowed(parts: list[KeyPredicate]) -> KeyPredicate:
    """Combine several conditions on one column: the last one that contains an end wins; an
    equality is used alone.
    """
    for one in parts:
        if one.point or (one.low is not None and one.low == one.high):
            return one
    low = next((p for p in reversed(parts) if p.low is not None), None)
    high = next((p for p in reversed(parts) if p.high is not None), None)
    return KeyPredicate(
        low=low.low if low else None,
        high=high.high if high else None,
        low_inclusive=low.low_inclusive if low else True,
        high_inclusive=high.high_inclusive if high else True,
        calls=parts[0].calls,
    )
