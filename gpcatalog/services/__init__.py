"""What commands share: work on a server or a snapshot from start to end, without terminals and options."""
