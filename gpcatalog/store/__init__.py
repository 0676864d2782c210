"""Snapshot files and series: the only room that knows DuckDB."""
