"""A parse tree as one line of text, with the class names and contents of the nodes; the expected output of the corpus."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

_PLAIN = (exp.Identifier, exp.Literal, exp.Heredoc)


def outline(value: Any) -> str:
    """The tree as one line of text.

    >>> outline(exp.Table(this=exp.Identifier(this="t", quoted=False), db=exp.Identifier(this="S", quoted=True)))
    'Table(this=t db="S")'
    """
    if isinstance(value, exp.Identifier):
        return f'"{value.this}"' if value.args.get("quoted") else str(value.this)
    if isinstance(value, exp.Literal):
        return repr(value.this) if value.is_string else str(value.this)
    if isinstance(value, exp.DataType):
        kind = value.args.get("kind")
        inside = [outline(e) for e in value.expressions] + (
            [outline(value.args["values"])] if value.args.get("values") else []
        )
        return (outline(kind) if kind else value.this.name) + (
            f"<{' '.join(inside)}>" if inside else ""
        )
    if isinstance(value, exp.DataTypeParam):
        return outline(value.this)
    if isinstance(value, exp.Column) and len([a for a in value.args.values() if a]) == 1:
        return "." + outline(value.this)
    if isinstance(value, exp.Expression):
        args = [
            f"{k}={outline(v)}"
            for k, v in value.args.items()
            if v is not None and v is not False and v != []
        ]
        return f"{type(value).__name__}({' '.join(args)})"
    if isinstance(value, list):
        return "[" + " ".join(outline(v) for v in value) + "]"
    return str(value)
