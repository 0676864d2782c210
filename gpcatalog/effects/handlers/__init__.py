"""The effect of each kind of statement on the schema state: one registered handler for each
kind.
"""

from gpcatalog.effects.handlers import (  # noqa: F401 - importing them registers their handlers
    alter_columns,
    alter_partitions,
    alter_table,
    create_table,
    dependents,
    drops,
    extensions,
    hidden_code,
    indexes,
    merge_partitions,
    other_catalogs,
    property_graphs,
    rewriting,
    routines,
    schemas,
    sequences,
    session,
    types,
    views,
)
