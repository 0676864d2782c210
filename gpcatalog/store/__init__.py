"""Snapshot files and series: the only package that uses DuckDB."""
