"""The grammar of Greenplum and PostgreSQL: parses statements to sqlglot nodes and writes them as
SQL; the sqlglot dialect `greenplum`.
"""
