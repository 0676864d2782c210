"""How long the catalog makes people wait: what a probe of DDL writes, lock-slot arithmetic, the
slope of one's own server.
"""
