"""Edge in: the only room that talks to a server."""
