"""How a request gets its terms, by how many there are for its pair of locales."""

from enum import StrEnum

from babelray.errors import ConfigError

DEFAULT_PRELOAD_LIMIT = 40
"""Terms that a prompt may simply hold. A starting value: calibration proposes another from measured latency."""


class RetrievalMode(StrEnum):
    """`skip`: no term, nothing to do. `preload`: few, all go into the prompt. `search`: those found in the text."""

    SKIP = "skip"
    PRELOAD = "preload"
    SEARCH = "search"


def choose_mode(term_count: int, preload_limit: int = DEFAULT_PRELOAD_LIMIT) -> RetrievalMode:
    """The mode for a request.

    Args:
        term_count: Terms of the request's scope (pair, tenant, domains, validity), from `TermMatcher.count`.
        preload_limit: Up to this many are preloaded; 0 always searches.

    Raises:
        ConfigError: A number is negative.
    """
    if term_count < 0 or preload_limit < 0:
        raise ConfigError(
            "a count of terms is negative", got=f"{term_count} terms, limit {preload_limit}", allowed=">= 0"
        )
    if term_count == 0:
        return RetrievalMode.SKIP
    return RetrievalMode.PRELOAD if term_count <= preload_limit else RetrievalMode.SEARCH
