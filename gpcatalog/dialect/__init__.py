"""The grammar of Greenplum and PostgreSQL: statements are read into sqlglot nodes and written back;
the sqlglot dialect `greenplum`.
"""
