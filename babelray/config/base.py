"""What every group of settings shares."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,62}$"
"""Names that become folders: lower case, digits, dot, dash, underscore."""

CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")
"""The part of a URL that is never stored or printed."""


_SECRETS = re.compile(r"((?<=:)(?://)?)[^@]*(?=@)|((?<=password=))[^&]*")


def without_secrets(url: str) -> str:
    """A database URL as it may be stored with a run or printed; the account goes with its password."""
    return _SECRETS.sub(r"\1***", url)


DatabaseUrl = Annotated[str, PlainSerializer(without_secrets, when_used="json")]
"""A place that may be a URL with a password: whole in memory, without it in every JSON or YAML that is made of it."""


class Group(BaseModel):
    """A group of settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
