"""Code that runs with a statement that does not name it: triggers, event triggers, prepared
statements, functions called from any query, and functions called by the definition of a table, view
or domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.effect import Effect
from gpcatalog.effects.handlers.registry import AFTER
from gpcatalog.effects.handlers.routines import analyzed, note_calls, note_code, run_once
from gpcatalog.effects.keys import fold, qualified
from gpcatalog.effects.reach import EVENTS, IN_TEXT, Reach, Use

if TYPE_CHECKING:
    from gpcatalog.effects.relations import Table
    from gpcatalog.effects.schema_state import SchemaState

# statements that compute expressions of existing indexes
_BUILDS_INDEXES = frozenset("Reindex Cluster Vacuum Analyze Repack".split())
# statements that run queries or expressions; the handlers of SELECT and CALL examine calls
_RUNS_QUERIES = frozenset(
    "Insert Update Delete MergeRows Values Copy AlterTable AlterDomain".split()
)
_QUERIES = frozenset("Select Union Intersect Except TableQuery CallProcedure".split())
_CHANGES_ROWS = frozenset("Insert Update Delete MergeRows Truncate TruncateTable Copy".split())
# objects that run a function without being named in a statement
_RUN_UNNAMED = {
    "CreateOperator": "an operator",
    "CreateOperatorClass": "an operator class",
    "CreateCast": "a cast",
    "CreateTransform": "a transform",
    "CreateTextSearch": "an object of text search",
}
_RELATIONS = ("TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE")
# statements that do not fire event triggers
_UNSEEN = ("Database", "Role", "Tablespace", "EventTrigger", "ResourceQueue", "ResourceGroup")
_SEEN = ("Create", "Alter", "Drop", "Comment", "Grant", "Revoke", "SecurityLabel", "Refresh")


@dataclass(frozen=True)
class EventTrigger:
    """An event trigger. tags: words of each command tag that fires it; empty for all commands"""

    function: str
    tags: tuple[frozenset[str], ...] = ()
    enabled: bool = True

    @classmethod
    def of(cls, tree: exp.Expression) -> EventTrigger:
        """The trigger of CREATE EVENT TRIGGER."""
        filters = [node for node in tree.walk() if type(node).__name__ == "EventFilter"]
        tags = [value.name for node in filters for value in node.find_all(exp.Literal)]
        return cls(
            _name(tree.args.get("function")), tuple(frozenset(tag.upper().split()) for tag in tags)
        )

    def may_fire(self, tree: exp.Expression) -> bool:
        """Whether a statement may fire it: it contains all words of a tag."""
        words = set(re.findall(r"\w+", tree.sql("greenplum").upper())) if self.tags else set()
        return self.enabled and (not self.tags or any(tag <= words for tag in self.tags))


@dataclass
class HiddenCode:
    """Code of the script that later statements run.

    reach: objects that may run DDL
    events: event triggers by name
    prepared: statements by name
    cursors: queries of cursors by name
    rules: name of a table or view to the tables that its rules write, and how
    names: name of a table or view to other names that it has or had
    held_queries: queries of cursors WITH HOLD that COMMIT runs
    """

    reach: Reach = field(default_factory=Reach)
    events: dict[str, EventTrigger] = field(default_factory=dict)
    prepared: dict[str, exp.Expression] = field(default_factory=dict)
    cursors: dict[str, exp.Expression] = field(default_factory=dict)
    rules: dict[str, list[tuple[exp.Expression, frozenset[Use]]]] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    held_queries: list[exp.Expression] = field(default_factory=list)

    def copy(self) -> HiddenCode:
        """Return an independent copy."""
        return HiddenCode(
            self.reach.copy(),
            dict(self.events),
            dict(self.prepared),
            dict(self.cursors),
            {table: list(targets) for table, targets in self.rules.items()},
            {name: set(others) for name, others in self.names.items()},
            list(self.held_queries),
        )


def _name(node: object) -> str:
    """The last part of a name, folded."""
    if isinstance(node, exp.Table):
        return qualified(node)[1]
    if isinstance(node, exp.Dot):
        return fold(node.expression)
    return fold(node) if isinstance(node, exp.Expression) else str(node)


def _keep(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    code = state.hidden
    args = tree.args
    if kind == "CreateTrigger":
        # a function of another script is assumed to change rows, as everywhere
        table, function = _name(args.get("table")), _name(args.get("function"))
        for event in _events(tree):
            code.reach.link(event, table, f"a trigger of {table}", {function}, Use.CALL)
    elif kind == "CreateEventTrigger":
        code.events[_name(tree.this)] = EventTrigger.of(tree)
    elif kind == "AlterEventTrigger":
        name, form = _name(tree.this), str(args.get("form") or "")
        if name in code.events and args.get("rename") is not None:
            code.events[_name(args["rename"])] = code.events.pop(name)
        elif name in code.events and form.startswith(("DISABLE", "ENABLE")):
            code.events[name] = replace(code.events[name], enabled=form.startswith("ENABLE"))
    elif kind == "DropObject" and str(args.get("kind")) in _RELATIONS:
        for name in {_name(one) for one in args.get("names") or ()} & code.reach.relations():
            if not any(name == other for _, other in (*state.tables, *state.views, *state.leaf_of)):
                code.reach.forget(name)
    elif kind == "DropObject" and str(args.get("kind")) == "EVENT TRIGGER":
        for one in args.get("simple") or args.get("names") or ():
            code.events.pop(_name(one), None)
    elif kind == "CreateRule":
        table = _name(args.get("table"))
        code.rules.setdefault(table, []).extend(_targets(tree))
        code.reach.link(
            Use.WRITE, table, f"functions called by a rule of {table}", _words(tree), *IN_TEXT
        )
    elif kind == "Prepare" and isinstance(args.get("statement"), exp.Expression):
        code.prepared[_name(tree.this)] = args["statement"]
    elif kind == "DeclareCursor" and isinstance(args.get("query"), exp.Expression):
        code.cursors[_name(tree.this)] = args["query"]
        code.held_queries += [args["query"]] if str(args.get("hold")) == "WITH HOLD" else []
    if kind.startswith("Alter") and (new := _new_name(tree)):
        _rename(code, _name(args.get("table") or args.get("this")), new)


def _events(trigger: exp.Expression) -> set[Use]:
    """The events that fire a trigger."""
    forms = [
        str(node.args.get("form") or "").split(" ")[0]
        for node in trigger.walk()
        if type(node).__name__ == "TriggerEvent"
    ]
    return {Use[form] for form in forms if form in Use.__members__} or set(EVENTS)


def _new_name(tree: exp.Expression) -> str:
    """The new name of an object; "" if it is not renamed, or if only a part of it is."""
    move, plain = tree.args.get("move"), tree.args.get("rename")
    if isinstance(move, exp.Expression) and type(move).__name__ == "RenameTo":
        return _name(move.this)
    renames = str(tree.args.get("form")) == "RENAME TO"
    return _name(plain) if plain is not None and renames else ""


def _rename(code: HiddenCode, old: str, new: str) -> None:
    names = {old, new, *code.names.get(old, ()), *code.names.get(new, ())}
    for name in names:
        code.names[name] = names
    code.reach.rename(old, new)


def _words(tree: exp.Expression) -> set[str]:
    """Return all names in a statement, each part separately."""
    calls = (call.this for call in tree.find_all(exp.Anonymous))
    return {fold(name) for name in tree.find_all(exp.Identifier)} | {
        name.lower() for name in calls if isinstance(name, str)
    }


def _note_definition(state: SchemaState, tree: exp.Expression, kind: str) -> None:
    """Record the functions that the definition of an object calls."""
    reach, args = state.hidden.reach, tree.args
    words = _words(tree)
    table = _name(args.get("table") or args.get("this"))
    called = f"functions called by table {table}"
    if kind == "Create":
        _note_create(state, tree, words)
    elif kind in ("CreateDomain", "AlterDomain", "CreateType"):
        what = f"functions called by domain or type {table}"
        reach.link(Use.READ, table, what, words, Use.CALL, Use.READ)
        if kind == "AlterDomain":  # tables with columns of the domain are not determined
            what = f"functions called by domain {table}"
            reach.link(Use.ANY, "", what, words - {table}, Use.CALL, Use.READ)
    elif kind in ("CreatePolicy", "AlterPolicy"):
        for use in (Use.READ, Use.WRITE):
            what = f"functions called by a policy of {table}"
            reach.link(use, table, what, words, Use.CALL, Use.READ)
    elif kind == "AlterTable":
        once = set[str]()
        for action in tree.args.get("actions") or ():
            if str(action.args.get("form") or "").startswith("TYPE"):  # its USING runs once
                once |= _words(action)
        joins = any(
            type(node).__name__ in ("AttachPartition", "InheritAction", "ExchangePartition")
            for node in tree.walk()
        )
        reach.link(Use.WRITE, table, called, words - once, Use.CALL, Use.READ)
        if joins:
            reach.link_writes(table, called, words)
    elif kind in ("AlterView", "AlterForeignTable"):
        reach.link(Use.WRITE, table, called, words, Use.CALL, Use.READ)
    elif kind == "CreateAggregate":
        reach.link(Use.CALL, table, f"{table}()", words, Use.CALL)
    elif kind in _RUN_UNNAMED:
        reach.link(Use.ANY, "", f"functions called by {_RUN_UNNAMED[kind]}", words, Use.CALL)


def _note_create(state: SchemaState, tree: exp.Expression, words: set[str]) -> None:
    """Record the functions that a new table, view or index calls."""
    reach, what = state.hidden.reach, str(tree.args.get("kind"))
    calls = (Use.CALL, Use.READ)
    if what == "INDEX":
        body = tree.find(exp.Table)
        if body is not None:
            name = _name(body)
            for use in (Use.WRITE, Use.BUILD):
                reach.link(use, name, f"functions called by an index of {name}", words, *calls)
        return
    this = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(this, exp.Table):
        return
    name = _name(this)
    if what == "VIEW":
        called = f"functions called by view {name}"
        reach.link(Use.READ, name, called, words, *calls)
        reach.link_writes(name, called, words)
    elif what == "MATERIALIZED VIEW":
        called = f"functions called by materialized view {name}"
        reach.link(Use.REFRESH, name, called, words, *calls)
    else:
        _note_table(reach, tree, name, words)


def _note_table(reach: Reach, tree: exp.Expression, name: str, words: set[str]) -> None:
    """Record the functions that a new table calls: in its own definition, or in that of a table
    that it is created from.
    """
    above = {
        _name(table)
        for one in tree.find_all(exp.InheritsProperty, exp.PartitionedOfProperty)
        for table in one.find_all(exp.Table)
    }
    sources = above | {_name(one.this) for one in tree.find_all(gx.LikeClause)}
    query = tree.args.get("expression")
    uses = [Use.CALL, Use.READ]
    if isinstance(query, exp.Expression):  # its columns can have domains; its functions run once
        sources |= {_name(table) for table in query.find_all(exp.Table)}
        uses.remove(Use.CALL)
    reach.link(Use.WRITE, name, f"functions called by table {name}", words, *uses)
    reach.link_writes(name, f"functions called by table {name}", sources)
    for one in above:
        what = f"functions called by table {one}"
        reach.link(Use.WRITE, one, what, words - {name}, *uses)


def _run_by(state: SchemaState, tree: exp.Expression, kind: str) -> list[exp.Expression]:
    """The statements and expressions that a statement runs immediately, except queries."""
    if kind == "Execute":
        given = [one for one in tree.args.get("args") or () if isinstance(one, exp.Expression)]
        return [state.hidden.prepared.get(_name(tree.this), tree), *given]
    if kind == "Fetch":
        return list(state.hidden.cursors.values())
    if kind == "Explain":
        inner = tree.args.get("statement")
        if isinstance(inner, exp.Expression) and analyzed(tree):
            return _run_by(state, inner, type(inner).__name__)
        return []
    if kind == "Create" and tree.args.get("kind") == "INDEX":
        return [tree]
    if kind == "Create" and tree.args.get("kind") != "VIEW":
        query = tree.args.get("expression")
        properties = tree.args.get("properties")
        empty = properties is not None and any(
            isinstance(p, gx.WithData) and p.args.get("no") for p in properties.expressions
        )
        if empty or not isinstance(query, exp.Expression):
            return []
        prepared = type(query).__name__ == "Execute"
        return _run_by(state, query, "Execute") if prepared else [query]
    into = kind == "Select" and tree.args.get("into") is not None
    return [tree] if into or kind in _RUNS_QUERIES else []


def _executed(state: SchemaState, tree: exp.Expression, kind: str) -> list[exp.Expression]:
    """The statements and expressions that a statement runs immediately, including queries and
    changes of rows.
    """
    if kind in _QUERIES | _CHANGES_ROWS or (kind == "Explain" and analyzed(tree)):
        return [tree, *(_run_by(state, tree, kind) if kind == "Explain" else ())]
    return _run_by(state, tree, kind)


_CHANGES = {
    "Insert": {Use.INSERT},
    "Copy": {Use.INSERT},
    "Update": {Use.UPDATE},
    "Delete": {Use.DELETE},
}
_CHANGES_EXISTING = {Use.UPDATE, Use.DELETE, Use.TRUNCATE}


def _targets(run: exp.Expression) -> Iterator[tuple[exp.Expression, frozenset[Use]]]:
    """Tables whose rows a statement writes, also in its WITH clauses, and how."""
    for node in run.walk():
        kind = type(node).__name__
        if kind.startswith("Truncate"):
            yield from ((table, frozenset({Use.TRUNCATE})) for table in node.find_all(exp.Table))
        elif kind in _CHANGES_ROWS and (kind != "Copy" or str(node.args.get("from")) == "FROM"):
            this = node.args.get("this")
            this = this.this if isinstance(this, exp.Schema) else this
            target = this if isinstance(this, exp.Table) else node.find(exp.Table)
            if target is not None:
                events = _CHANGES.get(kind, {Use.INSERT, Use.UPDATE, Use.DELETE})
                conflict = {Use.UPDATE} if node.args.get("conflict") is not None else set()
                yield target, frozenset(events | conflict)


def _written(state: SchemaState, run: exp.Expression) -> set[tuple[str, Use]]:
    """Names of tables whose rows a statement may change, and how: tables that it names, their
    partitions and child tables, tables above them, and tables to which foreign keys may propagate a
    change.
    """
    names: set[tuple[str, Use]] = set()
    pending: list[tuple[Table, frozenset[Use]]] = []
    targets, ruled = list(_targets(run)), set[tuple[str, frozenset[Use]]]()
    while targets:
        target, events = targets.pop()
        name = _name(target)
        if (name, events) not in ruled:
            ruled.add((name, events))
            for one in state.hidden.names.get(name, {name}):
                targets += state.hidden.rules.get(one, ())
        names |= {(name, event) for event in events}
        found = state.find(target)
        if found is None and (partition := state.partition(*qualified(target))) is not None:
            found = partition[0]
        pending += [] if found is None else [(found, events)]
    seen: set[tuple[str, str, frozenset[Use]]] = set()
    while pending:
        table, events = pending.pop()
        if Use.UPDATE in events and table.partitioned:  # it may move rows to another partition
            events |= {Use.INSERT, Use.DELETE}
        key = table.schema, table.name, events
        if key in seen:
            continue
        seen.add(key)
        relatives = [*_above(state, table), *state.partitions_of(table), *state.inheriting(table)]
        names |= {(one.name, event) for one in relatives for event in events}
        if not events.isdisjoint(_CHANGES_EXISTING):
            keys = {(one.schema, one.name) for one in relatives}
            more = frozenset({Use.UPDATE, Use.DELETE} | (events & {Use.TRUNCATE}))
            pending += [
                (t, more) for t in state.tables.values() if any(f.target in keys for f in t.foreign)
            ]
    return names


def _above(state: SchemaState, table: Table) -> list[Table]:
    """A table, the tables that it is a partition of, and the tables that it inherits from, each
    once.
    """
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
    """Add what a statement runs because of the definition of a relation or type that it names."""
    reasons = state.hidden.reach.reasons
    run = _executed(state, tree, kind) if kind != "AlterDomain" else []
    found = []
    if kind == "Refresh" and (one := reasons[Use.REFRESH].get(_name(tree.this))):
        found.append(one)
    if kind in _BUILDS_INDEXES:
        found += reasons[Use.BUILD].values()
    for part in run:
        words = _words(part)
        if kind == "AlterTable":
            table = _name(tree.this)
            writes = any(
                str(node.args.get("form") or "").startswith(("TYPE", "SET DATA TYPE", "VALIDATE"))
                or type(node).__name__ == "ValidateConstraint"
                for node in tree.walk()
            )
            written = {(table, Use.WRITE)} if writes else set()
        else:
            some = any(reasons[use] for use in (Use.WRITE, *EVENTS))
            written = _written(state, part) if some else set()
            found += reasons[Use.ANY].values()
        used = {Use.READ: words, Use.WRITE: {name for name, _ in written}}
        used |= {event: {name for name, how in written if how is event} for event in EVENTS}
        for use, names in used.items():
            found += [reasons[use][name] for name in sorted(names & reasons[use].keys())]
    for what in dict.fromkeys(found):
        effect.add_unknown(f"effect of {what}")
        note_code(state, " ".join(state.bodies.values()), f"effect of {what}")


def note_hidden_code(state: SchemaState, tree: exp.Expression, effect: Effect) -> None:
    """Add what is unknown because a statement runs code that may run DDL."""
    kind = type(tree).__name__
    _keep(state, tree, kind)
    code = state.hidden
    if code.events and kind.startswith(_SEEN) and not any(word in kind for word in _UNSEEN):
        for name, one in sorted(code.events.items()):
            unread = one.function not in state.routines or code.reach.calls(one.function)
            if unread and one.may_fire(tree):
                effect.add_unknown(f"effect of event trigger {name}")
    view = kind == "Create" and tree.args.get("kind") == "VIEW"
    if kind.startswith(("Create", "Alter")) and (state.routines or view):
        _note_definition(state, tree, kind)
    if not code.reach:
        return
    run = _run_by(state, tree, kind)
    once = (
        tree.args.get("expression")
        if kind == "Insert"
        else run[0]
        if kind == "Create" and run
        else None
    )
    if (code_effect := run_once(state, once)) is not None and not tree.args.get("exists"):
        effect.include(code_effect)
    else:
        for part in run:
            note_calls(state, part, effect, direct=False)
    _note_carried(state, tree, kind, effect)


def note_commit(state: SchemaState, effect: Effect) -> None:
    """Add what is unknown because COMMIT runs the queries of cursors WITH HOLD."""
    queries, state.hidden.held_queries = state.hidden.held_queries, []
    for query in queries if state.hidden.reach else ():
        note_calls(state, query, effect, direct=False)
        _note_carried(state, query, type(query).__name__, effect)


AFTER.append(note_hidden_code)
