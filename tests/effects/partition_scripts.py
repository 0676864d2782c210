"""Scripts made at random that name partitions in every way: by the name of their relation, by value, by the name in their table, as default.

Indexes of single partitions, with ONLY on Greenplum 7, meet commands that add, split, exchange and drop partitions.
"""

from __future__ import annotations

import random

_STORAGE = ("", "", " WITH (appendonly=true)", " WITH (appendonly=true, orientation=column)")


class PartitionScriptMaker:
    """Statements for "gp6" or "gp7"; names are few, so that statements meet each other's objects."""

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
        """Statements about indexes of a table or of a partition alone."""
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
