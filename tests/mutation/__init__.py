"""Mutation testing of the packages whose results people rely on: `python -m tests.mutation`."""
