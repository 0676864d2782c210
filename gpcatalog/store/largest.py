"""The table and the schema of a snapshot that the queries of clients read: SQL over its
relations.
"""

from __future__ import annotations

# oid, root, schema, name of the table with the most partitions directly below it; n: their number
PARENT = (
    'SELECT r.parent AS oid, any_value(r.root) AS root, any_value(p."schema") AS "schema",'
    " any_value(p.name) AS name, count(*) AS n FROM relation r JOIN relation p ON p.oid = r.parent"
    " GROUP BY r.parent ORDER BY n DESC, r.parent LIMIT 1"
)
# the schema with the most tables and partitions, the oid of one of them; n: their number
SCHEMA = (
    'SELECT min(oid) AS oid, "schema", count(*) AS n FROM relation GROUP BY "schema"'
    ' ORDER BY n DESC, "schema" LIMIT 1'
)
