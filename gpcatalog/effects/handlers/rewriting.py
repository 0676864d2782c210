"""Statements that rewrite whole tables without changing their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import handles
from gpcatalog.effects.rewrites import remove_encodings, without_needless_toast

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


@handles("Vacuum", "Cluster", "Repack")
def rewrite(state: SchemaState, tree: exp.Expression) -> Effect:
    """VACUUM FULL, CLUSTER and REPACK rewrite tables, without the TOAST relations that no column
    needs any more.
    """
    effect = Effect()
    if type(tree).__name__ == "Vacuum" and "FULL" not in tree.sql("greenplum").upper():
        return effect
    names = (
        [tree.args["table"]]
        if tree.args.get("table") is not None
        else [t.this for t in tree.args.get("targets") or ()]
        or [t.this for t in (tree.args.get("target"),) if isinstance(t, exp.Expression)]
    )
    analyzed = tree.args.get("analyze")
    if isinstance(analyzed, exp.Expression) and isinstance(
        analyzed.args.get("target"), exp.Expression
    ):
        names.append(analyzed.args["target"].this)
    named = [table for name in names if (table := state.find(name)) is not None]
    if type(tree).__name__ == "Cluster":  # VACUUM FULL leaves these rows (measured on 7.0.0)
        remove_encodings(state, named, effect)
    for table in (
        [one for t in named for one in (t, *state.partitions_of(t))]
        if names
        else list(state.tables.values())
    ):
        with state.changing(effect, table):
            # what is unknown since an earlier rewrite remains so
            doubt = table.uncounted if table.toasted else ""
            doubt = doubt or without_needless_toast(table)
        if doubt:
            effect.add_unknown(doubt)
            table.uncounted = table.uncounted or f"TOAST relation of {table.title} after a rewrite"
    if state.existing is not None and not names:
        effect.add_unknown("TOAST relations after a rewrite of all tables")
    return effect
