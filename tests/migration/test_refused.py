"""Obstacles that were created between a plan and its migration: each table has one, and is refused for its own reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made
from tests.recorded import FIXTURES

# By table: the statements after the plan, and words of the reason. {t} is the table, {l}, {m}, {n} and {o} are its leaves
Obstacles = Mapping[str, tuple[tuple[str, ...], str]]

EVERYWHERE: Obstacles = {
    "free": ((), ""),
    "gone": (("DROP TABLE {t}",), "does not exist any more or is no longer partitioned"),
    "moved": (("ALTER TABLE {t} RENAME TO {t}x",), "it was renamed to public.{t}x"),
    "view": (("CREATE VIEW {t}_v AS SELECT v FROM {l}",), "a view uses it: {l} ({t}_v)"),
    "rule": (
        ("CREATE RULE no AS ON DELETE TO {l} DO INSTEAD NOTHING",),
        "it has a rule: {l} (no)",
    ),
    "trigger": (
        (
            "CREATE TRIGGER own BEFORE UPDATE ON {l} FOR EACH ROW EXECUTE PROCEDURE suppress_redundant_updates_trigger()",
        ),
        "it has its own trigger: {l} (own)",
    ),
    "owner": (("CREATE SEQUENCE {t}_s OWNED BY {l}.id",), "it owns a sequence"),
    "used": (
        ("CREATE FUNCTION {t}_f({l}) RETURNS int LANGUAGE sql AS 'SELECT 1'",),
        "another object depends on it: {l} (function {t}_f)",
    ),
    "typed": (("COMMENT ON TYPE {m} IS 'row'",), "its row type has privileges or a comment"),
    "member": (("ALTER EXTENSION plpgsql ADD TABLE {l}",), "an extension owns it"),
    "unique": (("CREATE UNIQUE INDEX {t}_u ON {l} (id)",), "it has its own index"),
    # the same number of indexes on each leaf, so that a plan cannot distinguish the leaves by it
    "indexed": (
        (
            "CREATE INDEX {t}_i ON {l} (v)",
            "CREATE INDEX {t}_j ON {m} (lower(v)) WHERE id > 1",
            "CREATE INDEX {t}_k ON {n} (d)",
            "CREATE INDEX {t}_o ON {o} (d)",
        ),
        "",
    ),
    "target": (("ALTER TABLE {l} ALTER COLUMN v SET STATISTICS 0",), ""),
    "filled": (
        ("ALTER TABLE {m} SET (fillfactor = 50)",),
        "changed since it was planned: storage options of {m}; plan again",
    ),
}
DECLARATIVE: Obstacles = {
    "below": (
        ("ALTER TABLE {l} ADD FOREIGN KEY (id) REFERENCES other (id)",),
        "a foreign key",
    ),
    "checked": (
        ("ALTER TABLE {m} ADD CONSTRAINT odd CHECK (id > 0)",),
        "it has its own CHECK, which the other rows may violate: {m} (odd)",
    ),
    "empty": (
        ("DROP TABLE {t}_1, {t}_2, {t}_3, {t}_4",),
        "does not exist any more or is no longer partitioned",
    ),
    "less": (("DROP TABLE {t}_2",), "changed since it was planned: {t}_2 is gone"),
    "named": (("ALTER TABLE {t}_3 RENAME TO {t}_a",), "{t}_3 is now called {t}_a"),
    "first": (("ALTER TABLE {t}_3 RENAME TO {t}_0",), "{t}_3 is now called {t}_0"),
    "wider": (
        (
            "ALTER TABLE {t} DETACH PARTITION {t}_4",
            "ALTER TABLE {t} ATTACH PARTITION {t}_4 FOR VALUES FROM ('2020-01-04') TO ('2020-01-09')",
        ),
        "{t}_4 had the bound FOR VALUES FROM ('2020-01-04') TO ('2020-01-05') and has",
    ),
    "split": (
        (
            "DROP TABLE {t}_2",
            "CREATE TABLE {t}_2 PARTITION OF {t} FOR VALUES FROM ('2020-01-02') TO ('2020-01-03') PARTITION BY LIST (id)",
            "CREATE TABLE {t}_2_all PARTITION OF {t}_2 DEFAULT",
        ),
        "changed since it was planned: it has other leaves now",
    ),
    "root": (
        ("ALTER TABLE {t} ADD CONSTRAINT far FOREIGN KEY (id) REFERENCES other (id)",),
        "a foreign key (far)",
    ),
    "policed": (("CREATE POLICY own ON {l}",), "it has its own row policy: {l} (own)"),
    "secured": (("ALTER TABLE {l} ENABLE ROW LEVEL SECURITY",), "it has its own row security"),
    "forced": (("ALTER TABLE {l} FORCE ROW LEVEL SECURITY",), "it has its own row security"),
    "partly": (("ALTER TABLE {m} SET UNLOGGED",), "only some of its leaves are unlogged"),
    "excluding": (
        ("ALTER TABLE {l} ADD CONSTRAINT none EXCLUDE USING btree (id WITH =)",),
        "it has an exclusion constraint: {l} (none)",
    ),
    "unready": (("CREATE INDEX {t}_i ON ONLY {t} (id)",), "index {t}_i is not valid"),
}
POSTGRESQL: Obstacles = {
    "referenced": (
        (
            "ALTER TABLE {t} ADD PRIMARY KEY (id, d)",
            "CREATE TABLE {t}_from (id int, d date, CONSTRAINT far FOREIGN KEY (id, d) REFERENCES {t})",
        ),
        "a foreign key references it (far)",
    ),
    "published": (
        ("CREATE PUBLICATION own FOR TABLE {l}",),
        "a publication names it: {l} (own)",
    ),
    # its first leaf is older than the table
    "older": (
        (
            "CREATE INDEX {t}_i ON {l} (id)",
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{t}_i'::regclass",
        ),
        "it has an invalid index: {l} ({t}_i)",
    ),
    "public": (
        ("CREATE PUBLICATION of_root FOR TABLE {t}",),
        "publication of_root publishes it",
    ),
}
# before PostgreSQL 17, a partition can have an identity column of its own
IDENTITY: Obstacles = {
    "identity": (
        (
            "ALTER TABLE {l} ALTER COLUMN id SET NOT NULL",
            "ALTER TABLE {l} ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY",
        ),
        "it owns a sequence, which would be dropped too: {l} ({l}_id_seq)",
    ),
}
CLASSIC: Obstacles = {
    "less": (
        ("ALTER TABLE {t} DROP PARTITION FOR (RANK(2))",),
        "changed since it was planned: {m} is gone",
    ),
    "columns": (("GRANT SELECT (v) ON {l} TO mig_reader",), "it has grants on columns"),
    "all_columns": (
        ("GRANT SELECT (v) ON {t} TO mig_reader",),
        "grants on columns",
    ),
    "root": (
        ("ALTER TABLE {t} ADD CONSTRAINT far FOREIGN KEY (id) REFERENCES other (id)",),
        "a foreign key",
    ),
    "ruled": (
        ("CREATE RULE no AS ON DELETE TO {t} DO INSTEAD NOTHING",),
        "it has a rule",
    ),
    "fired": (
        (
            "CREATE TRIGGER own BEFORE UPDATE ON {t} FOR EACH ROW EXECUTE PROCEDURE suppress_redundant_updates_trigger()",
        ),
        "it has its own trigger",
    ),
    "later": (
        ("ALTER TABLE {t} ADD CONSTRAINT late CHECK (id > 0) NOT VALID",),
        "check constraint late is not valid",
    ),
    "elsewhere": (
        ("ALTER TABLE {m} SET SCHEMA away",),
        "it has partitions in schema away, but new ones would be created in public",
    ),
    "outside": (
        (
            "CREATE EXTERNAL WEB TABLE {t}_x (LIKE {t}) EXECUTE 'true' ON MASTER FORMAT 'TEXT'",
            "ALTER TABLE {t} EXCHANGE PARTITION FOR (RANK(1)) WITH TABLE {t}_x WITHOUT VALIDATION",
        ),
        "this server cannot move its rows",
    ),
}
OF: dict[str, Obstacles] = {
    "gp6": EVERYWHERE | CLASSIC,
    "gp7": EVERYWHERE | DECLARATIVE | IDENTITY,
    "pg15": EVERYWHERE | DECLARATIVE | POSTGRESQL | IDENTITY,
    "pg18": EVERYWHERE | DECLARATIVE | POSTGRESQL,
    "pg19": EVERYWHERE | DECLARATIVE | POSTGRESQL,
}


def table(name: str, generation: str) -> list[str]:
    """Four days, so that a merge into a month is possible."""
    if generation == "gp6":
        return [
            f"CREATE TABLE {name} (id int, d date, v text) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
            " (START (date '2020-01-01') END (date '2020-01-05') EVERY (interval '1 day'))"
        ]
    columns = "(id int, d date, v text)"
    tail = " DISTRIBUTED BY (id)" if generation == "gp7" else ""
    root = f"CREATE TABLE {name} {columns} PARTITION BY RANGE (d){tail}"
    days = [f"FOR VALUES FROM ('2020-01-0{n}') TO ('2020-01-0{n + 1}')" for n in range(1, 5)]
    partitions = [f"CREATE TABLE {name}_{n} PARTITION OF {name} {d}" for n, d in enumerate(days, 1)]
    if name == "r_older":
        attached = f"ALTER TABLE {name} ATTACH PARTITION {name}_1 {days[0]}"
        return [f"CREATE TABLE {name}_1 {columns}", root, attached, *partitions[1:]]
    return [root, *partitions]


@pytest.mark.parametrize("fixture", FIXTURES)
def test_reasons(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = FIXTURES[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_refused")
    made.roles(dsn, "mig_reader")
    obstacles = OF[generation]
    made.execute(
        dsn,
        "CREATE SCHEMA away",
        "CREATE TABLE other (id int PRIMARY KEY)",
        *(statement for name in obstacles for statement in table(f"r_{name}", generation)),
    )
    plan = made.plan_of(dsn)
    assert len(plan.tables) == len(obstacles)
    first = "{t}_1_prt_{n}" if generation == "gp6" else "{t}_{n}"
    words: dict[str, str] = {}
    for name, (statements, reason) in obstacles.items():
        t = f"r_{name}"
        names = {"t": t} | {of: first.format(t=t, n=n) for n, of in enumerate("lmno", 1)}
        made.execute(dsn, *(statement.format_map(names) for statement in statements))
        words[f"public.{t}"] = reason.format_map(names)
    files = made.written(dsn, tmp_path / "sql", plan)
    reasons = {r.table: r.reason for r in files.refused}
    assert {
        t: text in reasons.get(t, "") and bool(text) == (t in reasons) for t, text in words.items()
    } == dict.fromkeys(words, True), reasons
    assert files.steps == list(words.values()).count("")
    lost = next(w.forward[0].lost for w in files.work if w.context.root.name == "r_indexed")
    assert lost == (
        "index btree (lower(v)) WHERE (id > 1) on 1 of 4 partitions: not on the new partition",
        "index btree (v) on 1 of 4 partitions: not on the new partition",
    )
    (name,) = [n for n in files.forward() if n.endswith("_public_r_indexed.sql")]
    text = (files.folder / name).read_text()
    assert all(f"LOST: {line}" in text for line in lost)
    # a plan that contains the obstacles leaves out the steps that migrate refuses
    again = {t.table: t for t in made.plan_of(dsn).tables}
    leaf = first.format(t="r_unique", n=1)
    assert leaf not in {x.name for s in again["r_unique"].steps for x in getattr(s, "leaves", ())}
    files.all()
    files.run("cleanup.sql")
