"""Steps of a plan, one module per kind: refusals, operations, their rollback, their SQL and their
text.

A new kind of step is a class in `gpcatalog/planner/operations.py`, a module here that registers a
handler, and its import below.
"""

from gpcatalog.migration.steps import (
    create,
    drop_empty,
    every,
    external_tables,
    flatten,
    partman,
    replace_partitions,
    retire,
    template,
    unpartition,
)
from gpcatalog.migration.steps.registry import handler_of, kinds

__all__ = [
    "create",
    "drop_empty",
    "every",
    "external_tables",
    "flatten",
    "handler_of",
    "kinds",
    "partman",
    "replace_partitions",
    "retire",
    "template",
    "unpartition",
]
