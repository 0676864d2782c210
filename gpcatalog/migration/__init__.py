"""Convert plans and findings to SQL scripts."""
