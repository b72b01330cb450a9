"""Thin Ray callables over the engine: one file a stage."""
