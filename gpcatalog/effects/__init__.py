"""The schema state of a script, and what each statement does to it: relations, catalog rows, files
and locks.
"""
