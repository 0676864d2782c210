"""Greenplum/PostgreSQL catalog bloat analyzer and partition planner."""

__version__ = "0.1.0"
