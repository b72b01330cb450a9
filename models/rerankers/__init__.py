"""Models that read a query and a passage together."""

from models.rerankers.registry import build_reranker

__all__ = ["build_reranker"]
