"""Settings of what is read, and of how it is cut."""

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, field_validator

from babelray.config.base import CREDENTIALS, Group


class SourceSettings(Group):
    """One input of a corpus. Access values come from here or from columns, never from a text's own front matter."""

    path: str = Field(description="file or folder, local or s3://")
    format: Literal["markdown", "html", "text", "json", "jsonl", "parquet", "auto"] = Field(
        default="auto", description="auto: by each file's extension; others are left out"
    )
    include: tuple[str, ...] = Field(
        default=(), description="glob patterns relative to path; empty takes all of the format"
    )
    exclude: tuple[str, ...] = Field(default=(), description="glob patterns of what is left out, over `include`")
    tenant_id: str = Field(default="default", min_length=1, description="nobody of another tenant ever sees these")
    knowledge_base_id: str = Field(default="default", min_length=1, description="a part that a search can be kept to")
    acl_groups: tuple[str, ...] = Field(default=("*",), description="* is everyone of the tenant; empty is nobody")
    status: str = Field(default="active", min_length=1, description="searches see `active` unless they ask for others")
    domain: str = Field(default="", description="subject, for terminology: cloud-platform, hr-policy")
    declared_language: str | None = Field(default=None, description="BCP 47; a prior, no block is bound to it")
    language_from_path: str | None = Field(
        default=None, description="regular expression with a group `lang`, matched against the relative path"
    )
    columns: Mapping[str, str] = Field(
        default_factory=dict,
        description="for jsonl and parquet: our field -> column name, for example {text: body}",
    )

    @field_validator("language_from_path")
    @classmethod
    def _has_lang_group(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            groups = re.compile(value).groupindex
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from error
        if "lang" not in groups:
            raise ValueError("needs a named group: (?P<lang>...)")
        return value

    @field_validator("path")
    @classmethod
    def _has_no_credentials(cls, value: str) -> str:
        # Settings are stored with every run and printed by commands.
        if CREDENTIALS.search(value):
            raise ValueError("credentials do not belong in a path: they are read from the environment")
        return value


class TextSettings(Group):
    """How documents are cut into chunks. Part of the policy digest: a change makes new prepared shards."""

    max_tokens: int = Field(default=256, ge=32, le=8192, description="cap of a chunk, by the model-free counter")
    overlap_sentences: int = Field(default=0, ge=0, le=8, description="that a chunk repeats of the one before")
    max_document_bytes: int = Field(default=32 * 2**20, ge=1024, le=2**31, description="larger documents are rejected")
    keep_code: bool = Field(default=True, description="index code blocks too")
