"""Transactions and savepoints that are rolled back: the schema state before them, and the reverse
of the effects since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.hidden_code import HiddenCode, note_commit
from gpcatalog.effects.handlers.views import drop_dependent_views
from gpcatalog.effects.keys import fold
from gpcatalog.effects.relations import Table, View
from gpcatalog.effects.session import Defaults, chains, commits, reverse
from gpcatalog.effects.straight_code import Routine
from gpcatalog.effects.types import Types

if TYPE_CHECKING:
    from gpcatalog.effects.handlers.dependents import Holds
    from gpcatalog.effects.query_columns import Result
    from gpcatalog.effects.schema_state import SchemaState


@dataclass(kw_only=True)
class Mark:
    """A savepoint or the beginning of a transaction: the schema state at that time, and the effects
    since.
    """

    name: str
    tables: dict[tuple[str, str], Table]
    leaf_of: dict[tuple[str, str], tuple[str, str]]
    sequences: tuple[set[tuple[str, str]], set[tuple[str, str]]]
    types: Types
    views: dict[tuple[str, str], View]
    defaults: Defaults
    at_commit: list[tuple[str, str]]
    routines: set[str]
    bodies: dict[str, str]
    code: dict[str, Routine | None]
    results: dict[str, Result | None]
    hidden: HiddenCode
    schemas: tuple[set[str], set[str], set[str]]
    recalled: set[tuple[str, str]]
    renamed_schemas: dict[str, str]
    usable: dict[str, dict[str, Holds]]
    effects: list[Effect] = field(default_factory=list)


def transaction(state: SchemaState, tree: exp.Expression, kind: str, rolled_back: bool) -> Effect:
    """Apply BEGIN, SAVEPOINT, COMMIT or ROLLBACK.

    kind: class name of the tree; rolled_back: it begins a transaction or savepoint that is rolled
        back later
    """
    if kind == "BeginWork":
        begin(state, rolled_back=rolled_back)
        return Effect()
    if kind == "Savepoint":
        _savepoint(state, tree, rolled_back)
        return Effect()
    if (name := tree.args.get("savepoint")) is not None:
        return _rollback_to(state, fold(name))
    effect = Effect()
    if commits(tree):
        note_commit(state, effect)
        for key in state.at_commit:
            if key in state.tables:
                effect.verb = "drop"
                family = (state.tables[key], *state.partitions_of(state.tables[key]))
                for one in family:
                    state.drop(one, effect)
                drop_dependent_views(state, {(t.schema, t.name) for t in family}, effect)
    elif state.marks:
        effect = roll_back(state, state.marks[0])
    elif state.in_transaction:
        effect = Effect(unknown=["statements undone by ROLLBACK"])
    state.hidden.held_queries = []
    state.in_transaction, state.marks, state.savepoints, state.at_commit = False, [], [], []
    if state.outer_defaults is not None:
        state.defaults, state.outer_defaults = state.outer_defaults, None
    if chains(tree):  # the next transaction begins immediately
        state.in_transaction = True
        if rolled_back:
            state.marks = [mark_of(state, "")]
    return effect


def begin(state: SchemaState, *, rolled_back: bool) -> None:
    """Begin a transaction, if none is open; rolled_back: it is rolled back later."""
    if not state.in_transaction:
        state.in_transaction = True
        state.ties.committed_types = frozenset(state.types.definitions)
        if rolled_back:
            state.marks = [mark_of(state, "")]


def _savepoint(state: SchemaState, tree: exp.Expression, rolled_back: bool) -> None:
    """Apply SAVEPOINT, or RELEASE, which removes a savepoint and those after it."""
    name = fold(tree.this)
    if str(tree.args.get("form")) == "SAVEPOINT":
        if rolled_back:
            state.marks.append(mark_of(state, name))
        state.savepoints.append((name, state.marks[-1] if rolled_back else None))
        return
    at = _innermost(state, name)
    if at is not None:
        gone = [mark for _, mark in state.savepoints[at:]]
        state.marks = [mark for mark in state.marks if not any(mark is g for g in gone)]
        del state.savepoints[at:]


def _innermost(state: SchemaState, name: str) -> int | None:
    """The index of the last savepoint of that name; None if there is none."""
    found = [n for n, (label, _) in enumerate(state.savepoints) if label == name]
    return found[-1] if found else None


def _rollback_to(state: SchemaState, name: str) -> Effect:
    """Apply ROLLBACK TO."""
    at = _innermost(state, name)
    mark = None if at is None else state.savepoints[at][1]
    if at is None or mark is None:
        return Effect(unknown=[f"statements undone by ROLLBACK TO {name}"])
    depth = next(n for n, one in enumerate(state.marks) if one is mark)
    effect = roll_back(state, mark)
    # a savepoint survives ROLLBACK TO
    state.marks[depth:] = [mark_of(state, name)]
    state.savepoints[at:] = [(name, state.marks[depth])]
    for before in state.marks[:depth]:
        before.effects.append(effect)
    return effect


def mark_of(state: SchemaState, name: str) -> Mark:
    """Return the current schema state as a mark with the name of a savepoint."""
    return Mark(
        name=name,
        tables={key: table.copy() for key, table in state.tables.items()},
        leaf_of=dict(state.leaf_of),
        sequences=(set(state.sequences), set(state.unlogged_sequences)),
        types=state.types.copy(),
        views=dict(state.views),
        defaults=state.defaults,
        at_commit=list(state.at_commit),
        routines=set(state.routines),
        bodies=dict(state.bodies),
        code=dict(state.code),
        results=dict(state.results),
        hidden=state.hidden.copy(),
        schemas=(set(state.schemas), set(state.schemas_unknown), set(state.schemas_gone)),
        recalled=set(state.recalled),
        renamed_schemas=dict(state.renamed_schemas),
        usable={schema: dict(kinds) for schema, kinds in state.usable.items()},
    )


def roll_back(state: SchemaState, mark: Mark) -> Effect:
    """Restore the schema state of a mark and return the reverse of the effects since."""
    state.tables, state.leaf_of = mark.tables, mark.leaf_of
    state.sequences, state.unlogged_sequences = mark.sequences
    state.types, state.views = mark.types, mark.views
    state.routines, state.bodies, state.results = mark.routines, mark.bodies, mark.results
    state.schemas, state.schemas_unknown, state.schemas_gone = mark.schemas
    state.hidden, state.code = mark.hidden, mark.code
    state.recalled, state.renamed_schemas = mark.recalled, mark.renamed_schemas
    state.usable = mark.usable
    state.ties.undo()
    state.defaults, state.at_commit, state.by_name = mark.defaults, mark.at_commit, None
    return reverse(mark.effects)
