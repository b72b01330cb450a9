"""Models that score translations; never the one that made them."""

from models.judges.chat import ChatJudge

__all__ = ["ChatJudge"]
