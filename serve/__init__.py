"""The Ray Serve endpoint: retrieval and localization over HTTP, swapping generations while it serves."""
