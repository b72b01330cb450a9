"""The Ray Serve application. Filled by the endpoint work."""
