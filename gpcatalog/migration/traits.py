"""SQL that sets the properties of partitions: defaults, storage, comments, constraints, trigger
states and statistics objects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpcatalog.migration.introspect import quote_ident_always
from gpcatalog.model.names import qualified, quote_ident, quote_literal
from gpcatalog.model.traits import TraitConflict, Traits

CONSTRAINT_COMMENTS = {"check comment": "check", "not null comment": "not null"}
"""Traits that are comments on constraints → the trait of the constraint."""


@dataclass(frozen=True)
class Statistics:
    """A statistics object.

    of: kinds and columns, in the syntax of CREATE STATISTICS; owner: empty if it is the table's;
    target: statistics target, empty if not set.
    """

    schema: str
    name: str
    of: str
    owner: str
    target: str
    comment: str

    @property
    def sql(self) -> str:
        """Its name as SQL."""
        return qualified(self.schema, self.name)

    def create(self, name: str, table: str, owner: str) -> list[str]:
        """Return the statements that create it with another name. owner: that of the table"""
        return [
            f"CREATE STATISTICS {name}{self.of} FROM {table};",
            *([f"ALTER STATISTICS {name} SET STATISTICS {self.target};"] if self.target else []),
            f"ALTER STATISTICS {name} OWNER TO {quote_ident(self.owner or owner)};",
        ]

    def comments(self) -> list[str]:
        """Return the statement that sets its comment, if it has one."""
        return (
            [f"COMMENT ON STATISTICS {self.sql} IS {quote_literal(self.comment)};"]
            if self.comment
            else []
        )


@dataclass(frozen=True)
class PropertyStatements:
    """Statements that set the traits of a staging table.

    before: on the empty table; late: after its rows are copied; after: after it became a partition
    """

    before: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    statistics: tuple[Statistics, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before or self.late or self.after or self.statistics)


def copied_traits(like: Traits, *, classic: bool) -> dict[tuple[str, str], str]:
    """Return the traits that LIKE copies, in the form in which the scripts use it."""
    if classic:
        return {k: v for k, v in like.items() if k[0] in ("default", "not null")}
    copied = {
        k: v
        for k, v in like.items()
        if k[0]
        in (
            *("default", "storage", "compression", "comment"),
            *("not null", "check", *CONSTRAINT_COMMENTS),
        )
    }
    # a constraint that is not valid is copied as a valid one
    return {
        k: v.removesuffix(" NOT VALID") if k[0] in ("check", "not null") else v
        for k, v in copied.items()
    }


def statements_for(
    table: str, final: str, base: Traits, required: Traits, root: Traits, *, only: bool = False
) -> PropertyStatements:
    """Return the statements that give the required traits to a table with the traits `base`.

    table, final: its qualified name while it is built and afterwards
    only: whether partitions below it keep theirs, for options and storage of columns
    root: traits of the table of which it becomes a partition; ATTACH adds the triggers of that
          table
    """
    before: list[str] = []
    late: list[str] = []
    alike = base == required
    alter = f"ALTER TABLE {'ONLY ' if only else ''}{table}"
    for what, name in () if alike else dict.fromkeys([*base, *required]):
        was, then = base.get((what, name)), required.get((what, name))
        if was == then:
            continue
        column = quote_ident_always(name)
        if what == "default":
            before.append(
                f"ALTER TABLE {table} ALTER COLUMN {column} "
                + ("DROP DEFAULT;" if then is None else f"SET DEFAULT {then};")
            )
        elif what == "storage" and then is not None:
            before.append(f"{alter} ALTER COLUMN {column} SET STORAGE {then};")
        elif what == "compression" and then is not None:
            before.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET COMPRESSION {then};")
        elif what == "options" and then is not None:
            before.append(f"{alter} ALTER COLUMN {column} SET ({_options(then)});")
        elif what == "toast options" and then is not None:
            before.append(f"ALTER TABLE {table} SET ({_options(then, 'toast.')});")
        elif what == "comment":
            before.append(
                f"COMMENT ON COLUMN {table}.{column} IS"
                f" {'NULL' if then is None else quote_literal(then)};"
            )
        elif what == "check":
            late += _check(before, table, column, was, then)
        elif what == "not null":
            if _same_but_name(was, then) and not _taken(base, then):
                old, new = (constraint_of(what, name, text or "") for text in (was, then))
                before.append(f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {new};")
            else:
                late += _not_null(before, table, column, was, then)
    late += _constraint_comments(table, base, required)
    after = [
        f"ALTER TABLE {final} {then} TRIGGER {quote_ident_always(name)};"
        for (what, name), then in required.items()
        if what == "trigger" and root.get((what, name)) not in (None, then)
    ]
    after += [
        f"COMMENT ON TRIGGER {quote_ident_always(name)} ON {final} IS {quote_literal(text)};"
        for (what, name), text in required.items()
        if what == "trigger comment" and ("trigger", name) in root
    ]
    # on Greenplum 6, the constraint is not a trait: a partition has those of its table
    after += [
        f"COMMENT ON CONSTRAINT {quote_ident_always(name)} ON {final} IS {quote_literal(text)};"
        for (what, name), text in required.items()
        if what == "check comment" and ("check", name) not in required
    ]
    return PropertyStatements(tuple(before), tuple(late), tuple(after), _statistics(required))


def _statistics(required: Traits) -> tuple[Statistics, ...]:
    """Return the required statistics objects."""
    return tuple(
        Statistics(
            schema=key.removesuffix(f".{required['statistics name', key]}"),
            name=required["statistics name", key],
            of=text,
            owner=required.get(("statistics owner", key), ""),
            target=required.get(("statistics target", key), ""),
            comment=required.get(("statistics comment", key), ""),
        )
        for (what, key), text in required.items()
        if what == "statistics"
    )


def constraint_of(what: str, name: str, constraint: str) -> str:
    """Return the quoted name of a constraint.

    what, name: of its trait: "check" and its name, or "not null" and its column
    constraint: its SQL, which contains the name of a NOT NULL constraint

    >>> constraint_of("not null", "v", 'CONSTRAINT "v is" NOT NULL v')
    '"v is"'
    """
    if what == "check":
        return quote_ident_always(name)
    found = _NAME.match(constraint)
    if found is None:
        raise TraitConflict(f"the NOT NULL constraint of column {name} has no name")
    return found[1]


_NAME = re.compile(r'CONSTRAINT ("(?:[^"]|"")*"|[^\s"]+) ')


def _same_but_name(one: str | None, two: str | None) -> bool:
    """Whether two NOT NULL constraints differ only in their names. A primary key needs them, so
    they are renamed: until the other name is added, the key would create one of its own.
    """
    return bool(one and two and _NAME.match(one) and _NAME.sub("", one, 1) == _NAME.sub("", two, 1))


def _taken(traits: Traits, constraint: str | None) -> bool:
    """Whether another constraint has the name of this NOT NULL constraint."""
    checks = {name for what, name in traits if what == "check"}
    named = {_bare_name(text) for (what, _), text in traits.items() if what == "not null"}
    return _bare_name(constraint or "") in checks | named


def _bare_name(constraint: str) -> str:
    """The name of a NOT NULL constraint without quotes, '' if it has none."""
    found = _NAME.match(constraint)
    name = found[1] if found else ""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _constraint_comments(table: str, base: Traits, required: Traits) -> list[str]:
    """Return the statements that set comments on constraints. A constraint that is created
    again has none.
    """
    found = []
    for comment, of in CONSTRAINT_COMMENTS.items():
        for (what, name), text in required.items():
            if what != of:
                continue
            then = required.get((comment, name))
            copied = base.get((of, name))
            kept = copied == text or (of == "not null" and _same_but_name(copied, text))
            was = base.get((comment, name)) if kept else None
            if then != was:
                constraint = constraint_of(of, name, text)
                shown = "NULL" if then is None else quote_literal(then)
                found.append(f"COMMENT ON CONSTRAINT {constraint} ON {table} IS {shown};")
    return found


def _options(text: str, prefix: str = "") -> str:
    """Return options of the catalog, such as "n_distinct=-0.5, fillfactor=90", as SQL.

    Raises Differ for a name that is not a word.

    >>> _options("n_distinct=-0.5, n_distinct_inherited=7"), _options("fillfactor=90", "toast.")
    ("n_distinct='-0.5', n_distinct_inherited='7'", "toast.fillfactor='90'")
    """
    found = []
    for option in text.split(", "):
        key, _, value = option.partition("=")
        if not re.fullmatch(r"[a-z_]+", key):
            raise TraitConflict(f"unknown option: {option}")
        found.append(f"{prefix}{key}={quote_literal(value)}")
    return ", ".join(found)


def _check(
    before: list[str], table: str, constraint: str, was: str | None, then: str | None
) -> list[str]:
    """Return the statement that adds a check after the rows: they need not satisfy a check that
    is not valid.
    """
    if was is not None:
        before.append(f"ALTER TABLE {table} DROP CONSTRAINT {constraint};")
    return [] if then is None else [f"ALTER TABLE {table} ADD CONSTRAINT {constraint} {then};"]


def _not_null(
    before: list[str], table: str, column: str, was: str | None, then: str | None
) -> list[str]:
    if was is not None:
        before.append(f"ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL;")
    if then is None:
        return []
    if then == "NOT NULL":
        before.append(f"ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL;")
        return []
    # since PostgreSQL 18, these constraints have names
    return [f"ALTER TABLE {table} ADD {then};"]
