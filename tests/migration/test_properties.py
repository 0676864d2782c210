"""With any names, the text of a step has three statements, and its block contains only statements of gpcatalog."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpcatalog.dialect.greenplum import editions
from gpcatalog.dialect.script import Outcome, Source, split, statements
from gpcatalog.migration.classic import Classic
from gpcatalog.migration.classic_spelling import partition
from gpcatalog.migration.declarative import Declarative
from gpcatalog.migration.introspect import Grant, Index, Relation, quote_ident_always
from gpcatalog.migration.operations import (
    Context,
    IntermediatePartition,
    NewPartition,
    PathStep,
    StagingTable,
    Unit,
    WriteContext,
)
from gpcatalog.migration.request import Mode, Request
from gpcatalog.migration.steps.drop_empty import DropPartitions
from gpcatalog.migration.steps.external_tables import MoveToExternal
from gpcatalog.migration.steps.flatten import FlattenLevel
from gpcatalog.migration.steps.partman import PartmanReconfigure
from gpcatalog.migration.steps.replace_partitions import ReplacePartitions
from gpcatalog.migration.steps.unpartition import Unpartition
from gpcatalog.migration.writer import Writer
from gpcatalog.model.names import qualified
from gpcatalog.model.server import Server
from tests.migration.test_grammar import inside
from tests.migration.test_names import NAMES

WRITERS = {
    "gp6": Classic(),
    "gp7": Declarative(greenplum=True),
    "pg15": Declarative(greenplum=False),
}
SERVERS = {
    "gp6": Server("Greenplum Database", "6.25.3", "gp6", 90426),
    "gp7": Server("Greenplum Database", "7.0.0", "gp7", 120012),
    "pg15": Server("PostgreSQL", "15.18", "pg15", 150018),
}
TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40
)


def relation(
    name: str,
    schema: str,
    owner: str,
    comment: str,
    *,
    level: int = 1,
    kind: str = "leaf",
    key: str = "",
) -> Relation:
    low = f"FOR VALUES FROM ('2020-01-0{level}') TO ('2020-01-0{level + 1}')"
    return Relation(
        oid=level, parent=0, level=level, kind=kind, schema=schema, name=name, bound=low if level else "", partition=name, is_default=False,
        owner=owner, acl=None, storage="heap", options="", tablespace="", persistence="p", comment=comment, replica_identity="d",
        distribution="", strategy="range" if key else "", key=(key,) if key else (), column_grants=(), has_oids=False, has_template=False,
        split=f"RANGE ({quote_ident_always(key)})" if key else "",
    )  # fmt: skip


def changes(name: str, writer: Writer, names: list[str], text: str) -> list[tuple[str, list[str]]]:
    """The texts of transactions for every kind of change of a table with these names."""
    schema, table, leaf, owner, column, index, new = names
    root = relation(table, schema, owner, text, level=0, kind="root", key=column)
    one, two = (
        relation(leaf, schema, owner, text),
        relation(leaf[:20] + "2", schema, owner, text, level=2),
    )
    quoted = quote_ident_always(column)
    context = Context(
        plan="plan-1", root=root, columns=(quoted,), copied=(quoted,), signature=f"{quoted} date"
    )
    body = f"CREATE INDEX i ON {root.sql} USING btree ({quoted})"
    new_index = Index(index, body, "", "", text, "", False, False, True)
    late = f"({quoted} > '2020-01-01')"
    stage = StagingTable(
        name="gpc_1",
        final=new,
        schema=schema,
        like=one.sql,
        shape=one,
        sources=((one.sql, ""), (two.sql, "")),
        predicate=late,
        grants=(Grant(owner, ("SELECT",), ()),),
        comment=text,
        storage="heap",
        indexes=((new_index, index),),
        slices=(late, late),
        statistics=((quoted, 5),),
    )
    units = tuple(Unit(relation=r, leaves=(r,), address=partition(r.partition)) for r in (one, two))
    bound = (
        "START ('2020-01-01') END ('2020-01-03')"
        if name == "gp6"
        else "FOR VALUES FROM ('2020-01-01') TO ('2020-01-03')"
    )
    swap = ReplacePartitions(
        id="merge-1",
        title=text,
        parent=root,
        above="",
        gone=units,
        new_partitions=(
            NewPartition(name=new, partition=new, bound=bound, stages=(stage,), key=late),
        ),
        range_predicate=late,
        rows=7,
        rests_on=(text,),
    )
    server = SERVERS[name]
    forward, back = (WriteContext(server, Request(), way) for way in (True, False))
    found = [
        ("swap", swap.transactions(writer, context, forward)),
        (
            "online",
            swap.transactions(
                writer, context, WriteContext(server, Request(mode=Mode.ONLINE), True)
            ),
        ),
        (
            "drop",
            DropPartitions(id="drop-1", title=text, parent=root, above="", gone=units).transactions(
                writer, context, back
            ),
        ),
    ]
    plain = Unpartition(
        id="plain-1",
        title=text,
        root=root,
        gone=(one, two),
        leaves=(one, two),
        stage=stage,
        sequences=((qualified(schema, index), quoted),),
        comments=((quoted, text),),
    )
    found.append(("plain", plain.transactions(writer, context, forward)))
    lists, ranges = (
        ("VALUES ('a')", "START (1) END (2)")
        if name == "gp6"
        else ("FOR VALUES IN ('a')", "FOR VALUES FROM (1) TO (2)")
    )
    between = [
        replace(
            relation(n, schema, owner, text, level=level, kind="intermediate", key=column),
            has_template=True,
        )
        for level, n in enumerate((leaf, table), 1)
    ]
    grants = (
        Grant(owner, ("SELECT",), ("SELECT",), column),
        Grant(leaf, ("SELECT",), (), column, grantor=owner),
        Grant(owner, ("INSERT",), (), revoked=True),
    )
    middles = (
        IntermediatePartition(
            name=new,
            label=new,
            bound=bound,
            path=(),
            like=between[0],
            grants=grants,
            comment=text,
            address=partition(leaf),
            indexes=((new_index, new),),
        ),
        IntermediatePartition(
            name=leaf,
            label=leaf,
            bound=lists,
            path=(lists,),
            like=between[1],
            grants=grants,
            comment=text,
            address=partition(table),
        ),
    )
    path = (
        PathStep(leaf, lists, leaf, partition(leaf)),
        PathStep(owner, ranges, owner, partition(owner)),
    )
    deep = NewPartition(
        name=new,
        partition=new,
        bound=bound,
        stages=(replace(stage, path=path),),
        key=late,
        middles=middles,
        columns=root,
    )
    removed = Unit(relation=between[0], leaves=(two,), address=partition(leaf), middles=middles)
    found.append(
        (
            "deep",
            replace(swap, gone=(removed,), new_partitions=(deep,)).transactions(
                writer, context, forward
            ),
        )
    )
    if name != "pg15":
        external = MoveToExternal(
            id="out-1",
            title=text,
            parent=root,
            above="",
            gone=units[:1],
            leaf=one,
            predicate=late,
            name="gpc_x",
            file_bytes=30 << 20,
        )
        found.append(("external", [external.transactions(writer, context, forward)[1]]))
        found.append(
            (
                "external back",
                replace(external, id="undo-out-1", stage=stage).transactions(writer, context, back),
            )
        )
    if name != "gp6":
        up = FlattenLevel(
            id="flatten-1",
            title=text,
            parent=root,
            middle=relation(new, schema, owner, text, kind="intermediate", key=column),
            leaf=two,
            indexes=((index, new),),
            predicate=late,
            leaf_predicate="true",
            up=True,
            above=replace(middles[0], indexes=((new_index, index),)),
        )
        found.append(("flatten", up.transactions(writer, context, forward)))
        found.append(
            (
                "flatten back",
                replace(up, id="undo-flatten-1", up=False).transactions(writer, context, back),
            )
        )
    if name == "pg15":
        for version in (4, 5):
            change = PartmanReconfigure(
                id="follow-1",
                title=text,
                home=quote_ident_always(schema),
                version=version,
                table=f"{schema}.{table}",
                root=root,
                time=True,
                now=(("partition_interval", "1 day"), ("retention", text)),
                wanted=(("partition_interval", "1 month"), ("retention", text)),
            )
            found.append((f"partman {version}", change.transactions(writer, context, forward)))
    return found


@pytest.mark.long
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@pytest.mark.parametrize("name", WRITERS)
@given(names=st.lists(NAMES, min_size=7, max_size=7, unique=True), text=TEXT)
@example(names=["0", "1", "2", "00", "000", "0000", "THEN"], text="0")
@example(
    names=["BEGIN", "DECLARE", "IF", "a'b", 'a"b', "$gpcatalog$", "THEN"], text="THEN 'x' BEGIN"
)
def test_no_name_escapes(name: str, names: list[str], text: str) -> None:
    usual = changes(name, WRITERS[name], ["s", "t", "l", "o", "c", "i", "n"], "x")
    for (what, hostile), (_, plainly) in zip(
        changes(name, WRITERS[name], names, text), usual, strict=True
    ):
        for one, other in zip(hostile, plainly, strict=True):
            heads = [one[p.start : p.end].split()[0] for p in split(Source(one))]
            assert heads == ["BEGIN", "DO", "COMMIT"], what
            found = list(inside(one))
            # the same statements as for simple names
            assert Counter(s.split()[0] for s in found) == Counter(
                s.split()[0] for s in inside(other)
            ), what
            for statement in found:
                assert [s.outcome for s in statements(Source(statement), editions(name))] == [
                    Outcome.TYPED
                ], (what, statement)
