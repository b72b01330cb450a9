"""A backlog in three formats, a glossary, and settings of a backfill over them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from babelray.config import Settings
from babelray.glossary.records import LocalizedString
from babelray.glossary.store import open_glossaries
from babelray.glossary.terms import Term
from jobs.backfill import run

TERMS = [
    ("orchard", "Orchard", "", "*"),
    ("backup", "backup", "copia", "es"),
    ("backup", "backup", "Sicherung", "de"),
    ("invoice", "invoice", "factura", "es"),
    ("retention", "retention period", "periodo de retención", "es"),
]
BROKEN = '{"title": "half a payl'


def terms():
    return [
        Term(
            term_id=term_id,
            source_locale="en",
            target_locale=locale,
            source=source,
            target=target,
            kind="custom_translation" if target else "non_translatable",
        )
        for term_id, source, target, locale in TERMS
    ]


def payload(n):
    """Spacing, escapes, number forms and repeated keys that a rewriting JSON library would change."""
    return (
        f'{{ "title" : "The backup {n} of Orchard",\n  "n": 1.50e3, "k": "Save {{name}}", "k": "Caf\\u00e9 {n}",'
        f' "list": ["an invoice", 7, null, ""],\t"deep": {{"help": "Retention periods of <b>{n}</b> days"}} }}'
    )


@dataclass(frozen=True)
class BackfillWorld:
    root: Path
    values: dict

    @classmethod
    def create(cls, root: Path, files: int = 6, program: tuple[str, ...] = ("tr", "a-z", "A-Z")) -> "BackfillWorld":
        backlog = root / "backlog"
        (backlog / "deep/er").mkdir(parents=True)
        for n in range(files):
            folder = backlog / ("deep/er" if n % 2 else "")
            (folder / f"p{n:03d}.json").write_text(payload(n))
        (backlog / "broken.json").write_text(BROKEN)
        lines = [payload(n).replace("\n", " ") for n in range(100, 105)]
        (backlog / "rows.jsonl").write_bytes(("\r\n".join([*lines[:3], "", "not JSON", *lines[3:]]) + "\n").encode())
        table = pa.table({"id": [1, 2, 3], "payload": [payload(200), None, payload(201)], "z": ["a", "b", "c"]})
        pq.write_table(table, backlog / "rows.parquet")
        database = f"sqlite:///{root / 'glossaries.sqlite'}"
        open_glossaries(database).commit("g", terms())
        engine = {"kind": "command", "name": "engine", "command": list(program), "pairs": ["en>es", "en>de"]}
        values = {
            "store": str(root / "store"),
            "cache": str(root / "cache"),
            "embedder": {"kind": "hash", "dimension": 32},
            "units": {"max_attempts": 2},
            "localization": {
                "name": "test",
                "database": database,
                "profile": str(root / "profile.yaml"),
                "targets": ["es", "de"],
                "backlog": [{"path": str(backlog)}],
                "output": str(root / "output"),
                "hints": {"enabled": False},
                "translation": {"translators": [{**engine, "version": "1"}]},
                "strings_per_unit": 10,
            },
        }
        (root / "profile.yaml").write_text("name: test\nglossaries: [g]\npreload_limit: 0\n")
        return cls(root, values)

    @property
    def settings(self) -> Settings:
        return Settings.model_validate(self.values)

    @property
    def output(self) -> Path:
        return Path(self.values["localization"]["output"])

    @property
    def backlog(self) -> Path:
        return self.root / "backlog"

    def with_(self, **localization) -> "BackfillWorld":
        values = {**self.values, "localization": {**self.values["localization"], **localization}}
        return replace(self, values=values)

    def elsewhere(self, name: str) -> "BackfillWorld":
        """The same backlog into another store and output."""
        other = self.with_(output=str(self.root / f"output-{name}"))
        return replace(other, values={**other.values, "store": str(self.root / f"store-{name}")})

    def write_config(self) -> Path:
        path = self.root / f"{Path(self.values['store']).name}.yaml"
        path.write_text(yaml.safe_dump(self.values))
        return path

    def run(self, **options):
        return run(self.settings, **options)

    def records(self, target: str) -> list[LocalizedString]:
        return [LocalizedString.model_validate(row) for row in self.lines("records", target)]

    def lines(self, kind: str, target: str) -> list[dict]:
        files = sorted((self.output / kind / target).glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def payloads(self, target: str) -> dict[str, bytes]:
        folder = self.output / "payloads" / target
        return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}

    def receipts(self, stage: str) -> int:
        return sum(1 for _ in Path(self.values["store"]).glob(f"runs/backfill/*/receipts/{stage}/[!.]*.json"))
