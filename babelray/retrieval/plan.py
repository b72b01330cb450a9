"""The query plan: what will be searched, in which words, and why. Versioned, stored, replayable.

A plan never says who may see what: the scope is compiled by trusted code from the caller's identity, and stands here
only by its digest.
"""

from enum import StrEnum

from pydantic import Field

from babelray.retrieval.query import QueryAnalysis, Record

PLAN_VERSION = "plan-1"


class Purpose(StrEnum):
    """Why a variant is searched. The set is closed."""

    ORIGINAL_LEXICAL = "original_lexical"
    EXACT_ANCHOR = "exact_anchor"
    TRANSLATED_LEXICAL = "translated_lexical"
    MULTILINGUAL_DENSE = "multilingual_dense"
    ALIAS = "alias"


class DriftProblem(Record):
    """One way in which a rewriting says something else than the query.

    Attributes:
        kind: `anchor_loss`, `negation_flip`, `numeric_drift`, `temporal_drift`, `entity_drift`, `scope_drift`,
            `modality_drift`, `comparator_drift`, `placeholder_damage`, `language`, `empty`.
        expected: What the query says, normalized; empty where the variant added something.
        got: What the variant says.
    """

    kind: str
    expected: str = ""
    got: str = ""


class TranslationRecord(Record):
    """Where a translated variant came from."""

    translation_id: str
    translator: str
    model: str
    version: str
    glossary_version: str | None = None
    route: tuple[str, ...] = ()


class Variant(Record):
    """One wording that is searched.

    Attributes:
        language: BCP 47; `und` for codes.
        source: What made it: `query`, `anchors`, `entity:<id>`, `term:<id>`, `translator:<name>`.
        problems: Why it is not searched; empty for one that is.
    """

    variant_id: str
    purpose: Purpose
    text: str
    language: str
    source: str = "query"
    translation: TranslationRecord | None = None
    problems: tuple[DriftProblem, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it may be searched."""
        return not self.problems


class Budgets(Record):
    """How much is looked at, at most."""

    per_channel: dict[str, int]
    variants: int = Field(default=16, ge=1)
    union: int = Field(ge=1)
    per_document: int = Field(ge=1)
    rerank_window: int = Field(ge=0)


class QueryPlan(Record):
    """What a search will do. Equal plans on equal generations under equal scopes give equal results."""

    plan_version: str = PLAN_VERSION
    index: str
    generation: str
    access_revision: str
    scope_digest: str
    analysis: QueryAnalysis
    answer_language: str
    interface_locale: str
    evidence_languages: tuple[str, ...] = ()
    variants: tuple[Variant, ...]
    weights: dict[str, float]
    budgets: Budgets
    versions: dict[str, str] = Field(description="every version that shapes the results: analyzer, model key, glossary")
