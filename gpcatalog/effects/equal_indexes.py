"""Whether an existing index of a partition becomes part of an index of its table: the server
compares columns, operator families, collations and expressions, not their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.keys import fold, like_of, quoted_name

# default operator class of a type; the names of others (text_pattern_ops, jsonb_path_ops,
# gin_trgm_ops) have a middle part
_USUAL_CLASS = re.compile(r"[a-z0-9]+_(minmax_)?ops")
_OTHER_CLASS = re.compile(r"_(pattern|path|trgm|bloom|multi)_ops$")


def _function(node: exp.Expression) -> str:
    """The name of a function in lower case, without pg_catalog."""
    name = node.this if isinstance(node.this, str) else node.this.sql("greenplum")
    return str(name).lower().replace('"', "").removeprefix("pg_catalog.")


def _bare(node: exp.Expression) -> exp.Expression:
    """An expression without parentheses, and a string literal without its cast to text."""
    while isinstance(node, exp.Paren) or (
        isinstance(node, exp.Cast)
        and isinstance(node.this, exp.Literal)
        and node.this.is_string
        and node.args["to"].sql("greenplum").lower() == "text"
    ):
        node = node.this
    return node


def column_of(node: exp.Expression) -> str | None:
    """The column of an element of an index, with or without parentheses; None for an expression."""
    bare = _bare(node)
    while isinstance(bare, gx.Predicate) and bare.args.get("words") == "COLLATE":
        bare = _bare(bare.this)  # a column with a collation is not an expression
    return fold(bare.this) if isinstance(bare, exp.Column) and not bare.table else None


def _conjuncts(node: exp.Expression, kind: type[exp.Expression]) -> Iterator[exp.Expression]:
    node = _bare(node)
    if isinstance(node, kind):
        yield from _conjuncts(node.this, kind)
        yield from _conjuncts(node.expression, kind)
    else:
        yield node


def _normal(node: exp.Expression) -> str:
    """The text of an expression without the parts that the server drops when it parses it:
    parentheses, the case of names, the schema of its own functions, the type of a text.
    """
    node = _bare(node)
    if isinstance(node, exp.Column) and not node.table:
        return quoted_name(fold(node.this))
    if isinstance(node, exp.And | exp.Or):
        return f"{type(node).__name__}({', '.join(map(_normal, _conjuncts(node, type(node))))})"
    if isinstance(node, exp.Literal):
        return node.sql("greenplum")
    if isinstance(node, exp.Identifier):
        return quoted_name(fold(node))
    called = isinstance(node, exp.Anonymous | gx.FunctionCall)
    parts = [type(node).__name__] if not called else [f"call {_function(node)}"]
    for key, value in node.args.items():
        if (called and key == "this") or not value:
            continue
        values = value if isinstance(value, list) else [value]
        shown = [_normal(v) if isinstance(v, exp.Expression) else str(v).lower() for v in values]
        parts.append(f"{key}={', '.join(shown)}" if key not in ("this", "expression") else shown[0])
    return f"{parts[0]}({'; '.join(parts[1:])})"


def _rough(node: exp.Expression) -> str:
    """The parts that equal expressions have in common, even if their text differs: columns,
    literals, functions.
    """
    columns = sorted({quoted_name(fold(c.this)) for c in node.find_all(exp.Column)})
    literals = sorted({x.sql("greenplum") for x in node.find_all(exp.Literal)})
    calls = {_function(x) for x in node.find_all(exp.Anonymous, gx.FunctionCall)}
    names = sorted("date_part" if name == "extract" else name for name in calls)
    return f"{columns} {literals} {names}"


def _class(element: exp.Expression, *, rough: bool = False) -> str:
    """Collation and operator class of an element; "" for the defaults of its type. The sort order
    is not compared.

    rough: without operator classes that may be the default of the type
    """
    found = ""
    for arg in ("collate", "opclass"):
        node = element.args.get(arg)
        if isinstance(node, exp.Expression):
            name = fold(node.this) if isinstance(node, exp.Table) else fold(node)
            usual = name == "default" if arg == "collate" else bool(_USUAL_CLASS.fullmatch(name))
            usual = usual or (rough and arg == "opclass" and not _OTHER_CLASS.search(name))
            found += "" if usual else f" {arg} {name}"
    options = element.args.get("options")
    return found + (f" {options}" if options else "")


def compared(body: exp.Expression, *, unique: bool) -> tuple[str, str]:
    """Two texts: one that is the same for equal indexes, and one that is the same for indexes that
    may be equal.
    """
    method = fold(body.args["using"]) if body.args.get("using") is not None else "btree"
    columns, included = body.args["columns"], body.args.get("include") or []
    where, nulls = body.args.get("where"), str(body.args.get("nulls") or "").upper()
    nulls_equal = nulls.removeprefix("NULLS ").strip() not in ("", "DISTINCT")
    plain = [column_of(element.this) for element in columns]
    if None not in plain and not (included or where or nulls_equal or any(map(_class, columns))):
        same = like_of([str(name) for name in plain], unique, method)
        return same, f"{same}"
    ends = f"{[column_of(element.this) for element in included]} {nulls_equal}"
    texts: list[list[str]] = [[], []]
    for element, name in zip(columns, plain, strict=True):
        for into, form in zip(texts, (_normal, _rough), strict=True):
            text = form(element.this) if name is None else quoted_name(name)
            into.append(text + _class(element, rough=form is _rough))
    head = f"{unique} {method} "
    condition = where.this if isinstance(where, exp.Where) else where
    conditions = [form(condition) if condition is not None else "" for form in (_normal, _rough)]
    strict, rough = (f"{head}{text} {ends} {c}" for text, c in zip(texts, conditions, strict=True))
    return strict, rough
