"""Audits of many clusters: the fleet file that lists them, and a run over all of them."""

WORKER = "fleet-worker"  # the hidden command that reads one cluster
