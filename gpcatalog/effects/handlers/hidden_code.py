"""Code that runs with a statement that does not name it: triggers, event triggers, prepared
statements, functions called from any query, and those that the definition of a table, view or
domain calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import AFTER
from gpcatalog.effects.handlers.routines import analyzed, note_calls, note_code, run_once
from gpcatalog.effects.keys import fold, qualified

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

# statements that run queries or expressions; SELECT and CALL have handlers that look at calls
_RUNS_QUERIES = frozenset(
    "Insert Update Delete MergeRows Values Copy DeclareCursor Execute AlterTable AlterDomain".split()
)
_QUERIES = frozenset("Select Union Intersect Except TableQuery CallProcedure".split())
_CHANGES_ROWS = frozenset("Insert Update Delete MergeRows Truncate TruncateTable Copy".split())
# objects that run a function where no statement names them
_RUN_UNNAMED = frozenset(
    "CreateOperator CreateOperatorClass CreateCast CreateTransform CreateTextSearch".split()
)
# statements that event triggers do not see
_UNSEEN = ("Database", "Role", "Tablespace", "EventTrigger", "ResourceQueue", "ResourceGroup")
_SEEN = ("Create", "Alter", "Drop", "Comment", "Grant", "Revoke", "SecurityLabel", "Refresh")


@dataclass
class HiddenCode:
    """Code of the script that later statements run.

    triggers: name of a table to names of triggers whose function may run DDL
    events:   event triggers whose function may run DDL, and whether they are enabled
    prepared: statements by name
    rules:    name of a table or view to the tables that its rules write, and whether rows that they
              have may change
    read:     views, domains and tables with policies that call a function which may run DDL:
              whatever names them may run it
    written:  tables that call one when rows are written: by a default, constraint, index or rule
    refreshed: materialized views that call one
    anywhere: why any statement that reads or writes rows may run DDL; "" for no reason
    """

    triggers: dict[str, set[str]] = field(default_factory=dict)
    events: dict[str, bool] = field(default_factory=dict)
    prepared: dict[str, exp.Expression] = field(default_factory=dict)
    rules: dict[str, list[tuple[exp.Expression, bool]]] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    refreshed: dict[str, str] = field(default_factory=dict)
    anywhere: str = ""

    def copy(self) -> HiddenCode:
        """Return a copy to be changed apart."""
        return HiddenCode(
            {table: set(names) for table, names in self.triggers.items()},
            dict(self.events),
            dict(self.prepared),
            {table: list(targets) for table, targets in self.rules.items()},
            dict(self.read),
            dict(self.written),
            dict(self.refreshed),
            self.anywhere,
        )

    def names(self) -> set[str]:
        """Return the names of all relations and domains that call such a function."""
        return {*self.read, *self.written, *self.refreshed}


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
    elif kind == "CreateRule" and (targets := list(_targets(tree))):
        code.rules.setdefault(_name(args.get("table")), []).extend(targets)
    elif kind == "Prepare" and isinstance(args.get("statement"), exp.Expression):
        code.prepared[_name(tree.this)] = args["statement"]


def _words(tree: exp.Expression) -> set[str]:
    """Return all names in a statement, each part by itself."""
    calls = (call.this for call in tree.find_all(exp.Anonymous))
    return {fold(name) for name in tree.find_all(exp.Identifier)} | {
        name.lower() for name in calls if isinstance(name, str)
    }


def _note_definition(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    """Note that an object calls a function which may run DDL, from its definition."""
    code, args = state.hidden, tree.args
    words = _words(tree)
    calls = words & ({name for name, makes in state.routines.items() if makes} | code.read.keys())
    table = _name(args.get("table") or args.get("this"))
    if kind == "Create":
        _note_create(state, tree, words, calls)
    elif kind in ("CreateDomain", "AlterDomain", "CreateType") and calls - {table}:
        code.read.setdefault(table, f"domain or type {table}")
        if kind == "AlterDomain":  # tables that have columns of it are not looked for
            code.anywhere = code.anywhere or f"effect of functions called by domain {table}"
    elif kind == "CreateRule" and (calls or words & (code.written.keys() - {table})):
        code.written.setdefault(table, f"a rule of {table}")
    elif kind in ("CreatePolicy", "AlterPolicy") and calls:
        for known in (code.read, code.written):
            known.setdefault(table, f"a policy of {table}")
    elif kind == "AlterTable":
        for action in tree.args.get("actions") or ():
            if str(action.args.get("form") or "").startswith("TYPE"):  # its USING runs once
                calls = calls - _words(action)
        below = words & (code.written.keys() - {table})
        joins = any(
            type(node).__name__ in ("AttachPartition", "InheritAction", "ExchangePartition")
            for node in tree.walk()
        )
        if calls - {table} or (below and joins):
            code.written.setdefault(table, f"table {table}")
    elif kind == "CreateAggregate" and calls:
        state.routines[_name(tree.this)] = True
    elif kind in _RUN_UNNAMED and calls:
        code.anywhere = code.anywhere or f"effect of {min(calls)}(), which other objects call"
    new = next((one for one in tree.walk() if type(one).__name__ == "RenameTo"), None)
    if new is not None:
        for known in (code.read, code.written, code.refreshed):
            if table in known:
                known[_name(new.this)] = known[table]


def _note_create(
    state: SchemaState, tree: exp.Expression, words: set[str], calls: set[str]
) -> None:
    """Note what a new table, view or index calls."""
    code, what = state.hidden, str(tree.args.get("kind"))
    if what == "INDEX":
        body = tree.find(exp.Table)
        if calls and body is not None:
            code.written.setdefault(_name(body), f"an index of {_name(body)}")
        return
    this = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(this, exp.Table):
        return
    name = _name(this)
    if what == "VIEW":
        if calls - {name}:
            code.read.setdefault(name, f"view {name}")
        if words & (code.written.keys() - {name}):
            code.written.setdefault(name, f"view {name}")
    elif what == "MATERIALIZED VIEW":
        if calls - {name}:
            code.refreshed.setdefault(name, f"materialized view {name}")
    else:
        _note_table(code, tree, name, calls - {name})


def _note_table(code: HiddenCode, tree: exp.Expression, name: str, calls: set[str]) -> None:
    """Note what a new table calls: by its own definition, or by that of a table it is made of."""
    above = {
        _name(table)
        for one in tree.find_all(exp.InheritsProperty, exp.PartitionedOfProperty)
        for table in one.find_all(exp.Table)
    }
    sources = above | {_name(one.this) for one in tree.find_all(gx.LikeClause)}
    query = tree.args.get("expression")
    if isinstance(query, exp.Expression):  # its columns can be of domains
        sources |= {_name(table) for table in query.find_all(exp.Table)}
        calls = calls & code.read.keys()
    if calls or sources & code.written.keys():
        for one in {name, *(above if calls else ())}:
            code.written.setdefault(one, f"table {one}")


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


def _executed(state: SchemaState, tree: exp.Expression, kind: str) -> exp.Expression | None:
    """What a statement runs at once, queries and changes of rows among it; None for nothing."""
    if kind in _QUERIES | _CHANGES_ROWS or (kind == "Explain" and analyzed(tree)):
        return tree
    return _run_by(state, tree, kind)


def _targets(run: exp.Expression) -> Iterator[tuple[exp.Expression, bool]]:
    """Tables whose rows a statement writes, in its WITH clauses too, and whether it may change or
    remove rows that they have.
    """
    for node in run.walk():
        kind = type(node).__name__
        if kind.startswith("Truncate"):
            yield from ((table, True) for table in node.find_all(exp.Table))
        elif kind in _CHANGES_ROWS and (kind != "Copy" or str(node.args.get("from")) == "FROM"):
            this = node.args.get("this")
            this = this.this if isinstance(this, exp.Schema) else this
            target = this if isinstance(this, exp.Table) else node.find(exp.Table)
            if target is not None:
                updates = kind not in ("Insert", "Copy") or node.args.get("conflict") is not None
                yield target, updates


def _written(state: SchemaState, run: exp.Expression) -> set[str]:
    """Names of tables whose rows a statement may change: those it names, their partitions and child
    tables, tables above them, and tables whose foreign keys may pass a change on.
    """
    names: set[str] = set()
    pending: list[tuple[Table, bool]] = []
    targets, ruled = list(_targets(run)), set[tuple[str, bool]]()
    while targets:
        target, updates = targets.pop()
        name = _name(target)
        if (name, updates) not in ruled:
            ruled.add((name, updates))
            targets += state.hidden.rules.get(name, ())
        names.add(name)
        found = state.find(target)
        if found is None and (partition := state.partition(*qualified(target))) is not None:
            found = partition[0]
        pending += [] if found is None else [(found, updates)]
    seen: set[tuple[str, str, bool]] = set()
    while pending:
        table, updates = pending.pop()
        key = table.schema, table.name, updates
        if key in seen:
            continue
        seen.add(key)
        near = [*_above(state, table), *state.partitions_of(table), *state.inheriting(table)]
        names |= {one.name for one in near}
        if updates:
            keys = {(one.schema, one.name) for one in near}
            pending += [
                (t, True) for t in state.tables.values() if any(f.target in keys for f in t.foreign)
            ]
    return names


def _above(state: SchemaState, table: Table) -> list[Table]:
    """A table, those that it is a partition of, and those that it inherits from, each once."""
    found: dict[tuple[str, str], Table] = {}
    pending = [(table.schema, table.name)]
    while pending:
        key = pending.pop()
        one = state.tables.get(key)
        if one is not None and key not in found:
            found[key] = one
            pending += [*one.inherits, *([one.parent] if one.parent is not None else [])]
    return [table, *found.values()]


def _note_carried(state: SchemaState, tree: exp.Expression, kind: str, effect: Effect) -> None:
    """Add what a statement runs by the definition of a relation or domain that it names."""
    code = state.hidden
    run = _executed(state, tree, kind) if kind != "AlterDomain" else None
    found = []
    if kind == "Refresh" and (one := code.refreshed.get(_name(tree.this))):
        found.append(one)
    if run is not None:
        words = _words(run)
        found += [code.read[name] for name in sorted(words & code.read.keys())]
        if kind == "AlterTable":
            table = _name(tree.this)
            writes = any(
                str(node.args.get("form") or "").startswith(("TYPE", "SET DATA TYPE", "VALIDATE"))
                or type(node).__name__ == "ValidateConstraint"
                for node in tree.walk()
            )
            names = {table} if writes else set()
        else:
            names = _written(state, run) if code.written else set()
        found += [code.written[name] for name in sorted(names & code.written.keys())]
    reasons = [f"effect of functions called by {what}" for what in dict.fromkeys(found)]
    if code.anywhere and run is not None and kind != "AlterTable":
        reasons.append(code.anywhere)
    for reason in reasons:
        effect.add_unknown(reason)
        note_code(state, " ".join(state.bodies.values()), reason)


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
    if code.triggers and (executed := _executed(state, tree, kind)) is not None:
        for table in sorted(_written(state, executed) & code.triggers.keys()):
            effect.add_unknown(f"effect of a trigger of {table}")
    if code.anywhere or code.read or code.written or code.refreshed:
        _note_carried(state, tree, kind, effect)
    if kind.startswith(("Create", "Alter")):
        _note_definition(state, tree, kind)


AFTER.append(note_hidden_code)
