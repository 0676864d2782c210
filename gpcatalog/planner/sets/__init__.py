"""Partition sets of a snapshot as columns: units in order on their axis, the leaves under them, and
where merging must stop.
"""
