"""A snapshot summed up: what the audit shows, before any rule judges it."""
