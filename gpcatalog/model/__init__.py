"""Values that every part shares: server, names, storage, findings."""
