"""Snapshot to findings, one file per subject."""
