"""One file per output format."""
