"""Catalog rows that are not part of the shape of a table: sequences, foreign keys.

Counted on live servers (tests/effects/test_matrix.py).
"""

from __future__ import annotations

from collections import Counter

from gpcatalog.capacity.model import Instance
from gpcatalog.dialect.version import Edition


def sequence(edition: Edition, instance: Instance) -> Counter[str]:
    """Rows of one sequence on one instance; it has one file on each instance."""
    rows = Counter({"pg_class": 1, "pg_depend": 1})
    if edition.classic:  # 10 columns with its state, and 7 system columns
        rows.update({"pg_attribute": 17, "pg_type": 1, "pg_depend": 1})
    else:
        rows.update({"pg_sequence": 1, "pg_attribute": 10 if edition.greenplum else 9})
        if not edition.greenplum and edition.base < 14:  # it has a row type
            rows.update({"pg_type": 1, "pg_depend": 1})
    if edition.greenplum and instance is Instance.COORDINATOR:
        rows["pg_stat_last_operation"] = 1
    return rows


def owned(edition: Edition, instance: Instance) -> Counter[str]:
    """Rows that an owned sequence adds: it depends on the column, and is altered to be owned."""
    rows = Counter({"pg_depend": 1})
    if edition.greenplum and instance is Instance.COORDINATOR:
        rows["pg_stat_last_operation"] = 1
    return rows


def foreign_key(columns: int, *, enforced: bool = True) -> Counter[str]:
    """Rows of a foreign key between tables without partitions: four triggers if it is enforced, and
    the dependencies of the key and its triggers.
    """
    triggers = 4 if enforced else 0
    return Counter(
        {"pg_constraint": 1, "pg_trigger": triggers, "pg_depend": 2 * columns + 1 + triggers}
    )
