"""Greenplum DDL understood: the sqlglot dialect and what a file of DDL will cost."""
