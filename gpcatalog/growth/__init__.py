"""What changed between the snapshots of a series, how fast, and when limits will be reached."""
