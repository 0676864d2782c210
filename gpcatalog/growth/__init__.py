"""Changes between the snapshots of a series, their rates, and the dates when limits will be
reached.
"""
