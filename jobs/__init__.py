"""Ray Data jobs."""
