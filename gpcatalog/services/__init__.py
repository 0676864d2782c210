"""Work that several commands share, on a server or a snapshot, without terminals and options."""
