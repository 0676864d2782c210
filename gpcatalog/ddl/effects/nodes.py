"""Helpers that read the nodes of statements."""

from __future__ import annotations

from sqlglot import exp

from gpcatalog.ddl import expressions as gx
from gpcatalog.ddl.relations import fold


def cascades(tree: exp.Expression) -> bool:
    """Return whether a DROP says CASCADE."""
    return str(tree.args.get("behavior") or "") == "CASCADE"


def says_only(target: exp.Expression) -> bool:
    """Return whether a table is named with ONLY."""
    return isinstance(target, gx.RelationName) and bool(target.args.get("only"))


def names_in(query: exp.Expression | None) -> frozenset[str]:
    """Names of all relations in a query."""
    if query is None:
        return frozenset()
    return frozenset(fold(t.args.get("this")) for t in query.find_all(exp.Table) if isinstance(t.args.get("this"), exp.Identifier))
