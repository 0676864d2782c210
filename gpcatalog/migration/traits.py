"""Properties of partitions besides columns, keys and indexes: the rules that merge them, and the SQL that sets them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpcatalog.migration.facts import quote_ident_always
from gpcatalog.model.names import quote_literal

Traits = Mapping[tuple[str, str], str]
"""(what, name) → value, as the probe `migration_traits` tells it: ("default", "v") → "'x'::text"."""

# merged when they differ: the newest partition decides how its rows are stored and sampled
_NEWEST = ("storage", "compression", "options", "toast options")
_OF_STATISTICS = ("statistics", "statistics name", "statistics target", "statistics comment")
_WORDS = {
    "default": "default of column",
    "storage": "storage of column",
    "compression": "compression of column",
    "options": "options of column",
    "toast options": "options of the TOAST table",
    "comment": "comment on column",
    "not null": "NOT NULL of column",
    "check comment": "comment on constraint",
    "statistics": "statistics object",
}


class Differ(Exception):
    """Partitions differ in something that no rule can put together."""


@dataclass(frozen=True)
class Statistics:
    """A statistics object. of: kinds and columns, in the syntax of CREATE STATISTICS; target: statistics target, empty if not set."""

    schema: str
    name: str
    of: str
    target: str
    comment: str


@dataclass(frozen=True)
class Dress:
    """Statements that give a table built aside its traits.

    before: on the empty table; late: once its rows are there; after: once it is a partition
    """

    before: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    statistics: tuple[Statistics, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before or self.late or self.after or self.statistics)


def merged(parts: Sequence[Traits], root: Traits) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return the properties of a partition that is merged from these, oldest first, and sentences on what is lost.

    A property that all parts share is kept. Where they differ, these rules apply: the default of the root; NOT NULL if all parts have
    it; storage, compression and options of the newest part. Comments and statistics objects that differ are lost and listed. A CHECK
    that is not validated on one part is not validated afterwards.

    Raises Differ if a trigger is not enabled in the same way on all parts.
    """
    found: dict[tuple[str, str], str] = {}
    lost: list[str] = []
    newest = parts[-1]
    keys = dict.fromkeys(k for p in parts for k in p)
    for key in keys:
        what, name = key
        if what.startswith("statistics"):
            continue
        values = [p.get(key) for p in parts]
        value = values[0] if all(v == values[0] for v in values) else None
        if value is not None:
            found[key] = value
        elif what == "default":
            if key in root:
                found[key] = root[key]
            if any(v != root.get(key) for v in values):
                lost.append(_sentence(what, name, values, root.get(key), "the table's applies" if key in root else "the new one has none"))
        elif what == "not null":
            if all(v is not None for v in values):
                found[key] = next((v for v in values if v and v.endswith("NOT VALID")), newest[key])
            elif key in root:
                found[key] = root[key]
            else:
                lost.append(_sentence(what, name, values, None, "the new one has none"))
        elif what == "check":
            found[key] = next((v for v in values if v and v.endswith("NOT VALID")), newest.get(key) or root.get(key, ""))
            if not found[key]:
                raise Differ(f"constraint {name} is neither on the table nor on its newest partition")
        elif what == "trigger":
            raise Differ(f"trigger {name} is not enabled alike on all of its partitions")
        elif what in _NEWEST:
            if key in newest:
                found[key] = newest[key]
            lost.append(_sentence(what, name, values, newest.get(key), "the newest one's applies"))
        else:
            lost.append(_sentence(what, name, values, None, "the new one has none"))
    return found | _statistics(parts, lost), lost


def _sentence(what: str, name: str, values: Sequence[str | None], kept: str | None, then: str) -> str:
    number = sum(v is not None and v != kept for v in values) or len(values)
    subject = f"{_WORDS.get(what, what)} {name}".strip()
    return f"{subject} on {number} of {len(values)} partitions: {then}"


def _statistics(parts: Sequence[Traits], lost: list[str]) -> dict[tuple[str, str], str]:
    """Statistics objects that all partitions have alike, under the newest one's names."""
    found: dict[tuple[str, str], str] = {}
    texts = [{v for (w, _), v in p.items() if w == "statistics"} for p in parts]
    common = set.intersection(*texts)
    for (what, name), text in parts[-1].items():
        if what == "statistics" and text in common:
            common.discard(text)
            found |= {(w, name): parts[-1][w, name] for w in _OF_STATISTICS if (w, name) in parts[-1]}
    kept = {v for (w, _), v in found.items() if w == "statistics"}
    gone = [name for p in parts for (w, name), v in p.items() if w == "statistics" and v not in kept]
    if gone:
        shown = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")
        lost.append(f"statistics {'object' if len(gone) == 1 else 'objects'} {shown}: not all of the partitions have them alike")
    return found


def replaced(parts: Sequence[Traits], then: Traits) -> list[str]:
    """Return sentences on the properties of partitions that a table in their place, with other properties, does not have."""
    found = []
    for what, name in dict.fromkeys(k for p in parts for k in p):
        if what in _OF_STATISTICS[1:]:
            continue
        values = [p.get((what, name)) for p in parts]
        kept = then.get((what, name))
        if what == "statistics":
            if not any(v == text for v in values for (w, _), text in then.items() if w == what):
                found.append(f"statistics object {name}: it belongs to a partition")
        elif any(v is not None and v != kept for v in values):
            rule = "the table has none" if kept is None else "the table's applies"
            found.append(_sentence(what, name, values, kept, rule))
    return found


def brought_along(like: Traits, *, classic: bool) -> dict[tuple[str, str], str]:
    """Return what LIKE copies of these traits, as the scripts use it."""
    if classic:
        return {k: v for k, v in like.items() if k[0] in ("default", "not null")}
    copied = {
        k: v for k, v in like.items() if k[0] in ("default", "storage", "compression", "comment", "not null", "check", "check comment")
    }
    # a constraint that is not valid is copied as a valid one
    return {k: v.removesuffix(" NOT VALID") if k[0] in ("check", "not null") else v for k, v in copied.items()}


def dress(table: str, final: str, base: Traits, wanted: Traits, root: Traits) -> Dress:
    """Return what gives a table with the traits `base` the wanted ones.

    table, final: its qualified name while it is built and afterwards
    root: traits of the table that it becomes a partition of, whose triggers come with ATTACH
    """
    before: list[str] = []
    late: list[str] = []
    for what, name in dict.fromkeys([*base, *wanted]):
        was, then = base.get((what, name)), wanted.get((what, name))
        if was == then:
            continue
        column = quote_ident_always(name)
        if what == "default":
            before.append(f"ALTER TABLE {table} ALTER COLUMN {column} " + ("DROP DEFAULT;" if then is None else f"SET DEFAULT {then};"))
        elif what == "storage" and then is not None:
            before.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE {then};")
        elif what == "compression" and then is not None:
            before.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET COMPRESSION {then};")
        elif what == "options" and then is not None:
            before.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET ({_options(then)});")
        elif what == "toast options" and then is not None:
            before.append(f"ALTER TABLE {table} SET ({_options(then, 'toast.')});")
        elif what == "comment":
            before.append(f"COMMENT ON COLUMN {table}.{column} IS {'NULL' if then is None else quote_literal(then)};")
        elif what == "check comment" and ("check", name) in wanted and base.get(("check", name)) == wanted["check", name]:
            text = "NULL" if then is None else quote_literal(then)
            late.append(f"COMMENT ON CONSTRAINT {column} ON {table} IS {text};")
        elif what == "check":
            late += _check(before, table, column, was, then)
            if then is not None and ("check comment", name) in wanted:
                late.append(f"COMMENT ON CONSTRAINT {column} ON {table} IS {quote_literal(wanted['check comment', name])};")
        elif what == "not null":
            late += _not_null(before, table, column, was, then)
    after = [
        f"ALTER TABLE {final} {then} TRIGGER {quote_ident_always(name)};"
        for (what, name), then in wanted.items()
        if what == "trigger" and root.get((what, name)) not in (None, then)
    ]
    made = [
        Statistics(
            schema=key.removesuffix(f".{wanted['statistics name', key]}"),
            name=wanted["statistics name", key],
            of=text,
            target=wanted.get(("statistics target", key), ""),
            comment=wanted.get(("statistics comment", key), ""),
        )
        for (what, key), text in wanted.items()
        if what == "statistics"
    ]
    return Dress(tuple(before), tuple(late), tuple(after), tuple(made))


def _options(text: str, prefix: str = "") -> str:
    """Return options of the catalog, such as "n_distinct=-0.5, fillfactor=90", as SQL. Raises Differ for a name that is no word.

    >>> _options("n_distinct=-0.5, n_distinct_inherited=7"), _options("fillfactor=90", "toast.")
    ("n_distinct='-0.5', n_distinct_inherited='7'", "toast.fillfactor='90'")
    """
    found = []
    for option in text.split(", "):
        key, _, value = option.partition("=")
        if not re.fullmatch(r"[a-z_]+", key):
            raise Differ(f"an option that is not understood: {option}")
        found.append(f"{prefix}{key}={quote_literal(value)}")
    return ", ".join(found)


def _check(before: list[str], table: str, constraint: str, was: str | None, then: str | None) -> list[str]:
    """A check that is not valid is added behind the rows, which need not satisfy it."""
    if was is not None:
        before.append(f"ALTER TABLE {table} DROP CONSTRAINT {constraint};")
    return [] if then is None else [f"ALTER TABLE {table} ADD CONSTRAINT {constraint} {then};"]


def _not_null(before: list[str], table: str, column: str, was: str | None, then: str | None) -> list[str]:
    if was is not None:
        before.append(f"ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL;")
    if then is None:
        return []
    if then == "NOT NULL":
        before.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL;")
        return []
    # PostgreSQL 18 has names for them
    return [f"ALTER TABLE {table} ADD {then};"]
