"""Types created by a script: whether they need a TOAST relation, and the columns of composite
types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from gpcatalog.capacity import toast
from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.keys import fold, qualified
from gpcatalog.effects.volatile import either, volatile

# of variable length without a limit, like most types of the server
_OF_EXTENSIONS = frozenset(
    """citext hstore geometry geography ltree lquery ltxtquery vector halfvec sparsevec raster""".split()
)
# of a fixed length, or never stored in a TOAST relation
_SHORT_OF_EXTENSIONS = frozenset(
    "cube earth seg query_int ean13 isbn13 ismn13 issn13 isbn ismn issn upc lo".split()
)
_VARYING = _OF_EXTENSIONS | frozenset(
    """text bytea json jsonb xml path polygon tsvector tsquery int2vector oidvector inet cidr bit varbit varchar bpchar numeric record
    refcursor txid_snapshot pg_snapshot pg_node_tree gtsvector cstring int4range int8range numrange tsrange tstzrange
    daterange int4multirange int8multirange nummultirange tsmultirange tstzmultirange datemultirange jsonpath anyarray
    aclitem[]""".split()
)
# types of the server whose size is not known here or differs between servers
_OF_UNKNOWN_SIZE = frozenset(
    """aclitem pg_dependencies pg_mcv_list pg_ndistinct smgr abstime reltime tinterval unknown gp_hyperloglog_estimator""".split()
)
# types of the server itself: a type of the same name in another schema is found after them
_BUILTIN = frozenset(
    """text bytea json jsonb xml numeric varchar bpchar inet cidr bit varbit name bool int2 int4 int8 float4 float8 date time timetz
    timestamp timestamptz interval uuid money oid point path polygon box circle line lseg macaddr tsvector tsquery""".split()
)
# a built-in type of this length in bytes, for types that a script creates
_BY_LENGTH = {
    1: "bool",
    2: "int2",
    4: "int4",
    8: "int8",
    12: "timetz",
    16: "interval",
    24: "circle",
    32: "box",
    64: "name",
}


class DefinedType(NamedTuple):
    """A type: an equivalent built-in type with its typmod, the number of columns of a composite
    type (else None), its schema ("" if not written); constrained, default: whether it is a domain
    with constraints or a volatile default, and with a default (None: unknown); labels: of an enum.
    """

    base: str
    typmod: int
    columns: int | None
    schema: str = ""
    constrained: bool | None = False
    default: bool | None = False
    labels: tuple[str, ...] | None = None


def _defaults(tree: exp.Expression) -> list[exp.Expression]:
    """The default of CREATE DOMAIN, if it has one."""
    return [
        one
        for one in tree.args.get("constraints") or ()
        if isinstance(one.args.get("kind"), exp.DefaultColumnConstraint)
    ]


def _varies(node: exp.Expression) -> bool | None:
    """Whether the default of a domain rewrites tables, as a constraint does. A volatile one does on
    PostgreSQL 18 and does not on Greenplum 7 (measured): None.
    """
    return False if volatile(node) is False else None


def _has_collation(tree: exp.Expression) -> bool:
    """Whether CREATE DOMAIN sets a collation on which columns depend."""
    return any(
        isinstance(one.args.get("kind"), exp.CollateColumnConstraint)
        for one in tree.args.get("constraints") or ()
    )


def _has_constraint(tree: exp.Expression) -> bool:
    """Whether CREATE DOMAIN defines a constraint."""
    return any(
        isinstance(one.args.get("kind"), exp.CheckColumnConstraint | exp.NotNullColumnConstraint)
        and not one.args["kind"].args.get("allow_null")
        for one in tree.args.get("constraints") or ()
    )


@dataclass
class Types:
    """Types that the script or a baseline has, by name."""

    definitions: dict[str, DefinedType] = field(default_factory=dict)
    several: set[str] = field(default_factory=set)  # names that several types of a script have
    # the schemas in which a type of this name was created, by name
    schemas: dict[str, set[str]] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)  # those for which one type is composite
    # domains whose collation or operator classes are not the server's own
    outer_orders: set[str] = field(default_factory=set)

    def copy(self) -> Types:
        """An independent copy of the types."""
        return Types(
            definitions=dict(self.definitions),
            several=set(self.several),
            schemas={name: set(found) for name, found in self.schemas.items()},
            mixed=set(self.mixed),
            outer_orders=set(self.outer_orders),
        )

    def create(self, tree: exp.Expression, path: str = "") -> int | None:
        """Apply CREATE TYPE or CREATE DOMAIN, in schema `path` if none is written. Returns the
        number of columns of a composite type, else None.
        """
        schema, name = (
            qualified(tree.this) if isinstance(tree.this, exp.Table) else ("", fold(tree.this))
        )
        schema = schema or path
        self.schemas.setdefault(name, set()).add(schema)
        before = self.definitions.get(name)
        columns = self._create(tree, name, schema)
        definition = self.definitions[name]
        other = before is not None and before.schema != schema and before[:3] != definition[:3]
        builtin = name in _BUILTIN and definition[:2] != (name, -1)
        if other or builtin:  # which type a column has depends on its schema, which is not stored
            self.definitions[name] = DefinedType("", -1, None, schema, None, None)
            self.several.add(name)
            if columns is not None or (before is not None and before.columns is not None):
                self.mixed.add(name)
        return columns

    def _create(self, tree: exp.Expression, name: str, schema: str) -> int | None:
        kind = tree.args.get("kind")
        columns = None
        if isinstance(kind, exp.Expression):  # a domain
            own, typmod = catalog_type(kind)
            base = self.resolved(own, typmod)[0]
            self.outer_orders.discard(name)
            if self.from_extension(kind) or self.collated(kind) or _has_collation(tree):
                self.outer_orders.add(name)
            # a column of a domain has no typmod: a variable length has no limit
            self.definitions[name] = DefinedType(
                base if not base or not toast.toastable(base) else "text",
                -1,
                None,
                schema,
                either(
                    _has_constraint(tree), *map(_varies, _defaults(tree)), self.constrained(own)
                ),
                either(bool(_defaults(tree)), self._default(own)),
            )
        elif "ENUM" in str(tree.args.get("form") or ""):
            labels = tuple(str(value.this) for value in tree.args.get("values") or ())
            self.definitions[name] = DefinedType("int4", -1, None, schema, labels=labels)
        elif tree.args.get("attributes") is not None or str(tree.args.get("form") or "") == "AS":
            columns = len(tree.args.get("attributes") or ())
            self.definitions[name] = DefinedType("record", -1, columns, schema)
        else:
            self.definitions[name] = DefinedType(
                *self._base(tree.args.get("options")), None, schema
            )
        return columns

    def _base(self, options: exp.Expression | None) -> tuple[str, int]:
        """The equivalent of a base type or range, by its definition."""
        given = {}
        for option in options.expressions if options is not None else ():
            value = option.args.get("value")
            given[fold(option.this).lower()] = value
        if (like := given.get("like")) is not None:
            found = catalog_type(like) if isinstance(like, exp.DataType) else (fold(like), -1)
            return self.resolved(*found)
        if (
            given.get("internallength") is not None
            and str(given.get("storage") or "plain").strip("'").lower() == "plain"
        ):
            return "name", -1  # it is never stored out of line, at any length
        length = given.get("internallength")
        if isinstance(length, exp.Literal) and str(length.this).isdigit():
            return _BY_LENGTH.get(int(str(length.this)), "name"), -1
        return "text", -1

    def ambiguous(self, kind: exp.Expression) -> bool:
        """Whether several schemas have a type of that name, or possibly none, and this makes a
        difference.
        """
        name, _ = (
            catalog_type(kind)
            if isinstance(kind, exp.DataType)
            else (fold(kind.args.get("this")), -1)
        )
        if name in self.several - self.mixed:
            return False  # none of them has rows of its own
        return name in self.definitions and not self.definitions[name].base

    def forget(self) -> None:
        """Note that each of the types may have been dropped."""
        self.definitions = {
            name: definition._replace(base="") for name, definition in self.definitions.items()
        }

    def drop(self, kind: exp.Expression) -> tuple[bool, int | None]:
        """Apply DROP TYPE. Returns whether the type was known, and the number of columns of a
        composite type.
        """
        name, _ = (
            catalog_type(kind)
            if isinstance(kind, exp.DataType)
            else (fold(kind.args.get("this")), -1)
        )
        found = self.definitions.pop(name, None)
        if found is None or name in self.mixed:
            return False, None
        return True, found.columns

    def alter(self, tree: exp.Expression) -> int | None:
        """Apply ALTER TYPE. Returns the number of added rows of pg_attribute; None if it is
        unknown.
        """
        name = fold(tree.this.args.get("this") if isinstance(tree.this, exp.Table) else tree.this)
        new = tree.args.get("rename")
        if isinstance(new, exp.Identifier) and name in self.definitions:
            self.definitions[fold(new)] = self.definitions.pop(name)
        schema = tree.args.get("schema")
        if isinstance(schema, exp.Identifier) and name in self.definitions:
            self.definitions[name] = self.definitions[name]._replace(schema=fold(schema))
        self._relabel(tree, name)
        more = 0
        for action in tree.args.get("actions") or ():
            if str(action.args.get("behavior") or "") == "CASCADE":
                return None  # tables of this type change, too
            more += str(action.args.get("form") or "").startswith("ADD ATTRIBUTE")
        if more:
            definition = self.definitions.get(name)
            if definition is None or definition.columns is None:
                return None
            self.definitions[name] = definition._replace(columns=definition.columns + more)
        return more

    def _relabel(self, tree: exp.Expression, name: str) -> None:
        """Apply ADD VALUE and RENAME VALUE."""
        form = str(tree.args.get("form") or "")
        definition = self.definitions.get(name)
        if definition is None or definition.labels is None or " VALUE" not in form:
            return
        value, labels = str(tree.args["value"].this), definition.labels
        if form.startswith("ADD"):
            labels = labels if value in labels else (*labels, value)
        else:
            new = str(tree.args["new_value"].this)
            labels = tuple(new if one == value else one for one in labels)
        self.definitions[name] = definition._replace(labels=labels)

    def alter_domain(self, tree: exp.Expression) -> None:
        """Apply ALTER DOMAIN: constraints, name and schema."""
        action = tree.args.get("action")
        if action is None:
            self.alter(tree)
            return
        name = fold(tree.this.args.get("this") if isinstance(tree.this, exp.Table) else tree.this)
        if name not in self.definitions:
            return
        form = str(action.args.get("form") or "")
        definition = self.definitions[name]
        if form.startswith(("ADD", "SET NOT NULL")):
            self.definitions[name] = definition._replace(constrained=True)
        elif "DEFAULT" in form:
            self.definitions[name] = definition._replace(
                default=form.startswith("SET"),
                constrained=either(definition.constrained, _varies(action)),
            )
        elif form.startswith("DROP") and definition.constrained:
            self.definitions[name] = definition._replace(constrained=None)  # it may have others

    def outer(self, kind: exp.Expression) -> bool:
        """Whether a type as written, or the element type of an array, is not one of the server's
        own.
        """
        return bool(self.used(kind))

    def used(self, kind: exp.Expression) -> str:
        """The name of a type as written, or of the element type of an array, if it is not one of
        the server's own; "" for these.
        """
        while isinstance(kind, exp.DataType) and kind.this == exp.DType.ARRAY and kind.expressions:
            kind = kind.expressions[0]
        name = catalog_type(kind)[0]
        return name if self.outer_name(name) else ""

    def from_extension(self, kind: exp.Expression) -> bool:
        """Whether a type, or the element type of an array, is neither the server's own nor created
        by the script: it may have its own operator classes.
        """
        while isinstance(kind, exp.DataType) and kind.this == exp.DType.ARRAY and kind.expressions:
            kind = kind.expressions[0]
        name = catalog_type(kind)[0]
        return name in self.outer_orders or (name not in self.definitions and self.outer_name(name))

    def collated(self, kind: exp.Expression) -> bool:
        """Whether a type, or the element type of an array, is a domain on whose collation a column
        may depend.
        """
        while isinstance(kind, exp.DataType) and kind.this == exp.DType.ARRAY and kind.expressions:
            kind = kind.expressions[0]
        return catalog_type(kind)[0] in self.outer_orders

    def of_rows(self) -> bool:
        """Whether a domain of the script may have a constraint that uses columns of a table."""
        return any(
            d.columns is None and d.constrained is True and d.base in ("", "record")
            for d in self.definitions.values()
        )

    def outer_name(self, name: str) -> bool:
        """Whether a type is not one of the server's own, by its name as `catalog_type` returns
        it.
        """
        if name in _OF_UNKNOWN_SIZE:
            return False
        of_extension = name in _OF_EXTENSIONS or name in _SHORT_OF_EXTENSIONS
        return name in self.definitions or of_extension or not self.resolved(name, -1)[0]

    def constrained(self, name: str) -> bool | None:
        """Whether a type is a domain with constraints; None if that is unknown."""
        if name in self.definitions:
            return self.definitions[name].constrained
        of_extension = name in _OF_EXTENSIONS or name in _SHORT_OF_EXTENSIONS
        return None if not of_extension and self.outer_name(name) else False

    def _default(self, name: str) -> bool | None:
        """Whether a type is a domain with a default; None if that is unknown."""
        if name in self.definitions:
            return self.definitions[name].default
        return self.constrained(name)

    def valued(self, name: str) -> bool | None:
        """Whether a type is a domain with a default or constraints; None if that is unknown."""
        return either(self.constrained(name), self._default(name))

    def resolved(self, name: str, typmod: int) -> tuple[str, int]:
        """The underlying type: for a domain, its base type; "" for an unknown type.

        >>> Types({"mood": DefinedType("int4", -1, None)}).resolved("mood", -1), Types().resolved("mood", -1), Types().resolved("text", -1)
        (('int4', -1), ('', -1), ('text', -1))
        """
        if name in self.definitions:
            return self.definitions[name][:2]
        plain = toast.type_name(name)
        if plain in _SHORT_OF_EXTENSIONS:
            return "interval", -1
        known = (
            plain in _VARYING
            or not toast.toastable(plain)
            or plain.startswith("_")
            or plain.endswith("]")
        )
        return (name, typmod) if known else ("", -1)
