"""Options and lengths of types that the server rejects (see refusals)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.expansion import catalog_type, options_of
from gpcatalog.effects.keys import fold

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


# smallest and largest value, and the number that divides it: reloptions of Greenplum 6 and 7
_LIMITS = {"compresslevel": (0, 19, 1), "blocksize": (8192, 2097152, 8192)}


KEY_OF_APPEND_OPTIMIZED = "append-optimized tables of Greenplum 6 have no keys"


def refused_storage(
    properties: Sequence[exp.Expression],
    elements: Sequence[exp.Expression],
    encoded: Sequence[str],
    keys: Sequence[object],
    *,
    classic: bool,
) -> str:
    """What is wrong with the storage options of a new table of Greenplum.

    encoded: columns with ENCODING; keys: primary keys and unique constraints
    """
    nodes = [p for p in properties if isinstance(p, gx.StorageOptions)]
    given: dict[str, str] = {}
    for p in nodes:
        given.update(options_of(p))
    nodes += [n.this for e in elements for n in e.find_all(gx.EncodingConstraint)]
    for node in nodes:
        for option, text in options_of(node).items():
            low, high, step = _LIMITS.get(option, (0, 0, 1))
            if high and text.isdigit() and not (low <= int(text) <= high and int(text) % step == 0):
                return f"{option}={text} is out of its bounds"
    method = any(isinstance(p, gx.AccessMethod) for p in properties)
    on = given.get("appendonly", given.get("appendoptimized", "")) in ("true", "on", "1")
    divided = any(isinstance(p, gx.PartitionBy) for p in properties)
    if on and keys and classic and not divided:
        return KEY_OF_APPEND_OPTIMIZED
    rows = on and given.get("orientation") == "row" and not method and not divided
    if rows and encoded:
        return f"ENCODING of column {encoded[0]} of a table that is not column-oriented"
    return ""


def other_storage(action: exp.Expression) -> str:
    """A storage option that ALTER TABLE … SET WITH … DISTRIBUTED BY of Greenplum does not change,
    nor SET WITH of Greenplum 6; "" if there is none.
    """
    given = action.args.get("options")
    names = options_of(given) if str(action.args.get("form")).startswith("SET WITH") else {}
    fixed = """appendonly appendoptimized orientation compresstype compresslevel blocksize checksum
        fillfactor""".split()
    return next((f"SET WITH does not change {name}" for name in names if name in fixed), "")


def refused_fillfactor(options: Mapping[str, str]) -> str:
    """A message if the fillfactor of a table or an index is not between 10 and 100."""
    text = options.get("fillfactor", "")
    wrong = text.isdigit() and not 10 <= int(text) <= 100
    return f"fillfactor={text} is not between 10 and 100" if wrong else ""


# --- sequences ------------------------------------------------------------------------------------

_LARGEST = 2**63 - 1


def refused_sequence(options: Iterable[exp.Expression]) -> str:
    """What is wrong with the options of a new sequence of type bigint."""
    values: dict[str, int] = {}
    written: set[str] = set()
    for option in options:
        form = str(option.args.get("form") or "").removeprefix("NO ")
        value = option.args.get("value")
        number = _number(value) if isinstance(value, exp.Expression) else None
        if form in ("INCREMENT", "MINVALUE", "MAXVALUE", "START", "CACHE"):
            if form in written:
                return f"{form} is written twice"
            written.add(form)
            if number is None and value is not None:
                return ""
            if number is not None:
                values[form] = number
        elif form == "AS":
            return ""  # the limits are those of another type
    if values.get("INCREMENT") == 0:
        return "INCREMENT is 0"
    down = values.get("INCREMENT", 1) < 0
    if not all(-_LARGEST - 1 <= value <= _LARGEST for value in values.values()):
        return "a value is out of the range of bigint"
    low = values.get("MINVALUE", -_LARGEST if down else 1)
    high = values.get("MAXVALUE", -1 if down else _LARGEST)
    if low >= high:
        return "MINVALUE is not less than MAXVALUE"
    if not low <= values.get("START", low) <= high:
        return "START is not between MINVALUE and MAXVALUE"
    return "CACHE is less than 1" if values.get("CACHE", 1) < 1 else ""


def _number(node: exp.Expression | None) -> int | None:
    """The value of an integer as written; None for anything else."""
    if isinstance(node, exp.Neg):
        value = _number(node.this)
        return None if value is None else -value
    whole = isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()
    return int(str(node.this)) if node is not None and whole else None


# --- types ----------------------------------------------------------------------------------------

_CHARACTERS = 10485760  # MaxAttrSize of the server
_WITHOUT_LENGTH = frozenset("text date bool uuid json jsonb xml bytea oid name".split())


def refused_length(state: SchemaState, kind: exp.Expression | None) -> str:
    """What is wrong with the length or precision of a type as written."""
    if not isinstance(kind, exp.DataType) or kind.this == exp.DType.ARRAY:
        return ""
    params = [p.this for p in kind.expressions if isinstance(p, exp.DataTypeParam)]
    numbers = [_number(p) if isinstance(p, exp.Expression) else None for p in params]
    name = catalog_type(kind)[0]
    if not numbers or None in numbers or name in state.types.definitions:
        return ""
    first, *more = (n for n in numbers if n is not None)
    if name in _WITHOUT_LENGTH and not isinstance(kind.args.get("kind"), exp.Dot):
        return f"type {name} has no length"
    if name in ("varchar", "bpchar", "bit", "varbit"):
        if first < 1:
            return f"the length of {name} is less than 1"
        if name in ("varchar", "bpchar") and first > _CHARACTERS:
            return f"the length of {name} is greater than {_CHARACTERS}"
    if name == "numeric":
        if not 1 <= first <= 1000:
            return "the precision of numeric is not between 1 and 1000"
        if more and state.edition.base < 15 and more[0] > first:
            return "the scale of numeric is greater than its precision"
    return ""


def refused_lengths(state: SchemaState, elements: Iterable[exp.Expression]) -> str:
    """What is wrong with the length of the type of a column."""
    for element in elements:
        kind = element.args.get("kind") if isinstance(element, exp.ColumnDef) else None
        if why := refused_length(state, kind):
            return f"column {fold(element.this)}: {why}"
    return ""
