"""Queries, functions, procedures and DO blocks: code that may run DDL, and writes to catalogs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.effects.calendar import Unknown
from gpcatalog.effects.constant_queries import ConstantQueries
from gpcatalog.effects.constant_values import Value, literal_of
from gpcatalog.effects.constants import Clock, Constants, same_every_day
from gpcatalog.effects.effect import BLOCK_UNKNOWN, REJECTED, Effect
from gpcatalog.effects.handlers.create_table import columns_of_query, created, set_storage
from gpcatalog.effects.handlers.nodes import cascades
from gpcatalog.effects.handlers.registry import DROPPED, MINOR, handles
from gpcatalog.effects.handlers.session import set_variable
from gpcatalog.effects.keys import fold, qualified, unknown_table
from gpcatalog.effects.plpgsql import Variables
from gpcatalog.effects.presence import Presence
from gpcatalog.effects.query_columns import result_of
from gpcatalog.effects.reach import IN_TEXT, Use
from gpcatalog.effects.relations import Table
from gpcatalog.effects.straight_code import (
    Routine,
    arguments_of,
    forget_routines,
    signature_of,
    statements_of,
)

if TYPE_CHECKING:
    from gpcatalog.effects.schema_state import SchemaState


# functions that create tables: of pg_partman, TimescaleDB, Citus, dblink
_MAKE_TABLES = frozenset(
    """create_parent create_sub_parent create_partition run_maintenance run_maintenance_proc partition_data_time partition_data_id
    undo_partition drop_partition_time drop_partition_id create_hypertable create_distributed_table create_reference_table dblink_exec
    dblink query_to_xml""".split()
)

_MOST = 200_000  # maximum statements of code in one run of `check`: a short loop can run many

_OF_THE_SERVER = ("pg_catalog", "gp_toolkit", "information_schema")

_HANDLER = re.compile(r"\bexception\s+when\b", re.IGNORECASE)
_DDL = re.compile(
    r"\b(?:create|alter|drop|execute|perform|import|refresh|reindex|cluster|discard|call|search_path|set_config|set\s+(?:local\s+|session\s+)?schema|into\s+(?:temp|table|unlogged))\b",
    re.IGNORECASE,
)
# a call of a function that may not be the server's own
_CALL = re.compile(
    r"""\bselect\s+(?!pg_catalog\.|gp_toolkit\.)[\w"]+\.[\w"]+\s*\(""", re.IGNORECASE
)
# a literal after EXECUTE: constant up to the end of the statement, or one that changes rows, with
# anything appended to it
_CONSTANT = re.compile(
    r"\bexecute\s+('(?:[^']|'')*')\s*(?=;|\binto\b|\busing\b|\bloop\b|$)", re.IGNORECASE
)
_CHANGES_ROWS = re.compile(
    r"\bexecute\s+'\s*(?:insert\s+into|update|delete\s+from)\b", re.IGNORECASE
)
# a literal that begins with SELECT, and the rest of the statement
_READS_ROWS = re.compile(
    r"\bexecute\s+('\s*select\b(?:[^']|'')*')((?:[^;']|'(?:[^']|'')*')*)", re.IGNORECASE
)
_NAME_IS_CALLED = re.compile(r"\|\|\s*'\s*\(")  # after a concatenated name
_INTO = re.compile(
    r"^'?\s*(?:with|select)\b[^;]*\binto\b|;\s*select\b[^;]*\binto\b", re.IGNORECASE
)  # it creates a table, except in PL/pgSQL


def may_hold_ddl(body: str) -> bool:
    """Whether the text of a function may run DDL: it has words of DDL, calls unknown functions, or
    runs a text that it concatenates.

    >>> may_hold_ddl("BEGIN EXECUTE 'SELECT 1'; END"), may_hold_ddl("BEGIN EXECUTE 'CREATE TABLE t ()'; END")
    (False, True)
    >>> may_hold_ddl("BEGIN EXECUTE 'DELETE FROM ' || name; END"), may_hold_ddl("BEGIN EXECUTE statement; END")
    (False, True)
    >>> may_hold_ddl("BEGIN EXECUTE 'SELECT count(*) FROM ' || name INTO n; END")
    False
    >>> may_hold_ddl("BEGIN EXECUTE 'SELECT 1' || '; CREATE TABLE t ()'; END")
    True
    """
    body = _CONSTANT.sub(
        lambda found: found[0] if _INTO.search(found[1]) else f" {found[1]} ", body
    )
    body = _CHANGES_ROWS.sub(" ", body)
    body = _READS_ROWS.sub(_read, body)
    return bool(_DDL.search(body) or _CALL.search(body))


def _read(found: re.Match[str]) -> str:
    """Return an EXECUTE of a query without the word EXECUTE, if only the name of a table or a
    string is inserted into the query.

    EXECUTE runs no SELECT INTO; all names and calls in its literals remain in the text.
    """
    query, rest = found[1], found[2]
    reads = re.search(r"\bfrom\b", query, re.IGNORECASE) or query[1:-1].count("''") % 2
    return (
        found[0]
        if _INTO.search(query) or not reads or _NAME_IS_CALLED.search(rest)
        else (f" {query} {rest}")
    )


@handles("Except", "Intersect", "Select", "Union")
def select(state: SchemaState, tree: exp.Expression) -> Effect:
    """SELECT: it may call code, and SELECT INTO creates a table."""
    into = tree.args.get("into")
    if into is None:
        if (run := run_once(state, tree)) is not None:
            return run
        return note_calls(state, tree, set_variable(state, tree))
    schema, name = qualified(into.this)
    temporary = into.args.get("kind") == "TEMPORARY" or schema == "pg_temp"
    schema = ("" if schema == "pg_temp" else schema) if temporary else schema or state.new_objects
    unlogged = into.args.get("kind") == "UNLOGGED"
    table = Table(schema, name, temporary=temporary, unlogged=unlogged)
    set_storage(state, table, "")
    columns_of_query(state, table, tree, [])
    return created(state, table)


def run_once(state: SchemaState, query: object) -> Effect | None:
    """Apply the function with DDL that a query calls once, as its only item in FROM or as its only
    target; None if there is none, or if its effect is unknown.
    """
    if not isinstance(query, exp.Select):
        return None
    calls = list(query.find_all(exp.Anonymous, gx.FunctionCall))
    source = query.args.get("from_")
    # other clauses may skip the function, or run it again
    if (rows := _for_each_row(state, query)) is not None:
        return rows
    usual = {"expressions", "from_", "order", "group", "distinct"}
    limits = query.args.get("limit") or []
    some = all(isinstance(one.this, exp.Literal) and str(one.this.this) != "0" for one in limits)
    if not calls:
        return None
    if source is None:
        usual, some = {"expressions"}, not limits and len(query.expressions) == 1
    place = query.expressions[0] if source is None else source.this.this
    if len(calls) != 1 or calls[0] is not place or not some:
        return None
    if {k for k, v in query.args.items() if v} - usual - {"limit"}:
        return None
    path = calls[0].this if isinstance(calls[0].this, str) else calls[0].this.sql("greenplum")
    name = str(path).lower().replace('"', "").rpartition(".")[2]
    return _run(state, name, calls[0]) if state.hidden.reach.calls(name) else None


def _for_each_row(state: SchemaState, query: exp.Select) -> Effect | None:
    """Apply the function with DDL that is the only target of a query, once for each row of FROM,
    if the rows can be computed; None otherwise.
    """
    target = query.expressions[0].unalias() if len(query.expressions) == 1 else None
    clauses = {k for k, v in query.args.items() if v}
    if not isinstance(target, exp.Anonymous | gx.FunctionCall) or "from_" not in clauses:
        return None
    path = target.this if isinstance(target.this, str) else target.this.sql("greenplum")
    name = str(path).lower().replace('"', "").rpartition(".")[2]
    if not state.hidden.reach.calls(name) or clauses - {"expressions", "from_", "joins", "where"}:
        return None
    arguments = [
        one.expression if type(one).__name__ == "NamedArgument" else one
        for one in target.expressions
    ]
    rows_query = query.copy()
    rows_query.set("expressions", [one.copy() for one in arguments] or [exp.Null()])

    def rows_at(clock: Clock) -> list[tuple[Value, ...]]:
        known = Constants({}, state.routines, clock=clock)
        return ConstantQueries(known, ()).rows(rows_query).rows

    calls = []
    try:
        for row in same_every_day(rows_at, len):
            call = target.copy()
            for one, value in zip(list(call.expressions), row, strict=False):
                named = type(one).__name__ == "NamedArgument"
                (one.expression if named else one).replace(literal_of(value))
            calls.append(call)
    except Unknown:
        return None
    return _run_all(state, name, calls)


def _run_all(state: SchemaState, name: str, calls: Sequence[exp.Expression]) -> Effect | None:
    """Apply a function for each of these calls; None if the first one is unknown."""
    effect = _run(state, name, calls[0]) if calls else Effect(verb="call")
    if effect is None:
        return None
    for call in calls[1:]:
        part = _run(state, name, call)
        if part is None:
            effect.add_unknown(f"effect of {name}()")
            note_code(state, _text_of(state, name), f"effect of {name}()")
            break
        effect.include(part)
    return effect


def _run(state: SchemaState, name: str, call: exp.Expression) -> Effect | None:
    """Apply the statements of a function; None if they do not run one after the other."""
    code = state.code.get(name)
    if code is None or not code.plain or name in state.running or state.existing is not None:
        return None
    if code.given(call, state.routines) is None:
        return None
    state.running.add(name)
    try:
        return _apply(
            state,
            code.body,
            code.language,
            lambda clock: code.given(call, state.routines, clock),
        )
    finally:
        state.running.discard(name)


def _apply(
    state: SchemaState, body: str, language: str, given: Callable[[Clock], Variables | None]
) -> Effect | None:
    trees = statements_of(
        body,
        language,
        state.edition,
        lambda text: not may_hold_ddl(text) and not state.hidden.reach.named_in(_words(text)),
        state.routines,
        given,
        Presence(state),
    )
    if trees is None or state.ran > _MOST:
        return None
    state.ran += len(trees)
    effect = Effect(verb="call")
    handles_errors = _HANDLER.search(body) is not None  # it may continue after an error
    for tree in trees:
        part = state.effect_of(tree)
        part.named = unknown_table(tree)
        if handles_errors:
            part.unknown = [
                "whether a statement of the block fails" if why.startswith(REJECTED) else why
                for why in part.unknown
            ]
        effect.include(part)
    return effect


def note_calls(
    state: SchemaState, tree: exp.Expression, effect: Effect, *, direct: bool = True
) -> Effect:
    """Note calls of functions that may run DDL: functions of this script, and known functions such
    as create_parent().

    direct: the statement is a SELECT; without FROM, a function of another schema may also run DDL
    """
    for call in tree.find_all(exp.Anonymous, gx.FunctionCall):
        path = call.this if isinstance(call.this, str) else call.this.sql("greenplum")
        schema, _, name = str(path).lower().replace('"', "").rpartition(".")
        alone = (
            direct
            and tree.args.get("from_") is None
            and bool(schema)
            and schema.rsplit(".", 1)[-1] not in _OF_THE_SERVER
        )
        other = name not in state.routines and (name in _MAKE_TABLES or alone)
        if other or state.hidden.reach.calls(name):
            effect.add_unknown(f"effect of {path}()")
            note_code(
                state, f"{call.sql('greenplum')} {_text_of(state, name)}", f"effect of {path}()"
            )
    for name in _attributes(tree) if state.hidden.reach else ():
        if state.hidden.reach.calls(name):
            effect.add_unknown(f"effect of {name}()")
            note_code(state, _text_of(state, name), f"effect of {name}()")
    return effect


def _attributes(tree: exp.Expression) -> Iterator[str]:
    """Names that may be columns, or functions whose argument is the row before the dot."""
    for node in tree.find_all(exp.Column, exp.Dot):
        last = node.this if isinstance(node, exp.Column) else node.expression
        if isinstance(last, exp.Identifier) and (
            isinstance(node, exp.Dot) or node.args.get("table")
        ):
            yield fold(last)


def _text_of(state: SchemaState, name: str) -> str:
    """The bodies of a function and of the functions that they name; of all functions, if they name
    a relation that runs code.
    """
    found, pending = dict[str, str](), [name]
    while pending:
        one = pending.pop()
        if one in found or one not in state.bodies:
            continue
        found[one] = state.bodies[one]
        words = _words(found[one])
        if not words.isdisjoint(state.hidden.reach.relations()):
            return " ".join(state.bodies.values())
        pending += words & state.bodies.keys()
    return " ".join(found.values())


@lru_cache(maxsize=64)  # many statements may run the same code
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def note_code(state: SchemaState, text: str, reason: str) -> None:
    """Note tables named in code that runs but is not read."""
    state.opaque = True
    words = _words(text)
    state.code_words.update((word, reason) for word in words if word not in state.code_words)
    for table in state.tables.values():
        if table.name in words:
            table.uncounted = table.uncounted or reason


@handles("DoBlock")
def do_block(state: SchemaState, tree: exp.Expression) -> Effect:
    """DO: its statements, if they run one after the other."""
    text = " ".join(str(x.this) for x in tree.find_all(exp.Heredoc, exp.Literal, exp.RawString))
    language = next(
        (fold(p.args["language"]) for p in tree.args.get("parts") or () if p.args.get("language")),
        "plpgsql",
    )
    named = state.hidden.reach.named_in(_words(text))
    makes = named or may_hold_ddl(text)
    if text and not makes:
        return Effect(verb="call")
    if text and (run := _apply(state, text, language, lambda _: {})) is not None:
        return run
    bodies = " ".join(state.bodies.values()) if named else ""
    note_code(state, f"{text} {bodies}", "effect of a DO block")
    return Effect(verb="call", unknown=[BLOCK_UNKNOWN])


@handles("CreateRule")
def create_rule(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE RULE: a rule ON SELECT converts a table to a view."""
    if re.search(r"\bON\s+SELECT\b", tree.sql("greenplum").upper()):
        table = state.find(tree.args["table"]) if tree.args.get("table") is not None else None
        if table is not None:
            table.may_have_lost = True
        return Effect(unknown=["table that the ON SELECT rule turns into a view"])
    return Effect(minor=[MINOR["CreateRule"]])


def _body(tree: exp.Expression) -> str:
    """Return the text after AS; '' if it is not one constant."""
    bodies = [
        option.this
        for option in tree.args.get("options") or ()
        if str(option.args.get("form")) == "AS"
    ]
    if len(bodies) != 1 or not isinstance(bodies[0], exp.Heredoc | exp.Literal | exp.RawString):
        return ""
    return str(bodies[0].this)


@handles("CreateFunction", "CreateProcedure")
def create_routine(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE FUNCTION and PROCEDURE: store what a call may do."""
    name = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args.get("this"))
    own = " ".join(str(x.this) for x in tree.find_all(exp.Heredoc, exp.Literal, exp.RawString))
    if type(tree).__name__ == "CreateFunction":
        given = (
            result_of(state, tree) if state.existing is None else None
        )  # a database may have other functions of that name
        state.results[name] = given if state.results.get(name, given) == given else None
    language = next(
        (
            fold(o.args["language"])
            for o in tree.args.get("options") or ()
            if o.args.get("language") is not None
        ),
        "",
    )
    signature, body = signature_of(tree), _body(tree)
    # no settings of its own, not run on each segment, no calls in defaults
    plain = bool(body) and not any(
        type(node).__name__ == "FunctionSet"
        or isinstance(node, exp.Anonymous | gx.FunctionCall)
        or "ALL SEGMENTS" in str(node.args.get("form") or "")
        for node in tree.walk()
    )
    known = state.code.get(name, Routine(signature, "", "", True))
    state.code[name] = (
        Routine(signature, language, body, plain, arguments_of(tree))
        if known is not None and known.signature == signature
        else None
    )
    reach = state.hidden.reach
    if may_hold_ddl(own) or (language == "sql" and bool(_INTO.search(own))):
        reach.mark(Use.CALL, name, f"{name}()")
    # names in a body that is not a text, and in defaults
    written = {fold(word) for word in tree.find_all(exp.Identifier)}
    reach.link(Use.CALL, name, f"{name}()", _words(own) | written, *IN_TEXT)
    state.routines.add(name)
    if own not in state.bodies.get(name, ""):
        state.bodies[name] = f"{state.bodies.get(name, '')} {own}"
    return Effect(minor=[MINOR[type(tree).__name__]])


@handles("CreateAggregate")
def create_aggregate(state: SchemaState, tree: exp.Expression) -> Effect:
    """CREATE AGGREGATE: its result depends on its arguments, and its name may be that of a known
    function.
    """
    name = fold(tree.this if isinstance(tree.this, exp.Identifier) else tree.this.args.get("this"))
    state.results[name] = None
    state.routines.add(name)
    return Effect(minor=[MINOR["CreateAggregate"]])


@handles("DropFunction")
def drop_functions(state: SchemaState, tree: exp.Expression) -> Effect:
    """DROP FUNCTION, PROCEDURE or ROUTINE; with CASCADE, relations may depend on them."""
    forget_routines(state, tree, "DropFunction")
    if not cascades(tree):
        return Effect(minor=[DROPPED])
    if _may_be_used(state, tree):
        return Effect(unknown=["effect of DROP FUNCTION"])
    return Effect(minor=[DROPPED])


def _may_be_used(state: SchemaState, tree: exp.Expression) -> bool:
    """Whether a relation may depend on one of the dropped functions: a view, an index, a column by
    its type. As with DROP TABLE IF EXISTS, an unknown function is assumed not to exist.
    """
    names = {
        fold(f.this if isinstance(f.this, exp.Identifier) else f.this.args.get("this"))
        for f in tree.args.get("functions") or [tree.args["function"]]
    }
    if_exists = re.match(r"DROP \w+ IF EXISTS ", tree.sql("greenplum")) is not None
    if not (if_exists or names <= state.routines):
        return True
    if state.existing is not None or state.opaque:
        return True
    keys = [key for table in state.tables.values() for key in (*table.indexes, *table.only)]
    if any(key.expressions or key.predicate or not key.simple for key in keys) or any(
        t.reads for t in state.tables.values()
    ):
        return True
    return bool(state.types.definitions) or any(view.rule for view in state.views.values())


@handles("CallProcedure")
def call_procedure(state: SchemaState, tree: exp.Expression) -> Effect:
    """CALL: like SELECT of a function."""
    called = isinstance(tree.this, exp.Anonymous | gx.FunctionCall)
    this = tree.this.this if called else tree.this
    path = this if isinstance(this, str) else this.sql("greenplum")
    name = str(path).lower().replace('"', "").rpartition(".")[2]
    nested = [
        call for call in tree.find_all(exp.Anonymous, gx.FunctionCall) if call is not tree.this
    ]
    if not nested and state.code.get(name) is not None and state.existing is None:
        if not state.hidden.reach.calls(name):
            return Effect(verb="call")
        if (run := _run(state, name, tree.this)) is not None:
            return run
    note_code(state, _text_of(state, name), "effect of the procedure")
    return Effect(verb="call", unknown=["effect of the procedure"])


@handles("Explain")
def explain(state: SchemaState, tree: exp.Expression) -> Effect:
    """EXPLAIN: with ANALYZE, it runs the statement."""
    inner = tree.args.get("statement")
    makes = isinstance(inner, exp.Create) or any(
        s.args.get("into") is not None for s in tree.find_all(exp.Select)
    )
    if not analyzed(tree) or not isinstance(inner, exp.Expression):
        return Effect()
    return state.effect_of(inner) if makes else note_calls(state, inner, Effect())


def analyzed(tree: exp.Expression) -> bool:
    """Whether EXPLAIN has the option ANALYZE."""
    analyze = bool(tree.args.get("analyze"))
    for option in tree.args.get("options") or ():
        if str(option.this.args.get("form") or "").upper().startswith("ANALY"):
            value = option.args.get("value")
            analyze = value is None or str(value.name or value).lower() not in ("false", "off", "0")
    return analyze


@handles("Insert", "Update", "Delete")
def write_rows(state: SchemaState, tree: exp.Expression) -> Effect:
    """INSERT, UPDATE and DELETE; on a catalog, their effect is unknown."""
    schema, name = qualified(tree.this.this if isinstance(tree.this, exp.Schema) else tree.this)
    by_hand = (
        schema in ("", "pg_catalog")
        and name.startswith(("pg_", "gp_"))
        and (schema, name) not in state.tables
    )
    return Effect(unknown=[f"direct changes to {name}"] if by_hand else [])
