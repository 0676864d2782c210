"""The commands: one module each, from options to output. Shared parts are in options, common,
streams and snapshot_source.
"""
