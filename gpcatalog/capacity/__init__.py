"""The cost model and the limits, with their sources."""
