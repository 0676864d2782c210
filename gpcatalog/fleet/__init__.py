"""Many clusters: the file that lists them, and a run over all of them."""
