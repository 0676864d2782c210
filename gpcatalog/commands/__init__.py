"""The commands: one module each, from options to the parts and out through emit; what they share is
in options, streams and taken.
"""
