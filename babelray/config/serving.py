"""Settings of the endpoint: which indexes, who may ask, and how much at a time."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from babelray.config.base import NAME_PATTERN, Group


class ServedIndexSettings(Group):
    """One index that is served."""

    name: str = Field(pattern=NAME_PATTERN, description="name that requests use")
    config: Path | None = Field(
        default=None, description="settings of its own, with its embedder; null: those of this file"
    )


class AuthSettings(Group):
    """Who a caller is, by a signed token (JWT) in the header `Authorization: Bearer`."""

    secret_file: Path | None = Field(default=None, description="file that holds the secret of HS256 tokens")
    jwks_file: Path | None = Field(default=None, description="file with the public keys of RS256 and ES256 tokens")
    jwks_url: str | None = Field(
        default=None, pattern=r"^https://", description="where these keys are read from; https only"
    )
    audience: str = Field(min_length=1, description="`aud` that a token must carry")
    issuer: str | None = Field(default=None, description="`iss` that a token must carry; null: any")
    tenant_claim: str = Field(default="tenant", description="claim with the one tenant of the caller")
    groups_claim: str = Field(default="groups", description="claim with the caller's groups; without it: none")
    knowledge_bases_claim: str = Field(
        default="knowledge_bases", description="claim that keeps the caller to some; without it: all of the tenant"
    )
    leeway_seconds: float = Field(default=10.0, ge=0, le=300, description="by which clocks may differ")

    @model_validator(mode="after")
    def _one_source_of_keys(self) -> Self:
        given = [name for name in ("secret_file", "jwks_file", "jwks_url") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"exactly one of secret_file, jwks_file and jwks_url, not {', '.join(given) or 'none'}: keys of two "
                "kinds side by side are how one is taken for the other"
            )
        return self


class ServingSettings(Group):
    """The endpoint."""

    indexes: tuple[ServedIndexSettings, ...] = Field(
        default=(), description="what is served; empty: the index of this file"
    )
    auth: AuthSettings | None = Field(
        default=None, description="null: whoever asks from this machine is `anonymous_tenant`, and nobody else is heard"
    )
    anonymous_tenant: str = Field(default="default", min_length=1, description="tenant of callers without `auth`")
    anonymous_groups: tuple[str, ...] = Field(default=(), description="groups of callers without `auth`")
    concurrency: int = Field(default=8, ge=1, le=1024, description="searches at a time in one replica")
    waiting: int = Field(default=64, ge=0, le=10_000, description="requests that may wait; more are told to come later")
    deadline_seconds: float = Field(default=10.0, gt=0, le=600, description="of one request, waiting included")
    max_body_bytes: int = Field(default=1_000_000, ge=1000, le=100_000_000, description="of a request")
    shard_groups: int = Field(
        default=0,
        ge=0,
        le=64,
        description="groups that the segments are spread over, each a deployment `Shard0`, `Shard1`... of its own, for "
        "an index that one node cannot hold; 0: every replica holds all",
    )
    refresh_seconds: float = Field(
        default=1.0, ge=0.05, le=3600, description="between two looks at the published generation and the access table"
    )
    raw_scores: Literal["hidden", "shown"] = Field(
        default="hidden",
        description="BM25 scores say something about the words of all tenants of an index; hidden: ranks go out alone",
    )
    feedback: Path | None = Field(
        default=None, description="folder that reports about wrong answers go to; null: beside the store"
    )
