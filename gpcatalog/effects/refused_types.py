"""Changes of enums that the server rejects (see refusals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.certain import type_in_use
from gpcatalog.effects.keys import qualified

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


def refused_enum(state: SchemaState, tree: exp.Expression) -> str:
    """Why the server rejects ALTER TYPE … ADD VALUE or RENAME VALUE."""
    form = str(tree.args.get("form") or "")
    if not form.startswith(("ADD VALUE", "RENAME VALUE")) or not isinstance(tree.this, exp.Table):
        return ""
    schema, name = qualified(tree.this)
    if not type_in_use(state, (schema or state.new_objects, name)):
        return ""
    labels = state.types.definitions[name].labels
    if labels is None:
        return f"type {name} is not an enum"
    value = str(tree.args["value"].this)
    if form.startswith("ADD"):
        neighbor = tree.args.get("neighbor")
        if value in labels:
            return "" if tree.args.get("if_not_exists") else f"{name} has the value {value!r}"
        other = str(neighbor.this) if neighbor is not None else labels[0] if labels else ""
        missing = neighbor is not None and other not in labels
        return f"{name} has no value {other!r}" if missing else ""
    new = str(tree.args["new_value"].this)
    if value not in labels:
        return f"{name} has no value {value!r}"
    return f"{name} has the value {new!r}" if new in labels else ""


def labels_twice(tree: exp.Expression) -> str:
    """A message if CREATE TYPE … AS ENUM has a value twice."""
    values = [str(value.this) for value in tree.args.get("values") or ()]
    twice = next((v for at, v in enumerate(values) if v in values[:at]), None)
    return f"value {twice!r} is given twice" if twice is not None else ""
