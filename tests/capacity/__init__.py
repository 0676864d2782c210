"""Tests of the cost model and the limits."""
