"""A temporary local server with a realistic bloated catalog."""
