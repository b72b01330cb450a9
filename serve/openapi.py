"""Writes `serve/openapi.json`: the API as clients may rely on it. Run as `python -m serve.openapi` after a change."""

import json
from pathlib import Path

from serve.routes import bare_app

PATH = Path(__file__).parent / "openapi.json"


def schema_text() -> str:
    """The schema as it is committed."""
    return json.dumps(bare_app().openapi(), indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(schema_text(), encoding="utf-8")
