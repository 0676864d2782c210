"""Random scripts that refer to partitions in every way: by relation name, by value, by partition name, as default partition.

They combine indexes of single partitions, with ONLY on Greenplum 7, with commands that add, split, exchange and drop partitions.
"""

from __future__ import annotations

import random

_STORAGE = ("", "", " WITH (appendonly=true)", " WITH (appendonly=true, orientation=column)")


class PartitionScriptMaker:
    """Random statements for "gp6" or "gp7", with few names, so that statements often refer to existing objects."""

    def __init__(self, server: str, seed: int) -> None:
        self.r = random.Random(seed)
        self.seven = server == "gp7"
        self.tables: list[tuple[str, bool]] = []

    def create(self) -> str:
        name, several = f"t{len(self.tables) + 1}", self.r.random() < 0.4
        self.tables.append((name, several))
        other = self.r.choice(("", ", DEFAULT SUBPARTITION o"))
        sub = (
            " SUBPARTITION BY LIST (c) SUBPARTITION TEMPLATE (SUBPARTITION s1 VALUES (1), SUBPARTITION s2 VALUES (2)"
            f"{other})"
        )
        return (
            f"CREATE TABLE {name} (a int, b int, c int, d {self.r.choice(('text', 'int'))}){self.r.choice(_STORAGE)}"
            f" DISTRIBUTED BY (a) PARTITION BY RANGE (b){sub if several else ''}"
            f" (START (1) END ({self.r.randint(3, 7)}) EVERY (1){self.r.choice(('', ', DEFAULT PARTITION rest'))})"
        )

    def statement(self) -> str:
        r = self.r
        if not self.tables or r.random() < 0.06:
            return self.create()
        t, several = r.choice(self.tables[-3:])
        if r.random() < 0.015:
            return f"DROP TABLE {t}"
        k, start, few = r.randint(1, 6), r.randint(20, 26), r.randint(1, 3)
        leaf = r.choice((f"{t}_1_prt_{k}", f"{t}_1_prt_x{few}"))
        if several and r.random() < 0.6:
            leaf += r.choice(("_2_prt_s1", "_2_prt_s2", "_2_prt_s3", "_2_prt_o"))
        found = [
            *self.indexes(t, leaf),
            f"ALTER TABLE {t} ADD PARTITION x{few} START ({start}) END ({start + 1}){r.choice(_STORAGE)}",
            f"ALTER TABLE {t} ADD PARTITION x{few} START ({start}) END ({start + 1})",
            f"ALTER TABLE {t} ADD PARTITION START ({start}) END ({start + 1})",
            f"ALTER TABLE {t} DROP PARTITION FOR ({k})",
            f"ALTER TABLE {t} DROP PARTITION x{few}",
            f"ALTER TABLE {t} DROP DEFAULT PARTITION",
            f"ALTER TABLE {t} ADD DEFAULT PARTITION rest",
            f"ALTER TABLE {t} TRUNCATE PARTITION FOR ({k})",
            f"ALTER TABLE {t} RENAME PARTITION FOR ({k}) TO y{few}",
            f"ALTER TABLE {t} SPLIT DEFAULT PARTITION START ({start}) END ({start + 1})"
            f" INTO (PARTITION x{few}, DEFAULT PARTITION)",
            f"ALTER TABLE {t} ADD COLUMN e{few} {r.choice(('text', 'int'))}",
            f"ALTER TABLE {t} DROP COLUMN {r.choice((f'e{few}', 'd'))}",
            f"ALTER TABLE {leaf} SET (fillfactor=50)",
            f"CREATE TABLE ex{few} (LIKE {t} {r.choice(('', 'INCLUDING ALL', 'INCLUDING INDEXES'))}) DISTRIBUTED BY (a)",
            f"ALTER TABLE {t} EXCHANGE PARTITION FOR ({k}) WITH TABLE ex{few}",
            f"DROP TABLE IF EXISTS ex{few}",
            f"ALTER TABLE {t} ADD CONSTRAINT ck{few} CHECK (a > 0)",
            f"INSERT INTO {t} VALUES (1, {k}, 1)",
        ]
        if several:
            found += [
                f"ALTER TABLE {t} ALTER PARTITION FOR ({k}) ADD PARTITION s3 VALUES (3)",
                f"ALTER TABLE {t} ALTER PARTITION FOR ({k}) DROP PARTITION s1",
                f"ALTER TABLE {t} ALTER PARTITION FOR ({k}) SPLIT DEFAULT PARTITION AT (7)"
                " INTO (PARTITION seven, DEFAULT PARTITION)",
                f"ALTER TABLE {t} SET SUBPARTITION TEMPLATE ()",
            ]
        if self.seven:
            found += [
                f"ALTER TABLE {leaf} RENAME TO z{t}_{few}",
                f"CREATE INDEX ON z{t}_{few} (a)",
                f"ALTER TABLE {t} DETACH PARTITION {leaf}",
                f"ALTER TABLE {t} ATTACH PARTITION {leaf} FOR VALUES FROM ({start}) TO ({start + 1})",
                f"CREATE TABLE {t}_o{few} PARTITION OF {t} FOR VALUES FROM ({start + 20}) TO ({start + 21})",
                f"DROP TABLE {leaf}",
            ]
        return r.choice(found)

    def indexes(self, table: str, leaf: str) -> list[str]:
        """Statements on indexes of a table or of a single partition."""
        only = self.r.choice(("", "", "ONLY ")) if self.seven else ""
        number, columns = self.r.randint(1, 5), self.r.choice(("a", "d", "a, b"))
        return [
            f"CREATE INDEX ON {only}{table} ({columns})",
            f"CREATE INDEX i{number} ON {only}{table} ({columns})",
            f"DROP INDEX i{number}",
            f"DROP INDEX j{number}",
            f"CREATE INDEX j{number} ON {leaf} ({columns})",
            f"CREATE INDEX ON {leaf} ({columns})",
            f"CREATE INDEX ON {only}{leaf} ({columns})",
        ]

    def script(self, number: int) -> str:
        return "".join(f"{self.statement()};\n" for _ in range(number))


class DeclarativeScriptMaker:
    """Random statements for PostgreSQL: range, list and hash partitions on two levels that are added and removed in every way, with
    their own keys, foreign keys, triggers and indexes.
    """

    def __init__(self, server: str, seed: int) -> None:
        self.r = random.Random(seed)
        self.version = int(server.removeprefix("pg"))
        self.tables: dict[str, str] = {}  # table: its partitioning
        self.free: list[str] = []  # other tables, to attach
        self.number = 0

    def create(self) -> str:
        r = self.r
        name = f"t{len(self.tables) + 1}"
        how = r.choice(("RANGE (b)", "RANGE (b)", "LIST (b)", "HASH (b)", "RANGE (b, c)"))
        self.tables[name] = how
        key = r.choice(("", "", ", PRIMARY KEY (b, c)", ", UNIQUE (b, c, a)", ", CHECK (a > 0)"))
        identity = (
            " GENERATED ALWAYS AS IDENTITY" if self.version >= 17 and r.random() < 0.1 else ""
        )
        more = r.choice(("", " REFERENCES other", " DEFAULT 1", " NOT NULL"))
        return (
            f"CREATE TABLE {name} (a int{identity}, b int, c int{more}, d {r.choice(('text', 'int'))}{key})"
            f" PARTITION BY {how}"
        )

    def bound(self, how: str) -> str:
        r = self.r
        k = r.randint(1, 12)
        if r.random() < 0.12 and not how.startswith("HASH"):
            return "DEFAULT"
        if how == "RANGE (b)":
            return f"FOR VALUES FROM ({k}) TO ({k + r.choice((1, 1, 2))})"
        if how == "RANGE (b, c)":
            return f"FOR VALUES FROM ({k}, MINVALUE) TO ({k + 1}, MINVALUE)"
        if how.startswith("LIST"):
            return f"FOR VALUES IN ({r.choice((f'{k}', f'{k}, {k + 20}', 'NULL'))})"
        return f"FOR VALUES WITH (MODULUS {r.choice((3, 3, 6))}, REMAINDER {r.randint(0, 2)})"

    def leaf(self, table: str) -> str:
        """Name of a partition that may exist, sometimes of a partition of a partition."""
        below = self.r.choice(("", "", "", f"_{self.r.randint(1, 2)}"))
        return f"{table}_p{self.r.randint(1, 5)}{below}"

    def statement(self) -> str:
        r = self.r
        if not self.tables:
            self.tables["other"] = ""
            return "CREATE TABLE other (id int PRIMARY KEY, v text)"
        roots = [t for t, how in self.tables.items() if how]
        if not roots or r.random() < 0.05:
            return self.create()
        t = r.choice(roots[-3:])
        how = self.tables[t]
        p, q, few = self.leaf(t), self.leaf(t), r.randint(1, 3)
        if r.random() < 0.01:
            return f"DROP TABLE {t}{r.choice(('', ' CASCADE'))}"
        found = [
            *[f"CREATE TABLE {p} PARTITION OF {t} {self.bound(how)}"] * 5,
            f"CREATE TABLE {p} PARTITION OF {t} {self.bound(how)} PARTITION BY {r.choice(('LIST (c)', 'HASH (c)', 'RANGE (c)'))}",
            f"CREATE TABLE {p}_{few} PARTITION OF {p} {self.bound(r.choice(('LIST (c)', 'HASH (c)', 'RANGE (b)')))}",
            f"CREATE TABLE {p}_{few} PARTITION OF {p} (c DEFAULT 7, CHECK (a > 1)) {self.bound('RANGE (b)')}",
            f"CREATE TABLE {p} PARTITION OF {t} {self.bound(how)} WITH (fillfactor=70)",
            f"CREATE TABLE f{few} (LIKE {t} {r.choice(('', 'INCLUDING ALL', 'INCLUDING INDEXES', 'INCLUDING CONSTRAINTS'))})",
            f"CREATE TABLE f{few} (a int, b int, c int, d {r.choice(('text', 'int'))})",
            f"CREATE TABLE f{few} (LIKE {t} INCLUDING ALL) PARTITION BY {r.choice(('LIST (c)', 'HASH (c)'))}",
            *[f"ALTER TABLE {t} ATTACH PARTITION {r.choice((f'f{few}', p))} {self.bound(how)}"] * 3,
            f"ALTER TABLE {t} DETACH PARTITION {p}{r.choice(('', '', ' CONCURRENTLY'))}",
            f"ALTER TABLE {p} RENAME TO {q}",
            f"ALTER TABLE f{few} RENAME TO {p}",
            f"DROP TABLE {r.choice((p, f'f{few}'))}{r.choice(('', ' CASCADE'))}",
            f"ALTER TABLE {t} ADD COLUMN e{few} {r.choice(('text', 'int', 'serial', 'int DEFAULT random()'))}",
            f"ALTER TABLE {r.choice((t, p))} DROP COLUMN {r.choice((f'e{few}', 'd'))}",
            f"ALTER TABLE {t} ALTER COLUMN {r.choice((f'e{few}', 'a', 'd'))} TYPE {r.choice(('bigint', 'text', 'varchar(9)'))}",
            f"ALTER TABLE {t} RENAME COLUMN e{few} TO e{r.randint(1, 3)}",
            f"ALTER TABLE {r.choice((t, p))} SET (fillfactor=50)",
            f"ALTER TABLE {p} SET {r.choice(('UNLOGGED', 'LOGGED'))}",
            f"TRUNCATE {r.choice((t, p))}",
            f"CREATE TRIGGER g{few} AFTER INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger()",
            f"DROP TRIGGER g{few} ON {t}",
            f"CREATE VIEW v{few} AS SELECT * FROM {r.choice((t, p))}",
            f"DROP VIEW v{few}",
            f"CREATE STATISTICS s{few} ON a, b FROM {r.choice((t, p))}",
            f"CREATE TABLE a{few} AS SELECT * FROM {r.choice((t, p))}",
            f"CREATE TABLE i{few} () INHERITS ({r.choice((f'a{few}', p, f'f{few}'))})",
            f"DROP TABLE {r.choice('ai')}{few}{r.choice(('', ' CASCADE'))}",
            f"INSERT INTO {t} VALUES (1, {r.randint(1, 9)}, 1)",
            *self.keys(t, p, few),
            *self.indexes(t, p, few),
            *(self.nineteen(t, p, q, how, few) if self.version >= 19 else ()),
        ]
        return r.choice(found)

    def keys(self, table: str, leaf: str, few: int) -> list[str]:
        """Statements on constraints of a table or of a single partition."""
        r = self.r
        which = r.choice((table, table, leaf))
        return [
            f"ALTER TABLE {which} ADD PRIMARY KEY (b, c)",
            f"ALTER TABLE {which} ADD CONSTRAINT k{few} UNIQUE (b, c, a)",
            f"ALTER TABLE {which} ADD CONSTRAINT k{few} CHECK (a > {few})",
            f"ALTER TABLE {which} ADD CONSTRAINT r{few} FOREIGN KEY (c) REFERENCES other",
            f"ALTER TABLE other ADD CONSTRAINT o{few} FOREIGN KEY (id, id) REFERENCES {table} (b, c)",
            f"ALTER TABLE {which} DROP CONSTRAINT {r.choice((f'k{few}', f'r{few}', f'{which}_pkey', f'{table}_c_fkey'))}",
            f"ALTER TABLE other DROP CONSTRAINT o{few}",
            f"ALTER TABLE {which} ALTER COLUMN {r.choice('abcd')} {r.choice(('SET', 'DROP'))} NOT NULL",
            f"ALTER TABLE {leaf} ADD CONSTRAINT k{few} PRIMARY KEY USING INDEX u{few}",
        ]

    def indexes(self, table: str, leaf: str, few: int) -> list[str]:
        """Statements on indexes of a table or of a single partition."""
        r = self.r
        only, columns = r.choice(("", "", "ONLY ")), r.choice(("a", "d", "b, c", "(a + 1)", "e1"))
        return [
            f"CREATE INDEX ON {only}{table} ({columns})",
            f"CREATE INDEX x{few} ON {only}{table} ({columns})",
            f"CREATE UNIQUE INDEX u{few} ON {r.choice((only + table, leaf))} (b, c)",
            f"CREATE INDEX y{few} ON {leaf} ({columns})",
            f"CREATE INDEX{r.choice(('', ' CONCURRENTLY'))} ON {leaf} ({columns})",
            f"ALTER INDEX x{few} ATTACH PARTITION y{r.randint(1, 3)}",
            f"ALTER INDEX y{few} RENAME TO y{r.randint(1, 3)}",
            f"DROP INDEX {r.choice('xyu')}{few}{r.choice(('', ' CASCADE'))}",
            f"DROP INDEX {leaf}_{r.choice(('a_idx', 'd_idx', 'b_c_idx', 'expr_idx'))}",
            f"REINDEX {r.choice((f'TABLE {table}', f'TABLE {leaf}', f'INDEX x{few}'))}",
            f"CLUSTER {leaf} USING y{few}",
        ]

    def nineteen(self, table: str, leaf: str, other: str, how: str, few: int) -> list[str]:
        """Statements that only PostgreSQL 19 supports."""
        k = self.r.randint(1, 12)
        parts = f"PARTITION {table}_s{few} FOR VALUES FROM ({k}) TO ({k + 1}), PARTITION {leaf} FOR VALUES FROM ({k + 1}) TO ({k + 2})"
        if how.startswith("LIST"):
            parts = f"PARTITION {table}_s{few} FOR VALUES IN ({k}), PARTITION {leaf} FOR VALUES IN ({k + 20})"
        return [
            f"ALTER TABLE {table} MERGE PARTITIONS ({leaf}, {other}) INTO {self.r.choice((leaf, f'{table}_m{few}'))}",
            f"ALTER TABLE {table} MERGE PARTITIONS ({table}_p1, {table}_p2) INTO {self.r.choice((leaf, f'{table}_m{few}'))}",
            f"ALTER TABLE {table} SPLIT PARTITION {leaf} INTO ({parts})",
            f"REPACK {leaf}",
        ]

    def script(self, number: int) -> str:
        return "".join(f"{self.statement()};\n" for _ in range(number))
