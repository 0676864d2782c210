"""Mutation testing of the packages whose answers people rely on: `python -m tests.mutation`."""
