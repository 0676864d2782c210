"""CREATE TABLE, VIEW and INDEX written as SQL."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from gpcatalog.dialect import expressions as gx
from gpcatalog.dialect.write_expressions import listed, text


def write_storage_option(g: Any, e: gx.StorageOption) -> str:
    """Return the SQL of a storage option."""
    out = text(g, e.this)
    if e.args.get("namespace") is not None:
        out = f"{text(g, e.args['namespace'])}.{out}"
    value = e.args.get("value")
    return out if value is None else f"{out} = {text(g, value)}"


def write_distributed(g: Any, e: exp.DistributedByProperty) -> str:
    """Return the SQL of DISTRIBUTED."""
    kind = e.text("kind").upper()
    if kind in ("RANDOM", "RANDOMLY"):
        return "DISTRIBUTED RANDOMLY"
    if kind == "REPLICATED":
        return "DISTRIBUTED REPLICATED"
    return f"DISTRIBUTED BY ({listed(g, e.expressions)})"


def write_partition_key(g: Any, e: gx.PartitionKey) -> str:
    """Return the SQL of a partition key."""
    out = text(g, e.this)
    if e.args.get("collate") is not None:
        out += f" COLLATE {text(g, e.args['collate'])}"
    return out + (f" {text(g, e.args['opclass'])}" if e.args.get("opclass") is not None else "")


def write_column_constraint(g: Any, e: exp.ColumnConstraint) -> str:
    """Return the SQL of a column constraint."""
    name = e.args.get("this")
    return (f"CONSTRAINT {text(g, name)} " if name is not None else "") + text(g, e.args["kind"])


def write_column_def(g: Any, e: exp.ColumnDef) -> str:
    """Return the SQL of a column definition."""
    out = [text(g, e.this)]
    if e.args.get("kind") is not None:
        out.append(text(g, e.args["kind"]))
    if e.args.get("with_options"):
        out.append("WITH OPTIONS")
    out += [text(g, c) for c in e.args.get("constraints") or ()]
    return " ".join(out)


def write_key(g: Any, e: gx.KeyConstraint) -> str:
    """Return the SQL of a key constraint."""
    args = e.args
    out = [args["kind"]]
    if args.get("nulls"):
        out.append(f"NULLS {args['nulls']}")
    if args.get("index") is not None:
        return " ".join(
            [*out, text(g, args["index"])]
            if out[0] == "NOT NULL"
            else [*out, "USING INDEX", text(g, args["index"])]
        )
    if e.expressions:
        out.append(
            f"({listed(g, e.expressions)}{' WITHOUT OVERLAPS' if args.get('overlaps') else ''})"
        )
    if args.get("include"):
        out.append(f"INCLUDE ({listed(g, args['include'])})")
    out += _key_tail(g, args)
    return " ".join(out)


def _key_tail(g: Any, args: dict[str, Any]) -> list[str]:
    out = []
    if args.get("definition"):
        out.append(f"WITH ({listed(g, args['definition'])})")
    if args.get("tablespace") is not None:
        out.append(f"USING INDEX TABLESPACE {text(g, args['tablespace'])}")
    return out


def write_references(g: Any, e: gx.ReferencesConstraint) -> str:
    """Return the SQL of a references constraint."""
    args = e.args
    out = []
    if args.get("columns"):
        out.append(f"FOREIGN KEY ({listed(g, args['columns'])})")
    out.append(f"REFERENCES {text(g, e.this)}")
    if e.expressions:
        out.append(f"({listed(g, e.expressions)})")
    if args.get("match"):
        out.append(f"MATCH {args['match']}")
    for action in args.get("actions") or ():
        columns = action.args.get("expressions")
        tail = f" ({listed(g, columns)})" if columns else ""
        out.append(f"ON {action.args['event']} {action.args['action']}{tail}")
    return " ".join(out)


def write_exclude(g: Any, e: gx.ExcludeConstraint) -> str:
    """Return the SQL of an exclude constraint."""
    args = e.args
    out = ["EXCLUDE"]
    if args.get("using") is not None:
        out.append(f"USING {text(g, args['using'])}")
    out.append(f"({listed(g, e.expressions)})")
    if args.get("include"):
        out.append(f"INCLUDE ({listed(g, args['include'])})")
    out += _key_tail(g, args)
    if args.get("where") is not None:
        out.append(f"WHERE ({text(g, args['where'])})")
    return " ".join(out)


def write_generated(g: Any, e: gx.GeneratedConstraint) -> str:
    """Return the SQL of a generated constraint."""
    args = e.args
    if args.get("identity"):
        options = args.get("options")
        return (
            f"GENERATED {args['when']} AS"
            f" IDENTITY{' ' + text(g, options) if options is not None else ''}"
        )
    return (
        f"GENERATED {args['when']} AS ({text(g, e.this)}){' STORED' if args.get('stored') else ''}"
    )


def write_table_constraint(g: Any, e: gx.TableConstraint) -> str:
    """Return the SQL of a table constraint."""
    name = e.args.get("this")
    out = [f"CONSTRAINT {text(g, name)}" if name is not None else "", text(g, e.args["kind"])]
    out += [text(g, a) for a in e.args.get("attributes") or ()]
    return " ".join(o for o in out if o)


def write_like(g: Any, e: gx.LikeClause) -> str:
    """Return the SQL of a like clause."""
    return " ".join([f"LIKE {text(g, e.this)}", *(e.args.get("expressions") or ())])


def write_index_element(g: Any, e: gx.IndexElement) -> str:
    """Return the SQL of an index element."""
    args = e.args
    out = [text(g, e.this)]
    if args.get("collate") is not None:
        out.append(f"COLLATE {text(g, args['collate'])}")
    if args.get("opclass") is not None:
        out.append(text(g, args["opclass"]))
    if args.get("options"):
        out.append(f"({listed(g, args['options'])})")
    if args.get("order"):
        out.append(args["order"])
    if args.get("nulls"):
        out.append(f"NULLS {args['nulls']}")
    return " ".join(out)


def write_index_body(g: Any, e: gx.IndexBody) -> str:
    """Return the SQL of an index body."""
    args = e.args
    out = [f"USING {text(g, args['using'])}"] if args.get("using") is not None else []
    out.append(f"({listed(g, args['columns'])})")
    if args.get("include"):
        out.append(f"INCLUDE ({listed(g, args['include'])})")
    if args.get("nulls"):
        out.append(f"NULLS {args['nulls']}")
    if args.get("with_storage"):
        out.append(f"WITH ({listed(g, args['with_storage'])})")
    if args.get("tablespace") is not None:
        out.append(f"TABLESPACE {text(g, args['tablespace'])}")
    if args.get("where") is not None:
        out.append(f"WHERE {text(g, args['where'])}")
    return " ".join(out)


def write_schema(g: Any, e: exp.Schema) -> str:
    """Return the SQL of a schema."""
    return f"{text(g, e.this)} ({listed(g, e.expressions)})"


def _partition_of(g: Any, e: exp.PartitionedOfProperty) -> str:
    return f"PARTITION OF {text(g, e.this)}"


def write_external_format(g: Any, e: gx.ExternalFormat) -> str:
    """Return the SQL of an external format."""
    options = e.args.get("options")
    return f"FORMAT {text(g, e.this)}{' ' + text(g, options) if options is not None else ''}"


_OURS = (
    exp.UnloggedProperty, exp.TemporaryProperty, exp.DistributedByProperty, exp.PartitionedOfProperty, exp.InheritsProperty,
    exp.TableSpaceProperty,
)  # fmt: skip


def _ours(e: exp.Create) -> bool:
    kind = e.args.get("kind")
    if kind not in (
        "TABLE",
        "VIEW",
        "MATERIALIZED VIEW",
        "INDEX",
        "EXTERNAL TABLE",
        "FOREIGN TABLE",
    ):
        return False
    if kind == "INDEX" and not isinstance(e.this.args.get("params"), gx.IndexBody):
        return False
    properties = e.args.get("properties")
    return properties is None or all(
        isinstance(p, _OURS)
        or type(p).__module__ == gx.__name__
        or isinstance(p, gx.StorageOptions)
        for p in properties.expressions
    )


def _create_index(g: Any, e: exp.Create, exists: str) -> str:
    """Return the SQL of CREATE INDEX; exists: IF NOT EXISTS with a space after it, or ""."""
    out = ["CREATE"]
    index = e.this
    out += ["UNIQUE"] if e.args.get("unique") else []
    out += ["INDEX"] + (["CONCURRENTLY"] if e.args.get("concurrently") else [])
    name = index.args.get("this")
    out.append(
        exists
        + (text(g, name) + " " if name is not None else "")
        + "ON "
        + text(g, index.args["table"])
    )
    out.append(text(g, index.args["params"]))
    return " ".join(out)


def _create_words(e: exp.Create, properties: list[exp.Expression]) -> list[str]:
    """The words from CREATE to the kind of object, such as TABLE."""
    out = ["CREATE"]
    if e.args.get("replace"):
        out.append("OR REPLACE")
    words = e.args["kind"]
    for p in properties:
        if isinstance(p, exp.UnloggedProperty):
            out.append("UNLOGGED")
        elif isinstance(p, exp.TemporaryProperty):
            out.append("TEMPORARY")
    for p in properties:
        if isinstance(p, gx.RecursiveView):
            out.append("RECURSIVE")
        elif isinstance(p, gx.ExternalKind):
            head = [p.args.get("this") or "", "EXTERNAL", "WEB" if p.args.get("web") else ""]
            out = ["CREATE", *(h for h in head if h), *out[1:]]
            words = "TABLE"
    return [*out, words]


def create(g: Any, e: exp.Create) -> str:
    """Return the SQL of a CREATE of this dialect; trees of other dialects are written by
    sqlglot.
    """
    if not _ours(e):
        return str(g.create_sql(e))
    args = e.args
    properties = list(args["properties"].expressions) if args.get("properties") is not None else []
    exists = "IF NOT EXISTS " if args.get("exists") else ""
    if args["kind"] == "INDEX":
        return _create_index(g, e, exists)
    out = _create_words(e, properties)
    out.append(exists + text(g, e.this.this if isinstance(e.this, exp.Schema) else e.this))
    columns = f"({listed(g, e.this.expressions)})" if isinstance(e.this, exp.Schema) else ""
    query = args.get("expression")
    lead: list[str] = []
    bound = ""
    for p in properties:
        if isinstance(p, gx.OfType):
            lead.append(f"OF {text(g, p.this)}")
        elif isinstance(p, exp.PartitionedOfProperty):
            lead.append(_partition_of(g, p))
            bound = text(g, p.expression)
    out += lead
    if columns:
        out.append(columns)
    if bound:
        out.append(bound)
    late: list[str] = []
    after_query = (exp.DistributedByProperty, gx.PartitionBy, gx.WithData)
    skipped = (
        exp.UnloggedProperty,
        exp.TemporaryProperty,
        gx.RecursiveView,
        gx.ExternalKind,
        gx.OfType,
        exp.PartitionedOfProperty,
    )
    for p in properties:
        if isinstance(p, skipped):
            continue
        if query is not None and isinstance(p, (*after_query, gx.CheckOption)):
            late.append(text(g, p))
        else:
            out.append(text(g, p))
    if query is not None:
        out += ["AS", text(g, query), *late]
    return " ".join(o for o in out if o)


def write_sql_body(g: Any, e: gx.SqlBody) -> str:
    """Return the SQL of an SQL body of a function."""
    if not e.args.get("atomic"):
        return f"RETURN {listed(g, e.expressions)}"
    inside = "".join(f" {text(g, x)};" for x in e.expressions)
    return f"BEGIN ATOMIC{inside} END"
