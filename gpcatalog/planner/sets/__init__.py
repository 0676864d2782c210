"""Partition sets of a snapshot as columns: units in the order of their axis, the leaves below
them, and the positions at which merges must stop.
"""
