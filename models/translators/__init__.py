"""Engines that translate, and the router that finds a way between two languages."""

from models.translators.registry import build_translators

__all__ = ["build_translators"]
