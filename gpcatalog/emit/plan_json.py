"""The plan file: JSON with a versioned schema, written table by table so that memory does not grow with its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from gpcatalog.planner.plan import Plan, TablePlan


def write(plan: Plan, tables: Iterable[TablePlan], out: Callable[[str], object]) -> int:
    """Write the plan with these tables to `out`. Returns the number of steps written."""
    head = msgspec.json.encode(msgspec.structs.replace(plan, tables=[])).decode()
    opening = '"tables":[]}'
    assert head.endswith(opening)
    out(head[: -len(opening)])
    out('"tables":[')
    steps = 0
    encoder = msgspec.json.Encoder()
    for n, table in enumerate(tables):
        out((",\n" if n else "\n") + encoder.encode(table).decode())
        steps += len(table.steps)
    out("\n]}\n")
    return steps


def read(text: str | bytes) -> Plan:
    """A plan from its JSON. Raises msgspec.ValidationError with the place where it is not one."""
    return msgspec.json.decode(text, type=Plan)
