"""The schema state of a script, and the effect of each statement on it: relations, catalog rows,
files and locks.
"""
