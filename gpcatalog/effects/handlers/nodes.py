"""Helpers that read the nodes of statements."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.dialect import expressions as gx


def cascades(tree: exp.Expression) -> bool:
    """Return whether a DROP has CASCADE."""
    return str(tree.args.get("behavior") or "") == "CASCADE"


def has_only(target: exp.Expression) -> bool:
    """Return whether a table is named with ONLY."""
    return isinstance(target, gx.RelationName) and bool(target.args.get("only"))
