"""The privileges of a role on a server: what it can read, what it cannot, and the missing
GRANTs.
"""
