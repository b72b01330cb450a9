"""The engine: text units, indexes, glossaries, retrieval. Imports no Ray, no FastAPI, no torch."""
