"""Tables and statements whose locks are counted by live servers (test_held_locks.py).

The statement of a case runs in a transaction after the statements that create its table. Cases that a server rejects are left out there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LEAVES = 6
SETUP = [
    "CREATE TABLE r (k int PRIMARY KEY)",
    "INSERT INTO r SELECT g FROM generate_series(0, 9) g",
    "CREATE SCHEMA x",
    "CREATE TABLE e (a int, b varchar(5), t text, k int, d int)",
]
# columns of the table, and statements after its creation
TABLES: dict[str, tuple[str, list[str]]] = {
    "ints": ("a int, b int", []),
    "text": ("a int, b varchar(5), t text", []),
    "index": ("a int, b varchar(5), t text", ["CREATE INDEX ib ON p (b)"]),
    "indexes": ("a int, b varchar(5), t text", ["CREATE INDEX ib ON p (b)", "CREATE INDEX ia ON p (a)"]),
    "default": ("a int DEFAULT 5, b varchar(5) NOT NULL, t text, CHECK (a > 0)", []),
    "one text": ("a int, b text", []),
    "key": ("a int, b varchar(5), t text, PRIMARY KEY (k, d)", []),
}  # fmt: skip
STORAGE = {
    "heap": "",
    "ao": " WITH (appendonly=true)",
    "aoco": " WITH (appendonly=true, orientation=column)",
}
FORMS = ("plain", "partitioned", "with default", "two levels")
_ALTER = """
    ALTER a TYPE int8; ALTER b TYPE varchar(3); ALTER b TYPE varchar(9); ALTER a TYPE int8, ALTER b TYPE text; ADD COLUMN z int
    ADD COLUMN z text; ADD COLUMN z int DEFAULT 5; ADD COLUMN z float8 DEFAULT random(); ADD COLUMN z serial; ADD COLUMN z int UNIQUE
    ADD COLUMN z int CHECK (z > 0); ADD COLUMN z int REFERENCES r; ADD COLUMN z int, ADD COLUMN zz text
    ADD COLUMN z int GENERATED ALWAYS AS (k + 1) STORED; ADD COLUMN z int, DROP COLUMN b, ALTER a TYPE int8; DROP COLUMN b; DROP COLUMN a
    ALTER a SET NOT NULL; ALTER b DROP NOT NULL; ALTER a SET DEFAULT 7; ALTER a DROP DEFAULT; ALTER b SET STATISTICS 50
    ALTER b SET (n_distinct = 5); ALTER t SET STORAGE external; ADD CONSTRAINT c CHECK (a < 100); ADD CONSTRAINT c CHECK (a < 100) NOT VALID
    ADD UNIQUE (k, d); ADD PRIMARY KEY (k, d); ADD FOREIGN KEY (k) REFERENCES r; DROP CONSTRAINT p_pkey; DROP CONSTRAINT p_a_check
    DROP CONSTRAINT p_pkey, ADD PRIMARY KEY (k, d); RENAME TO q; RENAME COLUMN a TO z; RENAME CONSTRAINT p_a_check TO cc
    OWNER TO CURRENT_USER; SET SCHEMA x; SET (fillfactor = 50); SET WITHOUT CLUSTER; SET UNLOGGED; SET LOGGED; DISABLE TRIGGER ALL
    REPLICA IDENTITY FULL; ENABLE ROW LEVEL SECURITY; CLUSTER ON ib; SET DISTRIBUTED BY (a); SET DISTRIBUTED RANDOMLY
    SET WITH (reorganize = true); DROP PARTITION FOR (3); ADD PARTITION n START (100) END (101); ADD DEFAULT PARTITION d
    DROP DEFAULT PARTITION; TRUNCATE PARTITION FOR (3); RENAME PARTITION FOR (3) TO xx; EXCHANGE PARTITION FOR (3) WITH TABLE e
    SPLIT DEFAULT PARTITION START (200) END (300) INTO (PARTITION u, DEFAULT PARTITION); SET SUBPARTITION TEMPLATE (SUBPARTITION x VALUES (1))
    DETACH PARTITION p_1_prt_3; DETACH PARTITION p_1_prt_dd; ATTACH PARTITION e FOR VALUES FROM (100) TO (101)
"""
_OTHERS = """
    ALTER TABLE ONLY p ALTER a SET DEFAULT 4; ALTER TABLE p_1_prt_3 SET (fillfactor = 50); ALTER INDEX ib RENAME TO ic
    CREATE INDEX n ON p (a); CREATE UNIQUE INDEX n ON p (k, d); CREATE INDEX n ON p ((a + 1)); CREATE INDEX n ON p USING bitmap (a)
    CREATE INDEX n ON p_1_prt_3 (a); DROP INDEX ib; DROP INDEX ia, ib; TRUNCATE p; TRUNCATE p_1_prt_3; DROP TABLE p; DROP TABLE p_1_prt_3
    DROP TABLE p_1_prt_dd; DROP TABLE p_1_prt_3_2_prt_x; CREATE TABLE q (LIKE p INCLUDING ALL); CREATE TABLE q () INHERITS (p)
    CREATE TABLE q (a serial, b text UNIQUE); CREATE TABLE n PARTITION OF p FOR VALUES FROM (100) TO (101)
    CREATE TABLE d PARTITION OF p DEFAULT
"""
_LEVELS = """
    ALTER PARTITION FOR (3) DROP PARTITION FOR (1); ALTER PARTITION FOR (3) ADD PARTITION nn VALUES (9)
    ALTER PARTITION FOR (3) TRUNCATE PARTITION FOR (1)
"""


def _split(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";")]


def statements(form: str) -> list[str]:
    """The statements whose locks are counted, for a form of the table."""
    actions = _split(_ALTER) + (_split(_LEVELS) if form == "two levels" else [])
    return [f"ALTER TABLE p {action}" for action in actions] + _split(_OTHERS)


@dataclass(frozen=True)
class Case:
    """A table of some form, and the statements that create it on a server."""

    form: str
    table: str
    storage: str

    def __str__(self) -> str:
        return f"{self.form}, {self.table}, {self.storage}"

    def fill(self) -> str:
        """A statement that inserts rows into each leaf, on each segment."""
        leaves = LEAVES + (self.form == "with default")
        return (
            f"INSERT INTO p (a, b, k, d) SELECT 1 + g / {leaves} % 2, 1, g % {leaves}, g"
            f" FROM generate_series(0, {60 * leaves - 1}) g"
        )

    def create(self, server: str) -> list[str]:
        """The statement that creates the table on Greenplum, or several on PostgreSQL, and its indexes."""
        columns, after = TABLES[self.table]
        columns = (
            columns.replace(", PRIMARY", ", k int, d int, PRIMARY")
            if "PRIMARY" in columns
            else f"{columns}, k int, d int"
        )
        if not server.startswith("gp"):
            return [*self._declarative(columns), *after]
        by, bounds = "", f"START (0) END ({LEAVES}) EVERY (1)"
        if self.form in ("partitioned", "with default"):
            default = ", DEFAULT PARTITION dd" if self.form == "with default" else ""
            by = f" PARTITION BY RANGE (k) ({bounds}{default})"
        elif self.form == "two levels":
            lists = "SUBPARTITION x VALUES (1), SUBPARTITION y VALUES (2)"
            by = f" PARTITION BY RANGE (k) SUBPARTITION BY LIST (a) SUBPARTITION TEMPLATE ({lists}) ({bounds})"
        return [f"CREATE TABLE p ({columns}){STORAGE[self.storage]} DISTRIBUTED BY (d){by}", *after]

    def _declarative(self, columns: str) -> list[str]:
        if self.form == "plain":
            return [f"CREATE TABLE p ({columns})"]
        found, by = [f"CREATE TABLE p ({columns}) PARTITION BY RANGE (k)"], ""
        if self.form == "two levels":
            by = " PARTITION BY LIST (a)"
        for n in range(1, LEAVES + 1):
            found.append(
                f"CREATE TABLE p_1_prt_{n} PARTITION OF p FOR VALUES FROM ({n - 1}) TO ({n}){by}"
            )
            for value, name in ((1, "x"), (2, "y")) if by else ():
                found.append(
                    f"CREATE TABLE p_1_prt_{n}_2_prt_{name} PARTITION OF p_1_prt_{n} FOR VALUES IN ({value})"
                )
        return found + ["CREATE TABLE p_1_prt_dd PARTITION OF p DEFAULT"] * (
            self.form == "with default"
        )


def cases(server: str) -> Iterator[Case]:
    """All cases of a server."""
    for form in FORMS:
        for table in TABLES:
            for storage in STORAGE if server.startswith("gp") else ("heap",):
                yield Case(form, table, storage)
