"""Functions, collations, operators and types that are not the server's own, on which a table or an
index depends.

Each of them is a row of pg_depend. These rows are not counted, because only the server knows their
number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.expansion import catalog_type
from gpcatalog.effects.keys import fold
from gpcatalog.effects.relations import Table
from gpcatalog.effects.ties import Ties

if TYPE_CHECKING:
    from gpcatalog.effects.types import Types

STATISTICS = "catalog rows of extended statistics"
NOT_NULL = "NOT NULL constraints after ALTER CONSTRAINT"
FOREIGN = "rows of foreign keys of partitioned tables"
DEFAULTS = "defaults dropped by CASCADE"
NULL_DEFAULTS = "rows of defaults that are NULL"
OF_PARTITIONS = "rows in other catalogs of indexes that partitions alone have"
TEMPLATE = "rows of a subpartition template"
SEVERAL_PARENTS = "constraints and columns inherited from several tables"
OF_BOUNDS = "constraint of the bounds of a partition"
DEPENDENCIES = "dependencies on functions, types, collations and operators"

# functions that every server has, with any arguments (tests/effects/test_other_catalogs.py)
SERVER_FUNCTIONS = frozenset(
    """abs age array_append array_cat array_dims array_length array_lower array_ndims array_prepend array_to_string array_upper ascii
    bit_length box btrim cbrt ceil ceiling char_length character_length chr circle clock_timestamp concat concat_ws convert_from
    convert_to currval date_part date_trunc decode degrees div encode exp factorial floor format generate_series
    generate_subscripts hashtext height host initcap int4range int8range isempty isfinite json_array_length json_extract_path
    json_extract_path_text justify_days justify_hours justify_interval lastval left length ln log lower lower_inc lower_inf
    lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz masklen md5 mod netmask network nextval now npoints
    numnode numrange octet_length overlay pg_backend_pid pg_client_encoding pg_column_size pg_get_userbyid pg_size_pretty pg_typeof
    pi point polygon position pow power quote_ident quote_literal quote_nullable radians radius random regexp_matches
    regexp_replace regexp_split_to_array repeat replace reverse right round row_to_json rpad rtrim session_user setval
    sign split_part sqrt statement_timestamp string_to_array strpos substr substring text timeofday timezone to_char
    to_date to_hex to_json to_number to_timestamp transaction_timestamp translate trunc tsrange tstzrange daterange
    txid_current unnest upper upper_inc upper_inf width width_bucket xmlexists""".split()
)
# operators that every server has; JSON's ? and others that some lack may be those of an extension
SERVER_OPERATORS = frozenset(
    """!~ !~* !~~ !~~* # ## #> #>> % & && &< &<| &> * + - -> ->> -|- / < <-> << <<= <<| <= <> <@ = > >= >> >>= ? ?# ?& ?- ?-| ?| ?|| @ @>
    @@ @@@ ^ | |&> |/ |>> || ||/ ~ ~* ~<=~ ~<~ ~= ~>=~ ~>~ ~~ ~~*""".split()
)
_NOT_EQUAL = "!="  # another name of <> in the grammar
_METHODS = ("", "btree", "hash", "gist", "gin", "spgist", "brin", "bitmap")
# pinned collations: no dependencies on them are stored
_PINNED = ("default", "C", "POSIX", "ucs_basic")


def note_outer(types: Types, ties: Ties, table: Table, node: exp.Expression | None) -> None:
    """Note whether an expression of a table depends, or may depend, on objects that are not the
    server's own.
    """
    if node is not None and (_depends(types, node) or _reads_outer(table, node)):
        note_dependencies(ties, table)


def _reads_outer(table: Table, node: exp.Expression) -> bool:
    """Whether an expression reads a column whose type or collation is not the server's own: its
    operators and constants can have the type, too.
    """
    names = {c.name for c in table.columns if c.own_type or c.outer_order}
    return bool(names) and any(
        fold(one.this) in names
        for one in node.find_all(exp.Column)
        if isinstance(one.this, exp.Identifier)
    )


def note_key(ties: Ties, table: Table, names: Iterable[str]) -> None:
    """Note that an index or constraint on these columns depends on a collation or an operator class
    that is not the server's own.
    """
    outer = {c.name for c in table.columns if c.outer_order}
    if not outer.isdisjoint(names):
        note_dependencies(ties, table)


def note_dependencies(ties: Ties, table: Table) -> None:
    """Note that a table has dependencies that are not counted."""
    note_left_out(ties, table, DEPENDENCIES)


def note_left_out(ties: Ties, table: Table, reason: str) -> None:
    """Note rows of a table that are not counted, for this and later statements."""
    table.leave_out(reason)
    ties.not_counted.append(reason)


def note_inherited(ties: Ties, table: Table, parent: Table) -> None:
    """Copy to a table that inherits from another the notes on rows that are not counted."""
    for reason in parent.not_counted:
        if reason in (DEPENDENCIES, NOT_NULL, DEFAULTS, NULL_DEFAULTS):
            table.leave_out(reason)
            ties.not_counted.append(reason)


def note_copied(
    ties: Ties, table: Table, source: Table, *, statistics: bool, bounds: bool, merged: bool
) -> None:
    """Note the rows that are not counted of a table that LIKE copies.

    statistics: with its statistics; bounds: the constraint of a partition's bounds is copied;
    merged: columns are merged with those of INHERITS
    """
    reasons = [
        reason
        for reason in source.not_counted
        if reason in (DEPENDENCIES, DEFAULTS, NULL_DEFAULTS)
        or (reason == STATISTICS and statistics)
    ]
    reasons += [OF_BOUNDS] if bounds else []
    for reason in (*reasons, SEVERAL_PARENTS) if merged else reasons:
        table.leave_out(reason)
        ties.not_counted.append(reason)


def note_taken_over(ties: Ties, partition: Table) -> None:
    """Note that an index of a partition's constraint became part of an index of its table."""
    partition.leave_out(_TAKEN_OVER)
    ties.not_counted.append(_TAKEN_OVER)


_TAKEN_OVER = "dependencies of indexes that were there before"


def foreign_collation(name: object) -> bool:
    """Whether a table depends on a collation, by the collation's name as written."""
    return isinstance(name, exp.Expression) and fold(name.args.get("this")) not in _PINNED


def element_depends(element: exp.Expression) -> bool:
    """Whether an element of an index depends on a collation, or may depend on an operator class."""
    opclass = element.args.get("opclass")
    return foreign_collation(element.args.get("collate")) or (
        isinstance(opclass, exp.Expression) and not _of_the_server(opclass)
    )


# operator classes of the server: suffixes of their names, and types
_CLASSES = tuple(
    "_pattern_ops _ops_ext jsonb_path_ops _minmax_ops _bloom_ops _inclusion_ops".split()
)
_WITH_CLASSES = frozenset(
    """int2 int4 int8 text varchar bpchar date time timestamp timestamptz numeric oid uuid inet network cidr bool float4 float8 range array
    jsonb tsvector name char bytea interval enum point""".split()
)


def _of_the_server(opclass: exp.Expression) -> bool:
    schema = opclass.args.get("db")
    if schema is not None:
        return fold(schema) == "pg_catalog"
    name = fold(opclass.args.get("this"))
    return name.endswith(_CLASSES) or name.removesuffix("_ops") in _WITH_CLASSES


def _depends(types: Types, node: exp.Expression) -> bool:
    for one in node.walk():
        if isinstance(one, exp.Anonymous):
            if str(one.this).lower() not in SERVER_FUNCTIONS:
                return True
        elif isinstance(one, gx.FunctionCall):
            if not _server_function(one):
                return True
        elif isinstance(one, exp.Cast):
            kind = one.args.get("to")
            if isinstance(kind, exp.Expression) and types.outer(kind):
                return True
            if _names_object(one):
                return True
        elif isinstance(one, gx.Predicate) and one.args.get("words") == "COLLATE":
            if any(foreign_collation(name) for name in one.expressions):
                return True
        elif isinstance(one, exp.Dot) or (isinstance(one, gx.Operator) and _outer_operator(one)):
            return True
    return False


def _outer_operator(operator: exp.Expression) -> bool:
    symbol = str(operator.this)
    known = symbol in SERVER_OPERATORS or symbol == _NOT_EQUAL
    return bool(operator.args.get("schema")) or not known


def method_depends(method: exp.Expression | None) -> bool:
    """Whether an index of this access method may depend on operator classes that are not the
    server's own.
    """
    return fold(method) not in _METHODS


# types without an operator class of the server for these access methods
_SCALAR = frozenset(
    """bool int2 int4 int8 float4 float8 numeric money oid date time timetz timestamp timestamptz interval uuid text varchar bpchar name
    bytea bit varbit macaddr""".split()
)
_WITHOUT_CLASS = {"gin": _SCALAR, "gist": _SCALAR, "spgist": _SCALAR - {"text", "varchar"}}


def without_class(method: exp.Expression | None, kind: str) -> bool:
    """Whether the server has no operator class of an access method for a type, so that an index
    uses the class of an extension.
    """
    return kind in _WITHOUT_CLASS.get(fold(method), ())


def note_classes(
    ties: Ties, table: Table, method: exp.Expression | None, names: Iterable[str]
) -> None:
    """Note that a constraint with an index of this access method uses operator classes of an
    extension for some of these columns.
    """
    known = {c.name: c.type for c in table.columns}
    if any(without_class(method, known.get(name, "")) for name in names):
        note_dependencies(ties, table)


def _names_object(cast: exp.Cast) -> bool:
    """Whether a constant has type regclass or a similar type and is not the argument of nextval,
    which is counted.
    """
    kind = cast.args["to"]
    name = catalog_type(kind)[0] if isinstance(kind, exp.DataType) else ""
    call = cast.parent
    counted = isinstance(call, exp.Anonymous) and str(call.this).lower() in ("nextval", "currval")
    return name.startswith("reg") and not counted


def _server_function(call: exp.Expression) -> bool:
    name = call.this
    if isinstance(name, exp.Dot):
        schema, plain = name.this, name.expression
        return isinstance(schema, exp.Identifier) and (
            fold(schema) == "pg_catalog" and fold(plain) in SERVER_FUNCTIONS
        )
    return isinstance(name, exp.Identifier) and fold(name) in SERVER_FUNCTIONS
