"""What partitioned tables need tonight: new partitions, retention, merges of old partitions.

Everything here is computed from a snapshot and a policy; nothing is read from a server.
"""
