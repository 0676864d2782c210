"""Names as the server folds and cuts them, columns, and what is built on columns: indexes, checks,
foreign keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    """An identifier as the server compares it: cut at 63 bytes, lower case unless quoted."""
    if name is None:
        return ""
    text = str(name.this) if isinstance(name, exp.Identifier) else name.name
    quoted = isinstance(name, exp.Identifier) and name.args.get("quoted")
    return intern(
        cut(text if quoted else text.lower())
    )  # names of columns recur from table to table


def qualified(table: exp.Expression) -> tuple[str, str]:
    """(schema, name) of a table; the schema is "" where none is written."""
    if isinstance(table, gx.RelationName):
        return qualified(table.this)
    return fold(table.args.get("db")), fold(table.args.get("this"))


def unknown_table(tree: exp.Expression | None) -> str:
    """The name in ALTER and TRUNCATE of a table; "" for other statements."""
    named = tree is not None and type(tree).__name__.startswith(("Alter", "Truncate"))
    name = tree.args.get("this") if tree is not None and named else None
    if not isinstance(name, exp.Table | gx.RelationName):
        return ""
    return ".".join(part for part in qualified(name) if part)


def child_name(parent: str, level: int, partition: str) -> str:
    """Name of the relation behind a partition: parent_LEVEL_prt_partition, the parent's part cut so
    that 63 bytes hold it.

    >>> child_name("sales", 1, "p1"), len(child_name("s" * 63, 1, "p1"))
    ('sales_1_prt_p1', 63)
    """
    return object_name(parent, str(level), f"prt_{partition}")


def object_name(first: str, second: str, label: str) -> str:
    """first_second_label as the server makes it: the longer of the first two is cut until 63 bytes
    hold all.

    >>> object_name("t", "", "pkey"), len(object_name("t" * 60, "c" * 60, "idx"))
    ('t_pkey', 63)
    """
    room = NAMEDATALEN - (len(label.encode()) + 1) - bool(second)
    one, two = len(first.encode()), len(second.encode())
    while one + two > room and one + two > 0:
        if one > two:
            one -= 1
        else:
            two -= 1
    return cut("_".join(piece for piece in (cut(first, one), cut(second, two), label) if piece))


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its type as the catalogs name it ("" if unknown), typmod, and what hangs on it.

    serial: "serial" or "identity" where it owns a sequence; named: objects that its default names,
            such as a sequence
    """

    name: str
    type: str
    typmod: int = -1
    not_null: bool = False
    default: bool = False
    serial: str = ""
    named: int = 0
    local: bool = True  # the table's own, not only its parents'
    generated: frozenset[str] = frozenset()  # columns that GENERATED ALWAYS AS (expression) reads
    plain: bool = False  # SET STORAGE PLAIN
    virtual: bool = False  # GENERATED ALWAYS AS (expression), computed when it is read
    identity: bool = (
        False  # of a partition: an identity column of its table, which owns the sequence
    )
    own_type: bool = False  # of a type that is not the server's: it depends on it
    own_not_null: bool = False  # its NOT NULL is the table's own, not only its parents'
    not_null_alone: bool = False  # NOT NULL NO INHERIT
    sized: bool = False  # of a type with a length or a precision

    @property
    def stores_null(self) -> bool:
        """Whether DEFAULT NULL has a row as any other default: it is a call that cuts NULL to the
        length of the type, not a constant (measured on Greenplum 6 and 7, PostgreSQL 18).
        """
        return self.sized or (self.typmod != -1 and self.type != "interval")

    def of_partition(self) -> Column:
        """The same column of a partition."""
        return replace(
            self,
            serial="",
            local=False,
            identity=self.identity or self.serial == "identity",
            own_not_null=False,
        )

    def of_child(self) -> Column:
        """The same column of a table that inherits it."""
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
    """The same column for equal ones: tables of a long script have many."""
    return column


def quoted_name(name: str) -> str:
    """A name as SQL has it.

    >>> quoted_name("a"), quoted_name("B")
    ('a', '"B"')
    """
    plain = name.isidentifier() and name == name.lower()
    return exp.to_identifier(name, quoted=not plain).sql("postgres")


def like_of(columns: Iterable[str], unique: bool, method: str = "btree") -> str:
    """What `Key.like` says of an index of plain columns.

    >>> like_of(["a", "B"], True), like_of(["a"], False, "bitmap")
    ('True(a, "B")', 'FalseUSING bitmap (a)')
    """
    names = ", ".join(map(quoted_name, columns))
    return f"{unique}{'' if method == 'btree' else f'USING {method} '}({names})"


WITHOUT_OVERLAPS = " without overlaps"  # at the end of what `Key.like` says of such a key


@dataclass(frozen=True, slots=True)
class Key:
    """An index.

    simple:      columns that it has as they are
    expressions, predicate: columns that those read
    constraint:  a primary key or unique constraint owns it
    bitmap:      Greenplum: it is a bitmap index
    of:          of a partition: the name of the table's index that it belongs to
    label:       its columns in the names that the server makes
    deferrable:  a constraint that a trigger checks
    like:        what an index has to say alike to be taken over as one of a partition: uniqueness,
                 method, columns, predicate
    rough:       what those have alike that may be equal though `like` differs; "" if none is
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
        """The index after a column got another name; one that names it is like no other from here
        on.
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
        """Whether it is an exclusion constraint, or a key WITHOUT OVERLAPS, which is one."""
        return self.like.startswith("exclude ") or self.like.endswith(WITHOUT_OVERLAPS)

    def fits(self, own: Key) -> bool:
        """Whether an index that a partition has can become part of this one of its table."""
        if own.of:
            return False
        if own.like == self.like:
            return True
        if self.constraint or not own.constraint or not own.like.endswith(" 0"):
            return False  # it includes columns, which only the same constraint has too
        return own.like.startswith(("primary key", "unique")) and self.like == like_of(
            own.simple, True
        )

    def may_fit(self, own: Key) -> bool:
        """Whether that is not known: both have an expression that is written in two ways."""
        alike = bool(self.rough) and own.rough == self.rough
        return alike and not own.of and not self.fits(own)

    def for_partition(self, table: Table) -> Key:
        """The same index on a partition, with the name that the server gives it."""
        suffix = (
            ("pkey" if self.like.startswith("primary key") else "key") if self.constraint else "idx"
        )
        name, taken, number = "", {k.name for k in table.indexes}, 0
        while not name or name in taken:
            name = object_name(
                table.name, "" if suffix == "pkey" else self.label, f"{suffix}{number or ''}"
            )
            number += 1
        return replace(self, name=name, of=self.of or self.name)

    @property
    def index(self) -> Index:
        """The cost model's index."""
        return Index(self.columns, self.constraint, bitmap=self.bitmap)

    @property
    def reads(self) -> frozenset[str]:
        """Every column it rests on."""
        return frozenset(self.simple) | self.expressions | self.predicate

    def depends(self, edition: Edition) -> int:
        """Rows of pg_depend besides the one a column that its shape has.

        Expressions and predicate depend on each column they read; where no simple column is
        indexed, the index on the table.
        """
        simple = len(set(self.simple)) if edition.base >= 14 else len(self.simple)
        return (simple or 1) + len(self.expressions) + len(self.predicate) - self.columns


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint and the columns it reads.

    own:   it is the table's own, not only its parents'
    alone: NO INHERIT
    """

    name: str
    reads: frozenset[str]
    own: bool = True
    alone: bool = False

    @property
    def depends(self) -> int:
        """Rows of pg_depend besides the two that its shape has: two a column, one where it reads
        none.
        """
        return 2 * len(self.reads) - 2 if self.reads else -1


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key: its columns and the table it points to.

    to:       columns of that table; () where they are not written: those of its primary key
    enforced: triggers enforce it
    """

    name: str
    columns: tuple[str, ...]
    target: tuple[str, str]
    to: tuple[str, ...] = ()
    enforced: bool = True
