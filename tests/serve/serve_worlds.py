"""A small published index, settings of an endpoint over it, and callers with tokens."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import jwt
import yaml

from babelray.config import Settings
from babelray.glossary.store import open_glossaries
from tests.jobs.backfill_worlds import terms
from tests.jobs.job_worlds import JobWorld

SECRET = "a secret that is long enough for a hash of 256 bits"
AUDIENCE = "babelray"


def token(key=SECRET, algorithm="HS256", headers=None, **claims):
    """A token that is good unless the claims say otherwise; a claim of None is left out."""
    values = {"aud": AUDIENCE, "exp": int(time.time()) + 300, "tenant": "acme", "groups": ["staff"], **claims}
    values = {name: value for name, value in values.items() if value is not None}
    return jwt.encode(values, key, algorithm, headers)


def bearer(**claims):
    return {"Authorization": f"Bearer {token(**claims)}"}


@dataclass
class ServeWorld:
    """An index of a JobWorld, with a glossary beside it."""

    job: JobWorld
    values: dict

    @classmethod
    def create(cls, root: Path) -> "ServeWorld":
        job = JobWorld.create(root)
        job.run()
        database = f"sqlite:///{root / 'glossaries.sqlite'}"
        open_glossaries(database).commit("g", terms())
        (root / "secret").write_text(SECRET)
        (root / "profile.yaml").write_text("name: test\ntenant_id: acme\nglossaries: [own]\npreload_limit: 0\n")
        own = [one.model_copy(update={"tenant_id": "acme"}) for one in terms()]
        open_glossaries(database).commit("own", own)
        engine = {
            "kind": "command",
            "name": "engine",
            "command": ["tr", "a-z", "A-Z"],
            "pairs": ["en>es"],
            "version": "1",
        }
        values = {
            **job.values,
            "localization": {
                "database": database,
                "profile": str(root / "profile.yaml"),
                "hints": {"enabled": False},
                "translation": {"translators": [engine]},
            },
            "serving": {
                "auth": {"secret_file": str(root / "secret"), "audience": AUDIENCE},
                "refresh_seconds": 0.1,
                "feedback": str(root / "feedback"),
            },
        }
        return cls(job, values)

    def settings(self, **serving) -> Settings:
        return Settings.model_validate({**self.values, "serving": {**self.values["serving"], **serving}})

    def write(self, path: Path, **serving) -> Path:
        values = {**self.values, "serving": {**self.values["serving"], **serving}}
        path.write_text(yaml.safe_dump(json.loads(json.dumps(values))))
        return path
