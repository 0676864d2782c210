"""Code that runs with a statement that does not name it: triggers, event triggers, prepared
statements, and functions called from any query.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import AFTER
from gpcatalog.effects.handlers.routines import note_calls, run_once
from gpcatalog.effects.keys import fold, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState

# statements that run queries or expressions; SELECT and CALL have handlers that look at calls
_RUNS_QUERIES = frozenset(
    "Insert Update Delete MergeRows Values Copy DeclareCursor Execute AlterTable".split()
)
_CHANGES_ROWS = frozenset("Insert Update Delete MergeRows Truncate TruncateTable Copy".split())
# statements that event triggers do not see
_UNSEEN = ("Database", "Role", "Tablespace", "EventTrigger", "ResourceQueue", "ResourceGroup")
_SEEN = ("Create", "Alter", "Drop", "Comment", "Grant", "Revoke", "SecurityLabel", "Refresh")


@dataclass
class HiddenCode:
    """Code of the script that later statements run.

    triggers: name of a table to names of triggers whose function may run DDL
    events:   event triggers whose function may run DDL, and whether they are enabled
    prepared: statements by name
    """

    triggers: dict[str, set[str]] = field(default_factory=dict)
    events: dict[str, bool] = field(default_factory=dict)
    prepared: dict[str, exp.Expression] = field(default_factory=dict)

    def copy(self) -> HiddenCode:
        """Return a copy to be changed apart."""
        return HiddenCode(
            {table: set(names) for table, names in self.triggers.items()},
            dict(self.events),
            dict(self.prepared),
        )


def _name(node: object) -> str:
    """Last part of a name, folded."""
    if isinstance(node, exp.Table):
        return qualified(node)[1]
    if isinstance(node, exp.Dot):
        return fold(node.expression)
    return fold(node) if isinstance(node, exp.Expression) else str(node)


def _keep(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    code = state.hidden
    args = tree.args
    if kind == "CreateTrigger":
        # a function of another script is taken to change rows, as everywhere
        if state.routines.get(_name(args.get("function"))):
            code.triggers.setdefault(_name(args.get("table")), set()).add(_name(tree.this))
    elif kind == "CreateEventTrigger":
        if state.routines.get(_name(args.get("function")), True):
            code.events[_name(tree.this)] = True
    elif kind == "AlterEventTrigger":
        name, form = _name(tree.this), str(args.get("form") or "")
        if name in code.events and args.get("rename") is not None:
            code.events[_name(args["rename"])] = code.events.pop(name)
        elif name in code.events and form.startswith(("DISABLE", "ENABLE")):
            code.events[name] = form.startswith("ENABLE")
    elif kind == "DropObject" and str(args.get("kind")) == "EVENT TRIGGER":
        for one in args.get("simple") or args.get("names") or ():
            code.events.pop(_name(one), None)
    elif kind == "Prepare" and isinstance(args.get("statement"), exp.Expression):
        code.prepared[_name(tree.this)] = args["statement"]


def _run_by(state: SchemaState, tree: exp.Expression, kind: str) -> exp.Expression | None:
    """What a statement runs at once; None for nothing."""
    if kind == "Execute":
        return state.hidden.prepared.get(_name(tree.this), tree)
    if kind == "Create" and tree.args.get("kind") != "VIEW":
        query = tree.args.get("expression")
        properties = tree.args.get("properties")
        empty = properties is not None and any(
            isinstance(p, gx.WithData) and p.args.get("no") for p in properties.expressions
        )
        if empty or not isinstance(query, exp.Expression):
            return None
        prepared = type(query).__name__ == "Execute"
        return _run_by(state, query, "Execute") if prepared else query
    into = kind == "Select" and tree.args.get("into") is not None
    return tree if into or kind in _RUNS_QUERIES else None


def note_hidden_code(state: SchemaState, tree: exp.Expression, effect: Effect) -> None:
    """Add what is unknown because a statement runs code that may run DDL."""
    kind = type(tree).__name__
    _keep(state, tree, kind)
    code = state.hidden
    if code.events and kind.startswith(_SEEN) and not any(word in kind for word in _UNSEEN):
        for name in sorted(name for name, enabled in code.events.items() if enabled):
            effect.add_unknown(f"effect of event trigger {name}")
    if not any(state.routines.values()):
        return
    run = _run_by(state, tree, kind)
    once = run if kind == "Create" else tree.args.get("expression") if kind == "Insert" else None
    if (made := run_once(state, once)) is not None and not tree.args.get("exists"):
        effect.include(made)
    elif run is not None:
        note_calls(state, run, effect, direct=False)
    if code.triggers and kind in _CHANGES_ROWS:
        changed = {_name(table) for table in tree.find_all(exp.Table)}
        for table in sorted(changed & code.triggers.keys()):
            effect.add_unknown(f"effect of a trigger of {table}")


AFTER.append(note_hidden_code)
