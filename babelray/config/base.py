"""What every group of settings shares."""

import re

from pydantic import BaseModel, ConfigDict

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,62}$"
"""Names that become folders: lower case, digits, dot, dash, underscore."""

CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")
"""The part of a URL that is never stored or printed."""


class Group(BaseModel):
    """A group of settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)
