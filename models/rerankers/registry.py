"""From settings to a reranker."""

from babelray.config import RerankSettings
from babelray.protocols import Reranker


def build_reranker(settings: RerankSettings) -> Reranker | None:
    """The model that reads the best candidates again; None where the settings ask for none, or for stored vectors.

    Raises:
        ConfigError: The checkpoint cannot be used.
        IntegrityError: The checkpoint lacks weights.
    """
    if settings.kind != "cross-encoder":
        return None
    # Torch and transformers take seconds to import.
    from models.rerankers.cross_encoder import build_cross_encoder

    return build_cross_encoder(settings)
