"""Whatever names a table has, the text of a step stays three statements, and every statement inside its block is one of ours."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Outcome, Source, split, statements
from gpcatalog.migration.classic import Classic, partition
from gpcatalog.migration.declarative import Declarative
from gpcatalog.migration.external_tables import outside
from gpcatalog.migration.introspect import Grant, Index, Relation, quote_ident_always
from gpcatalog.migration.operations import (
    Context,
    DropPartitions,
    FlattenLevel,
    IntermediatePartition,
    MoveToExternal,
    NewPartition,
    PartmanReconfigure,
    PathStep,
    ReplacePartitions,
    StagingTable,
    Unit,
    Unpartition,
)
from gpcatalog.migration.partman import follow
from gpcatalog.migration.table_level import lift, plain
from gpcatalog.migration.writer import Writer
from gpcatalog.model.names import qualified
from tests.migration.test_grammar import inside
from tests.migration.test_names import NAMES

WRITERS = {"gp6": Classic(), "gp7": Declarative(greenplum=True), "pg15": Declarative(greenplum=False)}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


def relation(name: str, schema: str, owner: str, comment: str, *, level: int = 1, kind: str = "leaf", key: str = "") -> Relation:
    low = f"FOR VALUES FROM ('2020-01-0{level}') TO ('2020-01-0{level + 1}')"
    return Relation(
        oid=level, parent=0, level=level, kind=kind, schema=schema, name=name, bound=low if level else "", partition=name, is_default=False,
        owner=owner, acl=None, storage="heap", options="", tablespace="", persistence="p", comment=comment, replica_identity="d",
        distribution="", strategy="range" if key else "", key=(key,) if key else (), column_grants=(), has_oids=False, has_template=False,
        split=f"RANGE ({quote_ident_always(key)})" if key else "",
    )  # fmt: skip


def changes(name: str, writer: Writer, names: list[str], text: str) -> list[tuple[str, list[str]]]:
    """Every kind of change of a table of these names, as texts of transactions."""
    schema, table, leaf, owner, column, index, new = names
    root = relation(table, schema, owner, text, level=0, kind="root", key=column)
    one, two = relation(leaf, schema, owner, text), relation(leaf[:20] + "2", schema, owner, text, level=2)
    quoted = quote_ident_always(column)
    context = Context("plan-1", root, (quoted,), (quoted,), f"{quoted} date")
    body = f"CREATE INDEX i ON {root.sql} USING btree ({quoted})"
    made = Index(index, body, "", "", text, "", False, False, True)
    stage = StagingTable(
        "gpc_1", new, schema, one.sql, one, ((one.sql, ""), (two.sql, "")), f"({quoted} > '2020-01-01')", (Grant(owner, ("SELECT",), ()),),
        text, "heap", indexes=((made, index),), slices=(f"({quoted} > '2020-01-01')",) * 2, statistics=((quoted, 5),),
    )  # fmt: skip
    units = tuple(Unit(r, (r,), partition(r.partition)) for r in (one, two))
    bound = "START ('2020-01-01') END ('2020-01-03')" if name == "gp6" else "FOR VALUES FROM ('2020-01-01') TO ('2020-01-03')"
    swap = ReplacePartitions(
        "merge-1",
        text,
        root,
        "",
        units,
        (NewPartition(new, new, bound, (stage,), f"({quoted} > '2020-01-01')"),),
        f"({quoted} > '2020-01-01')",
    )
    found = [
        ("swap", writer.swap(context, swap, done="done", whole=True)),
        ("online", writer.online(context, swap, whole=True)),
        ("drop", writer.drop(context, DropPartitions("drop-1", text, root, "", units), whole=False)),
        (
            "plain",
            plain(
                writer, context,
                Unpartition("plain-1", text, root, (one, two), (one, two), stage, ((qualified(schema, index), quoted),), ((quoted, text),)),
                whole=True,
            ),
        ),
    ]  # fmt: skip
    lists, ranges = ("VALUES ('a')", "START (1) END (2)") if name == "gp6" else ("FOR VALUES IN ('a')", "FOR VALUES FROM (1) TO (2)")
    between = [
        replace(relation(n, schema, owner, text, level=level, kind="intermediate", key=column), has_template=True)
        for level, n in enumerate((leaf, table), 1)
    ]
    grants = (
        Grant(owner, ("SELECT",), ("SELECT",), column),
        Grant(leaf, ("SELECT",), (), column, grantor=owner),
        Grant(owner, ("INSERT",), (), revoked=True),
    )
    middles = (
        IntermediatePartition(new, new, bound, (), between[0], grants, text, partition(leaf), indexes=((made, new),)),
        IntermediatePartition(leaf, leaf, lists, (lists,), between[1], grants, text, partition(table)),
    )
    path = (PathStep(leaf, lists, leaf, partition(leaf)), PathStep(owner, ranges, owner, partition(owner)))
    deep = NewPartition(new, new, bound, (replace(stage, path=path),), f"({quoted} > '2020-01-01')", middles, root)
    gone = Unit(between[0], (two,), partition(leaf), middles)
    found.append(("deep", writer.swap(context, replace(swap, gone=(gone,), made=(deep,)), done="done", whole=True)))
    if name != "pg15":
        where = MoveToExternal("out-1", text, root, "", units[0], one, f"({quoted} > '2020-01-01')", "gpc_x", 30 << 20)
        found.append(("outside", [outside(writer, context, where, whole=True)[1]]))
    if name != "gp6":
        middle = relation(new, schema, owner, text, kind="intermediate", key=column)
        above = replace(middles[0], indexes=((made, index),))
        up = FlattenLevel("lift-1", text, root, middle, two, ((index, new),), f"({quoted} > '2020-01-01')", "true", True, above)
        found.append(("lift", lift(writer, context, up, done="done", whole=True)))
        down = FlattenLevel("undo-lift-1", text, root, middle, two, ((index, new),), f"({quoted} > '2020-01-01')", "true", False, above)
        found.append(("lift back", lift(writer, context, down, done="undone", whole=False)))
    if name == "pg15":
        for version in (4, 5):
            asked = (("partition_interval", "1 month"), ("retention", text))
            now = (("partition_interval", "1 day"), ("retention", text))
            change = PartmanReconfigure("follow-1", text, quote_ident_always(schema), version, f"{schema}.{table}", root, True, now, asked)
            found.append((f"partman {version}", follow(writer, context, change, done="done")))
    return found


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@pytest.mark.parametrize("name", WRITERS)
@given(names=st.lists(NAMES, min_size=7, max_size=7, unique=True), text=TEXT)
@example(names=["0", "1", "2", "00", "000", "0000", "THEN"], text="0")
@example(names=["BEGIN", "DECLARE", "IF", "a'b", 'a"b', "$gpcatalog$", "THEN"], text="THEN 'x' BEGIN")
def test_no_name_escapes(name: str, names: list[str], text: str) -> None:
    usual = changes(name, WRITERS[name], ["s", "t", "l", "o", "c", "i", "n"], "x")
    for (what, hostile), (_, plainly) in zip(changes(name, WRITERS[name], names, text), usual, strict=True):
        for one, other in zip(hostile, plainly, strict=True):
            heads = [one[p.start : p.end].split()[0] for p in split(Source(one))]
            assert heads == ["BEGIN", "DO", "COMMIT"], what
            found = list(inside(one))
            # the same statements as for plain names: nothing more, nothing less
            assert Counter(s.split()[0] for s in found) == Counter(s.split()[0] for s in inside(other)), what
            for statement in found:
                assert [s.outcome for s in statements(Source(statement), editions(name))] == [Outcome.TYPED], (what, statement)
