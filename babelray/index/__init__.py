"""Generations: store, manifest, segments, vectors, word index and access scope."""
