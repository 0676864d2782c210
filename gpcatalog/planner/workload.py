"""What queries ask of partition keys: predicates read with sqlglot from pg_stat_statements or a file of SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

Interval = tuple[str | None, str | None, float]  # from (inclusive), to (exclusive), calls a day; None: no end


@dataclass
class Workload:
    """Intervals asked for, by table name (schema.table where the query says so, else the bare name) and column.

    said: one sentence on where it comes from and how much was understood
    """

    intervals: dict[str, dict[str, list[Interval]]] = field(default_factory=dict)
    whole: dict[str, float] = field(default_factory=dict)
    said: str = ""


def read(path: str, snapshot: object) -> Workload:
    """Not yet."""
    return Workload(said=path)
