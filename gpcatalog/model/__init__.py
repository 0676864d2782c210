"""Values that all packages share: server, names, storage, findings."""
