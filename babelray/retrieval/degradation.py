"""What a search did without, and why: the reason codes of the degradation matrix."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why an answer was made with less than all parts."""

    LANG_LOW_CONFIDENCE = "lang_low_confidence"
    TRANSLATED_CHANNEL_SKIPPED = "translated_channel_skipped"
    ANCHOR_VALIDATION_FAILED = "anchor_validation_failed"
    GLOSSARY_AMBIGUOUS = "glossary_ambiguous"
    DENSE_UNAVAILABLE = "dense_unavailable"
    RERANK_UNAVAILABLE = "rerank_unavailable"
    RERANK_LANGUAGE_UNSUPPORTED = "rerank_language_unsupported"
    PREVIEW_TRANSLATION_FAILED = "preview_translation_failed"
    ANALYZER_CHANGED = "analyzer_changed"
    PLAN_NOT_KEPT = "plan_not_kept"
    SCOPE_RESOLUTION_FAILED = "scope_resolution_failed"


@dataclass(frozen=True, slots=True)
class Degradation:
    """One part that was done without.

    Attributes:
        fallback: What was done instead.
        detail: One line for a human; holds no text of the query.
    """

    reason: Reason
    fallback: str
    detail: str = ""
