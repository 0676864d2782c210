"""A throwaway local server with a realistic bad catalog."""
