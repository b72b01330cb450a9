"""Models that read a query and a passage together."""
