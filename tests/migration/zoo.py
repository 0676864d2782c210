"""Partitioned tables of every shape for each server, and the properties of them that must be kept."""

from __future__ import annotations

from typing import Any

from tests.migration.made import execute, fetch, roles, rows_of

HOSTILE = "We\"ird $gpcatalog$ \\ é's\n:x select"

_DAYS = "START (date '2020-01-25') END (date '2020-02-08') EVERY (interval '1 day')"
_FILL = "INSERT INTO {t} (id, d, v, k) SELECT i, date '2020-01-25' + i % 14, 'v' || i, i % 3 FROM generate_series(1, 700) i"
_COLUMNS = "(id int, d date, v text, k int, x numeric DEFAULT 3)"

# name → statements; Greenplum 6 and 7 both accept the classic syntax
GREENPLUM = {
    "aoco": [
        "CREATE TABLE aoco (id int, d date, v text ENCODING (compresstype=zlib, compresslevel=5), k int, x numeric DEFAULT 3)"
        f" WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id) PARTITION BY RANGE (d) ({_DAYS})",
        "CREATE INDEX aoco_speed ON aoco (v)",
        "ALTER TABLE aoco OWNER TO mig_owner",
        "GRANT SELECT ON aoco TO mig_reader",
        "GRANT INSERT, SELECT ON aoco TO mig_writer WITH GRANT OPTION",
        "COMMENT ON TABLE aoco_1_prt_2 IS 'the 26th'",
        "CREATE VIEW aoco_seen AS SELECT id, v FROM aoco",
    ],
    "heap_pk": [
        f"CREATE TABLE heap_pk (id int, d date, v text, k int NOT NULL, x numeric DEFAULT 3, PRIMARY KEY (id, d)) DISTRIBUTED BY (id)"
        f" PARTITION BY RANGE (d) ({_DAYS})",
        "ALTER TABLE heap_pk ADD CONSTRAINT positive CHECK (id > 0)",
    ],
    "ao_ints": [
        "CREATE TABLE ao_ints (id int, d date, v text, k int) WITH (appendonly=true, compresstype=zlib) DISTRIBUTED RANDOMLY"
        " PARTITION BY RANGE (k) (START (0) END (140) EVERY (10))",
        "INSERT INTO ao_ints SELECT i, date '2020-01-01', 'v', i % 140 FROM generate_series(1, 700) i",
    ],
    "ends": [
        f"CREATE TABLE ends {_COLUMNS} DISTRIBUTED BY (id) PARTITION BY RANGE (d) ("
        "PARTITION a START (date '2020-01-24') EXCLUSIVE END (date '2020-01-27') INCLUSIVE,"
        "PARTITION b START (date '2020-01-27') EXCLUSIVE END (date '2020-01-29') INCLUSIVE,"
        "PARTITION c START (date '2020-01-29') EXCLUSIVE END (date '2020-02-02'),"
        "PARTITION d START (date '2020-02-02') END (date '2020-02-05'), PARTITION e START (date '2020-02-05') END (date '2020-03-08'))",
    ],
    "dropped": [
        f"CREATE TABLE dropped (gone int, id int, d date, v text, k int, x numeric DEFAULT 3) WITH (appendonly=true, orientation=column)"
        f" DISTRIBUTED BY (id) PARTITION BY RANGE (d) ({_DAYS})",
        "ALTER TABLE dropped DROP COLUMN gone",
        "ALTER TABLE dropped ADD COLUMN late text DEFAULT 'x'",
    ],
    "with_default": [
        f"CREATE TABLE with_default {_COLUMNS} WITH (appendonly=true, orientation=column, compresstype=zlib) DISTRIBUTED BY (id)"
        f" PARTITION BY RANGE (d) ({_DAYS}, DEFAULT PARTITION other)",
        "CREATE INDEX with_default_v ON with_default (v)",
        "GRANT SELECT ON with_default TO mig_reader",
        "ALTER TABLE with_default ADD CONSTRAINT positive CHECK (id > 0)",
        "INSERT INTO with_default (id, d, v, k) SELECT i, date '2030-01-01', 'far', 1 FROM generate_series(1, 100) i",
    ],
    "deep": [
        f"CREATE TABLE deep {_COLUMNS} WITH (appendonly=true, orientation=row) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        f" SUBPARTITION BY LIST (k) SUBPARTITION TEMPLATE (SUBPARTITION zero VALUES (0), DEFAULT SUBPARTITION rest) ({_DAYS})",
        "CREATE INDEX deep_v ON deep (v)",
    ],
    "deep_default": [
        f"CREATE TABLE deep_default {_COLUMNS} DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        f" SUBPARTITION BY LIST (k) SUBPARTITION TEMPLATE (SUBPARTITION zero VALUES (0), SUBPARTITION more VALUES (1, 2),"
        f" DEFAULT SUBPARTITION rest) ({_DAYS}, DEFAULT PARTITION other)",
        "INSERT INTO deep_default (id, d, v, k) SELECT i, date '2030-01-01', 'far', i % 5 FROM generate_series(1, 100) i",
    ],
    "stamps": [
        "CREATE TABLE stamps (id int, d timestamp, v text, k int) DISTRIBUTED BY (id) PARTITION BY RANGE (d)"
        " (START (timestamp '2020-01-25 00:00') END (timestamp '2020-02-08 00:00') EVERY (interval '12 hours'))",
    ],
    "lists": [
        "CREATE TABLE lists (id int, d date, v text, k int) DISTRIBUTED BY (id) PARTITION BY LIST (k)"
        " (PARTITION a VALUES (0), PARTITION b VALUES (1), PARTITION c VALUES (2), PARTITION d VALUES (3, 4), PARTITION n VALUES (NULL))",
        "INSERT INTO lists (id) SELECT i FROM generate_series(1, 20) i",
    ],
}


def _pg_days(name: str, tail: str = "", first: str = "2020-01-25", number: int = 14) -> list[str]:
    return [
        f"""DO $do$ BEGIN FOR i IN 0..{number - 1} LOOP EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) {tail}',
            {_lit(name + "_")} || to_char(date '{first}' + i, 'YYYYMMDD'), {_lit(name)}, date '{first}' + i, date '{first}' + i + 1); END LOOP; END $do$"""
    ]


def _lit(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


POSTGRES = {
    "plain": [
        f"CREATE TABLE plain {_COLUMNS} PARTITION BY RANGE (d)",
        *_pg_days("plain", "WITH (fillfactor=70)"),
        "CREATE INDEX plain_speed ON plain (v) WHERE id > 3",
        "ALTER TABLE plain OWNER TO mig_owner",
        "GRANT SELECT ON plain TO mig_reader",
        *[f"GRANT SELECT ON plain_202001{n} TO mig_reader" for n in range(25, 32)],
        *[f"ALTER TABLE plain_202001{n} OWNER TO mig_owner" for n in range(25, 32)],
        "COMMENT ON TABLE plain_20200126 IS 'the 26th'",
        "CREATE VIEW plain_seen AS SELECT id, v FROM plain",
    ],
    "keyed": [
        "CREATE TABLE keyed (id int, d date, v text, k int NOT NULL, x int GENERATED ALWAYS AS (id * 2) STORED, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)",
        *_pg_days("keyed"),
        "ALTER TABLE keyed ADD CONSTRAINT positive CHECK (id > 0)",
        "CREATE UNIQUE INDEX keyed_u ON keyed (d, id, v)",
        *[f"ALTER TABLE keyed_202001{n} REPLICA IDENTITY FULL" for n in range(25, 32)],
    ],
    "ints": [
        "CREATE TABLE ints (id int, d date, v text, k bigint) PARTITION BY RANGE (k)",
        *[
            f"CREATE TABLE ints_{n} PARTITION OF ints FOR VALUES FROM ({n * 10}) TO ({n * 10 + 10})"
            for n in range(14)
        ],
        "INSERT INTO ints SELECT i, date '2020-01-01', 'v', i % 140 FROM generate_series(1, 700) i",
    ],
    "dropped": [
        "CREATE TABLE dropped (gone int, id int, d date, v text, k int) PARTITION BY RANGE (d)",
        *_pg_days("dropped", number=7),
        "ALTER TABLE dropped DROP COLUMN gone",
        *_pg_days("dropped", first="2020-02-01", number=7),
        "ALTER TABLE dropped ADD COLUMN late text DEFAULT 'x'",
    ],
    "with_default": [
        f"CREATE TABLE with_default {_COLUMNS} PARTITION BY RANGE (d)",
        *_pg_days("with_default"),
        "CREATE TABLE with_default_other PARTITION OF with_default DEFAULT",
        "CREATE INDEX with_default_v ON with_default (v)",
        "INSERT INTO with_default (id, d, v, k) SELECT i, date '2030-01-01', 'far', 1 FROM generate_series(1, 100) i",
        "INSERT INTO with_default (id, v, k) SELECT i, 'null', 1 FROM generate_series(1, 100) i",
    ],
    "deep": [
        f"CREATE TABLE deep {_COLUMNS} PARTITION BY RANGE (d)",
        *_pg_days("deep", "PARTITION BY LIST (k)"),
        """DO $do$ BEGIN FOR i IN 0..13 LOOP
           EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (0)', 'deep_' || to_char(date '2020-01-25' + i, 'YYYYMMDD') || '_zero',
                          'deep_' || to_char(date '2020-01-25' + i, 'YYYYMMDD'));
           EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', 'deep_' || to_char(date '2020-01-25' + i, 'YYYYMMDD') || '_rest',
                          'deep_' || to_char(date '2020-01-25' + i, 'YYYYMMDD')); END LOOP; END $do$""",
        "CREATE INDEX deep_v ON deep (v)",
    ],
    "stamps": [
        "CREATE TABLE stamps (id int, d timestamptz, v text, k int) PARTITION BY RANGE (d)",
        """DO $do$ BEGIN FOR i IN 0..27 LOOP EXECUTE format('CREATE TABLE stamps_%s PARTITION OF stamps FOR VALUES FROM (%L) TO (%L)', i,
           timestamptz '2020-01-25 00:00Z' + i * interval '12 hours', timestamptz '2020-01-25 12:00Z' + i * interval '12 hours'); END LOOP; END $do$""",
    ],
    "lists": [
        "CREATE TABLE lists (id int, d date, v text, k int) PARTITION BY LIST (k)",
        "CREATE TABLE lists_a PARTITION OF lists FOR VALUES IN (0)",
        "CREATE TABLE lists_b PARTITION OF lists FOR VALUES IN (1)",
        "CREATE TABLE lists_c PARTITION OF lists FOR VALUES IN (2)",
        "CREATE TABLE lists_d PARTITION OF lists FOR VALUES IN (3, 4)",
        "CREATE TABLE lists_n PARTITION OF lists FOR VALUES IN (NULL)",
        "INSERT INTO lists (id) SELECT i FROM generate_series(1, 20) i",
    ],
}


def hostile(greenplum: bool) -> list[str]:
    """Statements for a table with hostile names everywhere."""
    q = '"' + HOSTILE.replace('"', '""') + '"'
    if greenplum:
        return [
            f"CREATE SCHEMA {q}",
            f'CREATE TABLE {q}.{q} (id int, {q} date, "select" text, k int) WITH (appendonly=true, orientation=column) DISTRIBUTED BY (id)'
            f" PARTITION BY RANGE ({q}) (PARTITION {q} START (date '2020-01-25') END (date '2020-01-26'),"
            f" PARTITION b START (date '2020-01-26') END (date '2020-01-27'), PARTITION c START (date '2020-01-27') END (date '2020-02-03'),"
            f" PARTITION e START (date '2020-02-03') END (date '2020-02-08'))",
            f'CREATE INDEX {q[:-1]}i" ON {q}.{q} ("select", {q})',
            f"INSERT INTO {q}.{q} SELECT i, date '2020-01-25' + i % 14, E'a\\\\b''c$gpcatalog$' || i, 1 FROM generate_series(1, 100) i",
        ]
    return [
        f"CREATE SCHEMA {q}",
        f'CREATE TABLE {q}.{q} (id int, {q} date, "select" text, k int) PARTITION BY RANGE ({q})',
        *[
            f"CREATE TABLE {q}.{q[:-1]}{n}\" PARTITION OF {q}.{q} FOR VALUES FROM ('{a}') TO ('{b}')"
            for n, (a, b) in enumerate(
                (
                    ("2020-01-25", "2020-01-26"),
                    ("2020-01-26", "2020-01-27"),
                    ("2020-01-27", "2020-02-03"),
                    ("2020-02-03", "2020-02-08"),
                )
            )
        ],
        f'CREATE INDEX {q[:-1]}i" ON {q}.{q} ("select", {q})',
        f"INSERT INTO {q}.{q} SELECT i, date '2020-01-25' + i % 14, E'a\\\\b''c$gpcatalog$' || i, 1 FROM generate_series(1, 100) i",
    ]


def make(dsn: str, generation: str) -> list[str]:
    """Create the tables in a database; return their quoted names."""
    greenplum = not generation.startswith("pg")
    shapes = GREENPLUM if greenplum else POSTGRES
    roles(dsn, "mig_owner", "mig_reader", "mig_writer")
    names = []
    for name, statements in shapes.items():
        execute(dsn, *statements)
        if not any(s.startswith(f"INSERT INTO {name} SELECT") for s in statements):
            execute(dsn, _FILL.format(t=name))
        names.append(name)
    execute(dsn, *hostile(greenplum), "ANALYZE")
    q = '"' + HOSTILE.replace('"', '""') + '"'
    return [*names, f"{q}.{q}"]


def picture(dsn: str, generation: str) -> dict[str, Any]:
    """All properties of partitions that a migration and its rollback must restore, by relation."""
    classic = generation == "gp6"
    greenplum = not generation.startswith("pg")
    partitions = (
        "SELECT parchildrelid AS oid FROM pg_partition_rule WHERE parchildrelid <> 0 UNION SELECT parrelid FROM pg_partition"
        if classic
        else "SELECT inhrelid AS oid FROM pg_inherits UNION SELECT partrelid FROM pg_partitioned_table"
    )
    encodings = (
        ", (SELECT string_agg( array_to_string(e.attoptions, ','), ' ' ORDER BY e.attnum) FROM pg_attribute_encoding e"
        " JOIN pg_attribute b ON b.attrelid = c.oid AND b.attnum = e.attnum AND NOT b.attisdropped WHERE e.attrelid = c.oid) AS encodings"
        if greenplum
        else ", '' AS encodings"
    )
    bound = "''" if classic else "coalesce(pg_get_expr(c.relpartbound, c.oid), '')"
    storage = (
        "c.relstorage::text" if classic else "(SELECT amname::text FROM pg_am WHERE oid = c.relam)"
    )
    rows = fetch(
        dsn,
        f"""SELECT n.nspname || '.' || c.relname, {bound}, pg_get_userbyid(c.relowner), coalesce(c.relacl, acldefault_('r', c.relowner))::text,
                   {storage}, obj_description(c.oid, 'pg_class'),
                   (SELECT string_agg(i.relname || ' ' || x.indisprimary || x.indisunique, ', ' ORDER BY i.relname)
                      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid),
                   (SELECT string_agg(k.conname || ' ' || pg_get_constraintdef(k.oid), ', ' ORDER BY k.conname) FROM pg_constraint k
                     WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'c')),
                   (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull
                                      || coalesce(pg_get_expr(d.adbin, d.adrelid), ''), ', ' ORDER BY a.attnum)
                      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
                   c.relreplident::text {encodings}
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.oid IN ({partitions})""".replace(
            "acldefault_('r', c.relowner)", "NULL"
        ).replace("c.relreplident::text", "c.relreplident::text" if not classic else "''"),
    )
    return {r[0]: r[1:] for r in rows}


def contents(dsn: str, names: list[str]) -> dict[str, tuple[int, str]]:
    """Number of rows and hash of every table."""
    return {n: rows_of(dsn, n) for n in names}


def changed(
    was: dict[str, tuple[object, ...]], now: dict[str, tuple[object, ...]]
) -> list[tuple[str, object, object]]:
    """Relations in only one of two pictures, and every value that differs: relation, before, now."""
    found: list[tuple[str, object, object]] = [
        (n, was.get(n), now.get(n)) for n in sorted(was.keys() ^ now.keys())
    ]
    return found + [
        (n, a, b) for n in was if n in now for a, b in zip(was[n], now[n], strict=True) if a != b
    ]
