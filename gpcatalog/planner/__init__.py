"""Which partitions to merge, convert or drop."""
