"""The time that the catalog costs: rows that a DDL probe writes, lock slots, and the slope on this
server.
"""
