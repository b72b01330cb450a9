"""One file for each kind of embedder."""
