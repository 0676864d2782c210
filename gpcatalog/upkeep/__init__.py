"""What partitioned tables need tonight: new partitions, retention, merges of old ones.

Everything here is computed from a snapshot and a policy; nothing is read from a server.
"""
