"""Names as the server folds and truncates them, columns, and objects that use columns: indexes,
checks, foreign keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.capacity.model import Index
from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.version import Edition
from gpcatalog.model.names import NAMEDATALEN, cut

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table


def fold(name: exp.Expression | None) -> str:
    """An identifier as the server compares it: truncated to 63 bytes, in lower case unless
    quoted.
    """
    if name is None:
        return ""
    text = str(name.this) if isinstance(name, exp.Identifier) else name.name
    quoted = isinstance(name, exp.Identifier) and name.args.get("quoted")
    return intern(
        cut(text if quoted else text.lower())
    )  # many tables of a script have the same column names


def qualified(table: exp.Expression) -> tuple[str, str]:
    """(schema, name) of a table; the schema is "" if none is written."""
    if isinstance(table, gx.RelationName):
        return qualified(table.this)
    return fold(table.args.get("db")), fold(table.args.get("this"))


def unknown_table(tree: exp.Expression | None) -> str:
    """The name of the table in ALTER and TRUNCATE; "" for other statements."""
    named = tree is not None and type(tree).__name__.startswith(("Alter", "Truncate"))
    name = tree.args.get("this") if tree is not None and named else None
    if not isinstance(name, exp.Table | gx.RelationName):
        return ""
    return ".".join(part for part in qualified(name) if part)


def child_name(parent: str, level: int, partition: str) -> str:
    """The name of the relation of a partition: parent_LEVEL_prt_partition, with the parent's name
    truncated so that it has at most 63 bytes.

    >>> child_name("sales", 1, "p1"), len(child_name("s" * 63, 1, "p1"))
    ('sales_1_prt_p1', 63)
    """
    return object_name(parent, str(level), f"prt_{partition}")


def object_name(first: str, second: str, label: str) -> str:
    """The name first_second_label as the server generates it: the longer of the first two is
    truncated until it has at most 63 bytes.

    >>> object_name("t", "", "pkey"), len(object_name("t" * 60, "c" * 60, "idx"))
    ('t_pkey', 63)
    """
    bytes_left = NAMEDATALEN - (len(label.encode()) + 1) - bool(second)
    one, two = len(first.encode()), len(second.encode())
    while one + two > bytes_left and one + two > 0:
        if one > two:
            one -= 1
        else:
            two -= 1
    return cut("_".join(piece for piece in (cut(first, one), cut(second, two), label) if piece))


@dataclass(frozen=True, slots=True)
class Reading:
    """What is certain about the query of a view.

    sure: it reads all relations that it names: none of them is a name in WITH
    relations: relations that it certainly reads; columns: those of their columns that it reads
    possible: names of other columns that it may read; None if it may read any column
    named: the names of its own columns are written
    """

    sure: bool = False
    relations: frozenset[tuple[str, str]] = frozenset()
    columns: frozenset[tuple[tuple[str, str], str]] = frozenset()
    possible: frozenset[str] | None = None
    named: bool = False

    def with_relations(self, names: Mapping[tuple[str, str], tuple[str, str]]) -> Reading:
        """The same after relations were renamed: new (schema, name) by the old one."""
        return replace(
            self,
            relations=frozenset(names.get(key, key) for key in self.relations),
            columns=frozenset((names.get(key, key), column) for key, column in self.columns),
        )

    def with_column(self, relation: tuple[str, str], old: str, new: str) -> Reading:
        """The same after a column was renamed."""
        columns = frozenset(
            (key, new if key == relation and column == old else column)
            for key, column in self.columns
        )
        possible = self.possible
        if possible is not None and old in possible:
            possible |= {new}
        return replace(self, columns=columns, possible=possible)


NOTHING_SURE = Reading()


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its type by its name in the catalogs ("" if unknown), typmod, constraints and
    options.

    serial: "serial" or "identity" if it owns a sequence; named: number of objects that its default
        names, such as a sequence
    """

    name: str
    type: str
    typmod: int = -1
    not_null: bool = False
    default: bool = False
    serial: str = ""
    named: int = 0
    local: bool = True  # the table itself defines it, not only its parents
    generated: frozenset[str] = frozenset()  # columns that GENERATED ALWAYS AS (expression) reads
    plain: bool = False  # SET STORAGE PLAIN
    virtual: bool = False  # GENERATED ALWAYS AS (expression), computed when it is read
    identity: bool = (
        False  # in a partition: an identity column of its table, which owns the sequence
    )
    own_type: bool = False  # it depends on its type, which is not the server's own
    outer_order: bool = False  # indexes depend on its collation, or on a class of operators
    own_not_null: bool = False  # the table itself defines NOT NULL, not only its parents
    not_null_alone: bool = False  # NOT NULL NO INHERIT
    sized: bool = False  # its type has a length or a precision
    type_used: str = ""  # the name of its type, or of its elements, if it depends on it
    # sequences that its default names, as written; as long as it has a default
    sequences_used: frozenset[str] = frozenset()

    @property
    def stores_null(self) -> bool:
        """Whether DEFAULT NULL has a row like any other default: it is a call that coerces NULL to
        the length of the type, not a constant (measured on Greenplum 6 and 7, PostgreSQL 18).
        """
        return self.sized or (self.typmod != -1 and self.type != "interval")

    @property
    def exact(self) -> bool:
        """Whether values are stored as they are written: the type is one of the server's own,
        without a length or precision.
        """
        return not (self.own_type or self.sized or self.typmod != -1)

    def of_partition(self) -> Column:
        """The column in a partition of the table."""
        return replace(
            self,
            serial="",
            local=False,
            identity=self.identity or self.serial == "identity",
            own_not_null=False,
        )

    def of_child(self) -> Column:
        """The column in a table that inherits it."""
        return replace(
            self,
            serial="",
            local=False,
            not_null=self.not_null and not self.not_null_alone,
            own_not_null=False,
            not_null_alone=False,
        )


@lru_cache(maxsize=65536)
def shared(column: Column) -> Column:
    """One object for all equal columns: tables of a long script have many."""
    return column


def quoted_name(name: str) -> str:
    """A name as it is written in SQL.

    >>> quoted_name("a"), quoted_name("B")
    ('a', '"B"')
    """
    plain = name.isidentifier() and name == name.lower()
    return exp.to_identifier(name, quoted=not plain).sql("postgres")


def like_of(columns: Iterable[str], unique: bool, method: str = "btree") -> str:
    """The value of `Key.like` for an index on plain columns.

    >>> like_of(["a", "B"], True), like_of(["a"], False, "bitmap")
    ('True(a, "B")', 'FalseUSING bitmap (a)')
    """
    names = ", ".join(map(quoted_name, columns))
    return f"{unique}{'' if method == 'btree' else f'USING {method} '}({names})"


def _key_columns(like: str) -> str:
    """The columns of a primary key or unique constraint, from `Key.like`; "" for others."""
    kind = next((k for k in ("primary key ", "unique ") if like.startswith(k)), "")
    return like.removeprefix(kind) if kind else ""


WITHOUT_OVERLAPS = " without overlaps"  # suffix of `Key.like` for such a key


@dataclass(frozen=True, slots=True)
class Key:
    """An index.

    simple: columns that are elements of it
    expressions, predicate: columns that its expressions and its predicate use
    constraint: a primary key or unique constraint owns it
    bitmap: Greenplum: it is a bitmap index
    of: in a partition: the name of the table's index that it belongs to
    label: its columns in the names that the server generates
    deferrable: a deferrable constraint, which a trigger checks
    like: what must be equal so that an index of a partition becomes part of it: uniqueness, method,
        columns, predicate
    rough: the same for indexes that may be equal although `like` differs; "" if there is no such
        index
    """

    name: str
    columns: int
    simple: tuple[str, ...]
    expressions: frozenset[str] = frozenset()
    predicate: frozenset[str] = frozenset()
    constraint: bool = False
    bitmap: bool = False
    of: str = ""
    like: str = ""
    label: str = ""
    rough: str = ""
    deferrable: bool = False

    def renamed(self, old: str, new: str) -> Key:
        """The index after a column was renamed; if its expressions or its predicate use the column,
        it is like no other index afterwards.
        """
        if old not in self.reads:
            return self

        def names(found: frozenset[str]) -> frozenset[str]:
            return frozenset(new if n == old else n for n in found)

        simple = tuple(new if n == old else n for n in self.simple)
        plain = (
            len(simple) == self.columns
            and not self.predicate
            and self.like in (like_of(self.simple, True), like_of(self.simple, False))
        )
        like = (
            like_of(simple, self.like.startswith("True"))
            if plain
            else self.like.replace(f"'{old}'", f"'{new}'")
        )
        if not plain and not self.constraint:
            like = f"? {self.name} {self.like}"
        was, now = quoted_name(old), quoted_name(new)
        return replace(
            self,
            simple=simple,
            expressions=names(self.expressions),
            predicate=names(self.predicate),
            like=like,
            rough=re.sub(rf"(?<!\w){re.escape(was)}(?!\w)", lambda _: now, self.rough),
        )

    @property
    def exclusion(self) -> bool:
        """Whether it is an exclusion constraint; a key WITHOUT OVERLAPS is one, too."""
        return self.like.startswith("exclude ") or self.like.endswith(WITHOUT_OVERLAPS)

    def fits(self, own: Key) -> bool:
        """Whether an existing index of a partition can become part of this index of its table."""
        if own.of:
            return False
        if own.like == self.like:
            return True
        if self.constraint or not own.constraint or not own.like.endswith(" 0"):
            return False  # it has INCLUDE columns, so only an equal constraint fits
        return own.like.startswith(("primary key", "unique")) and self.like == like_of(
            own.simple, True
        )

    def fits_key(self, own: Key) -> bool:
        """Whether a primary key of a partition has the columns of this unique constraint of its
        table, or the reverse.
        """
        return (
            self.constraint
            and own.constraint
            and not own.of
            and _key_columns(own.like) == _key_columns(self.like) != ""
        )

    def may_fit(self, own: Key) -> bool:
        """Whether it is unknown if the index fits: both have an expression, written in different
        ways.
        """
        alike = bool(self.rough) and own.rough == self.rough
        return alike and not own.of and not self.fits(own)

    def for_partition(self, table: Table) -> Key:
        """The index on a partition, with the name that the server generates."""
        suffix = (
            ("pkey" if self.like.startswith("primary key") else "key") if self.constraint else "idx"
        )
        name, used_names, number = "", {k.name for k in table.indexes}, 0
        while not name or name in used_names:
            name = object_name(
                table.name, "" if suffix == "pkey" else self.label, f"{suffix}{number or ''}"
            )
            number += 1
        return replace(self, name=name, of=self.of or self.name)

    @property
    def index(self) -> Index:
        """The index for the cost model."""
        return Index(self.columns, self.constraint, bitmap=self.bitmap)

    @property
    def reads(self) -> frozenset[str]:
        """All columns that it uses."""
        return frozenset(self.simple) | self.expressions | self.predicate

    def depends(self, edition: Edition) -> int:
        """Number of rows of pg_depend in addition to the one per column that its shape includes.

        Expressions and predicate depend on each column that they use. An index without plain
        columns depends on the table.
        """
        simple = len(set(self.simple)) if edition.base >= 14 else len(self.simple)
        return (simple or 1) + len(self.expressions) + len(self.predicate) - self.columns


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint and the columns that it uses.

    own: defined in the table itself, not only in its parents
    alone: NO INHERIT
    """

    name: str
    reads: frozenset[str]
    own: bool = True
    alone: bool = False

    @property
    def depends(self) -> int:
        """Number of rows of pg_depend in addition to the two that its shape includes: two per
        column, one if it uses no column.
        """
        return 2 * len(self.reads) - 2 if self.reads else -1


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key: its columns and the table that it references.

    to: columns of that table; () if they are not written: the columns of its primary key
    enforced: triggers enforce it
    """

    name: str
    columns: tuple[str, ...]
    target: tuple[str, str]
    to: tuple[str, ...] = ()
    enforced: bool = True
