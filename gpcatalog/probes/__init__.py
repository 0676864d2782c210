"""The only package that connects to a server."""
