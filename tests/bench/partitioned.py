"""The partitioned table that the benchmarks of memory and time create."""

from __future__ import annotations

WITH = {
    "heap": "",
    "ao_row": " WITH (appendonly=true)",
    "ao_column": " WITH (appendonly=true, orientation=column)",
}


def statements(name: str, columns: int, storage: str, leaves: int, *, greenplum: bool) -> list[str]:
    """CREATE TABLE with leaves for k = 0, 1, …; on PostgreSQL, one statement for each leaf."""
    listed = ", ".join(["k int", "note text", *(f"c{n} int" for n in range(columns - 2))])
    if greenplum:
        return [
            f"CREATE TABLE {name} ({listed}){WITH[storage]} DISTRIBUTED BY (note)"
            f" PARTITION BY RANGE (k) (START (0) END ({leaves}) EVERY (1))"
        ]
    return [f"CREATE TABLE {name} ({listed}) PARTITION BY RANGE (k)"] + [
        f"CREATE TABLE {name}_{n} PARTITION OF {name} FOR VALUES FROM ({n}) TO ({n + 1})"
        for n in range(leaves)
    ]


def indexes(name: str, number: int) -> list[str]:
    """CREATE INDEX statements, each on one of the first columns."""
    columns = ["k", "note", *(f"c{n}" for n in range(2, number))]
    return [f"CREATE INDEX {name}_i{n} ON {name} ({columns[n]})" for n in range(number)]
