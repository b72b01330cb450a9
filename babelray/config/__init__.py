"""Every setting, typed, bounded and frozen. The only reader of the environment.

A YAML file gives the settings of one job or deployment; `BABELRAY_*` variables override single values, `__` entering a
group: `BABELRAY_STORE=/data/store`, `BABELRAY_EMBEDDER__TOKEN_BUDGET=2048`.
"""

from babelray.config.base import NAME_PATTERN, Group
from babelray.config.corpus import SourceSettings, TextSettings
from babelray.config.embedders import (
    BundledE5Settings,
    BundledMiniLmSettings,
    EmbedderSettings,
    EndpointSettings,
    HashSettings,
    TorchSettings,
)
from babelray.config.jobs import ResourceSettings, UnitSettings, VectorSettings
from babelray.config.localization import (
    BacklogSettings,
    CalibrationSettings,
    HintSettings,
    JudgeSettings,
    LocalizationSettings,
    ScoringSettings,
)
from babelray.config.qasc import AutoWindowSettings, PaperWindowSettings, QascSettings, UnitWindowSettings
from babelray.config.retrieval import (
    CacheSettings,
    ChannelSettings,
    ChannelsSettings,
    CohortWeights,
    DeadlineSettings,
    FusionSettings,
    RerankSettings,
    RetrievalSettings,
)
from babelray.config.serving import AuthSettings, ServedIndexSettings, ServingSettings
from babelray.config.settings import ENV_PREFIX, Settings, load_settings
from babelray.config.translation import (
    CommandTranslatorSettings,
    DataBoundary,
    GlossaryTranslatorSettings,
    HttpTranslatorSettings,
    Redaction,
    RouteSettings,
    Seq2SeqTranslatorSettings,
    TranslationSettings,
    TranslatorSettings,
)

__all__ = [
    "ENV_PREFIX",
    "NAME_PATTERN",
    "AuthSettings",
    "AutoWindowSettings",
    "BacklogSettings",
    "BundledE5Settings",
    "BundledMiniLmSettings",
    "CacheSettings",
    "CalibrationSettings",
    "ChannelSettings",
    "ChannelsSettings",
    "CohortWeights",
    "CommandTranslatorSettings",
    "DataBoundary",
    "DeadlineSettings",
    "EmbedderSettings",
    "EndpointSettings",
    "FusionSettings",
    "GlossaryTranslatorSettings",
    "Group",
    "HashSettings",
    "HintSettings",
    "HttpTranslatorSettings",
    "JudgeSettings",
    "LocalizationSettings",
    "PaperWindowSettings",
    "QascSettings",
    "Redaction",
    "RerankSettings",
    "ResourceSettings",
    "RetrievalSettings",
    "RouteSettings",
    "ScoringSettings",
    "Seq2SeqTranslatorSettings",
    "ServedIndexSettings",
    "ServingSettings",
    "Settings",
    "SourceSettings",
    "TextSettings",
    "TorchSettings",
    "TranslationSettings",
    "TranslatorSettings",
    "UnitSettings",
    "UnitWindowSettings",
    "VectorSettings",
    "load_settings",
]
