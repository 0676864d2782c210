"""Queries and DML written as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.write_expressions import Writer, listed, text, write_alias

if TYPE_CHECKING:
    pass


def write_sort_key(g: Any, e: gx.SortKey) -> str:
    """Return the SQL of a sort key."""
    out = [text(g, e.this)]
    if e.args.get("using"):
        out += ["USING", text(g, e.args["using"])]
    if e.args.get("order"):
        out.append(e.args["order"])
    if e.args.get("nulls"):
        out.append("NULLS " + e.args["nulls"])
    return " ".join(out)


def write_limit_clause(g: Any, e: gx.LimitClause) -> str:
    """Return the SQL of a limit clause."""
    kind, value, rows = e.args["kind"], e.args.get("this"), e.args.get("rows")
    if kind == "FETCH":
        return " ".join(
            p
            for p in (
                "FETCH FIRST",
                text(g, value) if value is not None else "",
                "ROWS",
                rows or "ONLY",
            )
            if p
        )
    return " ".join(p for p in (kind, text(g, value) if value is not None else "", rows or "") if p)


def write_lock(g: Any, e: gx.LockClause) -> str:
    """Return the SQL of a lock clause."""
    out = "FOR " + e.args["strength"]
    if e.expressions:
        out += " OF " + listed(g, e.expressions)
    return str(out + (" " + e.args["wait"] if e.args.get("wait") else ""))


def write_tail(g: Any, e: exp.Expression) -> str:
    """Return ORDER BY, LIMIT and locks after a query."""
    out = []
    if e.args.get("order") is not None:
        out.append(text(g, e.args["order"]))
    limit = e.args.get("limit")
    if isinstance(limit, list):
        out += [text(g, part) for part in limit]
    elif limit is not None:
        out.append(text(g, limit).strip())
    for part in e.args.get("locks") or ():
        out.append(text(g, part))
    return "".join(" " + part for part in out)


def write_with(g: Any, e: exp.Expression) -> str:
    """Return the WITH clause before a query."""
    with_ = e.args.get("with_")
    if with_ is None:
        return ""
    return (
        f"WITH {'RECURSIVE ' if with_.args.get('recursive') else ''}{listed(g, with_.expressions)} "
    )


def write_cte(g: Any, e: exp.CTE) -> str:
    """Return the SQL of a common table expression."""
    materialized = e.args.get("materialized")
    words = "" if materialized is None else "MATERIALIZED " if materialized else "NOT MATERIALIZED "
    return f"{write_alias(g, e.args['alias'])} AS {words}({text(g, e.this)})"


def write_joins(g: Any, joins: Any) -> str:
    """Return the SQL of joins."""
    return "".join(text(g, j) for j in joins or ())


def write_join(g: Any, e: exp.Join) -> str:
    """Return the SQL of a join."""
    args = e.args
    words = [args.get(k) for k in ("method", "side", "kind") if args.get(k)]
    on, using = args.get("on"), args.get("using")
    if not words and on is None and not using:
        return f", {text(g, e.this)}"
    out = f" {' '.join([*words, 'JOIN'])} {text(g, e.this)}"  # type: ignore[list-item]
    if on is not None:
        out += f" ON {text(g, on)}"
    elif using:
        out += f" USING ({listed(g, using)})"
    return out


def write_joined(g: Any, e: gx.JoinedTable) -> str:
    """Return the SQL of a joined table."""
    out = text(g, e.this) + write_joins(g, e.args.get("joins"))
    alias = e.args.get("alias")
    if e.args.get("parens"):
        out = f"({out})"
    return f"{out} AS {write_alias(g, alias)}" if alias else out


def _select(g: Any, e: exp.Select) -> str:
    args = e.args
    out = [write_with(g, e) + "SELECT"]
    distinct = args.get("distinct")
    if distinct is not None:
        on = distinct.args.get("on")
        out.append(f"DISTINCT ON ({listed(g, on.expressions)})" if on is not None else "DISTINCT")
    if e.expressions:
        out.append(listed(g, e.expressions))
    if args.get("into") is not None:
        out.append(text(g, args["into"]))
    if args.get("from_") is not None:
        out.append(f"FROM {text(g, args['from_'].this)}{write_joins(g, args.get('joins'))}")
    if args.get("where") is not None:
        out.append(text(g, args["where"]))
    group = args.get("group")
    if group is not None:
        out.append(
            "GROUP BY"
            f" {group.args['all'] + ' ' if group.args.get('all') else ''}{listed(g, group.expressions)}"
        )
    if args.get("having") is not None:
        out.append(f"HAVING {text(g, args['having'].this)}")
    if args.get("windows"):
        out.append(f"WINDOW {listed(g, args['windows'])}")
    return " ".join(out) + write_tail(g, e)


_FOREIGN_SELECT = frozenset(
    (
        "qualify",
        "laterals",
        "pivots",
        "hint",
        "kind",
        "operation_modifiers",
        "connect",
        "match",
        "sample",
        "sort",
        "cluster",
        "exclude",
    )
)


def select(g: Any, e: exp.Select) -> str:
    """Return the SQL of a query of this dialect; trees of other dialects are written by sqlglot."""
    limit = e.args.get("limit")
    if (
        any(e.args.get(k) for k in _FOREIGN_SELECT)
        or (limit is not None and not isinstance(limit, list))
        or e.args.get("offset")
    ):
        return str(g.select_sql(e))
    return _select(g, e)


def write_set_operation(word: str) -> Writer:
    """Return the writer of UNION, INTERSECT or EXCEPT."""

    def writer(g: Any, e: exp.SetOperation) -> str:
        every = "" if e.args.get("distinct") else " ALL"
        return (
            f"{write_with(g, e)}{text(g, e.this)} {word}{every}"
            f" {text(g, e.expression)}{write_tail(g, e)}"
        )

    return writer


def write_subquery(g: Any, e: exp.Subquery) -> str:
    """Return the SQL of a subquery."""
    out = f"{write_with(g, e)}({text(g, e.this)})"
    alias = e.args.get("alias")
    return (f"{out} AS {write_alias(g, alias)}" if alias else out) + write_tail(g, e)


def write_values(g: Any, e: exp.Values) -> str:
    """Return the SQL of VALUES."""
    rows = ", ".join(f"({listed(g, row.expressions)})" for row in e.expressions)
    out = f"{write_with(g, e)}VALUES {rows}{write_tail(g, e)}"
    alias = e.args.get("alias")
    return f"({out}) AS {write_alias(g, alias)}" if alias else out


def write_from_item(g: Any, e: gx.FromItem) -> str:
    """Return the SQL of a from item."""
    args = e.args
    out = ("LATERAL " if args.get("lateral") else "") + text(g, e.this)
    if args.get("portion") is not None:
        out += f" {text(g, args['portion'])}"
    if args.get("ordinality"):
        out += " WITH ORDINALITY"
    alias, definitions = args.get("alias"), args.get("definitions")
    if alias is not None:
        out += f" AS {write_alias(g, alias)}"
    if definitions:
        out += f"{'' if alias is not None else ' AS'} ({listed(g, definitions)})"
    return out + (f" {text(g, args['sample'])}" if args.get("sample") is not None else "")


def write_sampling(g: Any, e: gx.TableSampling) -> str:
    """Return the SQL of a table sampling."""
    seed = e.args.get("seed")
    return f"TABLESAMPLE {text(g, e.this)} ({listed(g, e.expressions)})" + (
        f" REPEATABLE ({text(g, seed)})" if seed is not None else ""
    )


def write_scattered(g: Any, e: gx.ScatteredQuery) -> str:
    """Return the SQL of a scattered query."""
    tail = (
        " SCATTER RANDOMLY"
        if e.args.get("randomly")
        else f" SCATTER BY {listed(g, e.expressions)}"
        if e.expressions
        else ""
    )
    return f"TABLE({text(g, e.this)}{tail})"


def write_insert(g: Any, e: exp.Insert) -> str:
    """Return the SQL of an insert."""
    args = e.args
    if (
        "default" not in args
        and "conflict" in args
        and not isinstance(args["conflict"], gx.WindowFrame)
        and args["conflict"] is not None
    ):
        return str(g.insert_sql(e))
    target = e.this
    target_sql = (
        f"{text(g, target.this)} ({listed(g, target.expressions)})"
        if isinstance(target, exp.Schema)
        else text(g, target)
    )
    out = [f"{write_with(g, e)}INSERT INTO {target_sql}"]
    if args.get("overriding"):
        out.append(f"OVERRIDING {args['overriding']} VALUE")
    out.append("DEFAULT VALUES" if args.get("default") else text(g, args["expression"]))
    if args.get("conflict") is not None:
        out.append(text(g, args["conflict"]))
    if args.get("returning") is not None:
        out.append(write_returning(g, args["returning"]))
    return " ".join(out)


def write_returning(g: Any, e: exp.Returning) -> str:
    """Return the SQL of RETURNING."""
    names = f"WITH ({listed(g, e.args['names'])}) " if e.args.get("names") else ""
    return f"RETURNING {names}{listed(g, e.expressions)}"


def write_update(g: Any, e: exp.Update) -> str:
    """Return the SQL of an update."""
    args = e.args
    out = [f"{write_with(g, e)}UPDATE {text(g, e.this)} SET {listed(g, e.expressions)}"]
    if args.get("from_") is not None:
        out.append(f"FROM {text(g, args['from_'].this)}{write_joins(g, args.get('joins'))}")
    if args.get("where") is not None:
        out.append(text(g, args["where"]))
    if args.get("returning") is not None:
        out.append(write_returning(g, args["returning"]))
    return " ".join(out)


def write_delete(g: Any, e: exp.Delete) -> str:
    """Return the SQL of a delete."""
    args = e.args
    out = [f"{write_with(g, e)}DELETE FROM {text(g, e.this)}"]
    using = args.get("using")
    if using is not None:
        items = text(g, using.this) if isinstance(using, exp.From) else listed(g, using)
        out.append(f"USING {items}{write_joins(g, args.get('joins'))}")
    if args.get("where") is not None:
        out.append(text(g, args["where"]))
    if args.get("returning") is not None:
        out.append(write_returning(g, args["returning"]))
    return " ".join(out)


def write_set_columns(g: Any, e: gx.SetColumns) -> str:
    """Return the SQL of set columns."""
    columns = listed(g, e.args["columns"])
    return (
        f"({columns}) = {text(g, e.this)}"
        if e.args.get("wrapped")
        else f"{columns} = {text(g, e.this)}"
    )


def write_into(g: Any, e: gx.IntoTarget) -> str:
    """Return the SQL of an into target."""
    kind = e.args.get("kind")
    return f"INTO {kind + ' ' if kind else ''}TABLE {text(g, e.this)}"


def write_grouping(g: Any, e: gx.GroupingItem) -> str:
    """Return the SQL of a grouping item."""
    return f"{e.this} ({listed(g, e.expressions)})".strip() if e.this else "()"


# --- tables ---------------------------------------------------------------------------------------
