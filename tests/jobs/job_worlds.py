"""Small corpora, settings of jobs over them, and what a store holds after a job."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from babelray.config import Settings
from babelray.index.digests import sha256_of
from babelray.index.generations import Catalog
from babelray.index.store import open_store
from jobs.planning import make_plan
from jobs.reindex import run

PLACES = ("harbour", "mountain", "library", "station", "garden", "market", "bridge", "school", "theatre", "museum")
EN = "The {place} number {n} opens at {hour} in the morning. Visitors pay {n} euros. Bring the card KX-{n}."
DE = "Die {place} Nummer {n} öffnet um {hour} Uhr. Besucher zahlen {n} Euro und bringen die Karte KX-{n} mit."


def english(n: int) -> str:
    return EN.format(place=PLACES[n % len(PLACES)], n=n, hour=6 + n % 5)


def german(n: int) -> str:
    return DE.format(place=PLACES[n % len(PLACES)], n=n, hour=6 + n % 5)


@dataclass
class JobWorld:
    """A corpus in a folder and a job over it."""

    root: Path
    values: dict = field(default_factory=dict)

    @classmethod
    def create(cls, root: Path, pages: int = 12) -> "JobWorld":
        """`pages` Markdown pages in two languages, 5 JSONL rows, 4 Parquet rows, an HTML page, a broken file, an empty
        page: 12 + 5 + 4 + 1 documents, 2 rejects."""
        corpus = root / "corpus"
        (corpus / "pages").mkdir(parents=True)
        for n in range(pages):
            write_page(corpus, n)
        (corpus / "pages/broken.md").write_bytes(b"caf\xe9 in Latin-1, not UTF-8: \x80\x81")
        (corpus / "pages/empty.md").write_text("")
        (corpus / "web").mkdir()
        (corpus / "web/one.html").write_text(
            f"<html lang=en><body><h1>Ferry</h1><p>{english(77)}</p><!-- not content --></body></html>"
        )
        rows = [{"id": f"r{n}", "text": english(100 + n), "title": f"Row {n}"} for n in range(5)]
        (corpus / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        table = pa.table({"id": [f"p{n}" for n in range(4)], "text": [german(200 + n) for n in range(4)]})
        pq.write_table(table, corpus / "rows.parquet")
        values = {
            "store": str(root / "store"),
            "cache": str(root / "cache"),
            "index": "trip",
            "corpus": "trip",
            "sources": [
                {"path": str(corpus / "pages"), "format": "markdown", "tenant_id": "acme"},
                {"path": str(corpus / "web"), "format": "html", "tenant_id": "acme"},
                {"path": str(corpus / "rows.jsonl"), "format": "jsonl", "tenant_id": "acme", "acl_groups": ["staff"]},
                {"path": str(corpus / "rows.parquet"), "format": "parquet", "tenant_id": "other"},
            ],
            "embedder": {"kind": "hash", "dimension": 32},
            "vectors": {"kind": "flat", "heldout_queries": 16},
            "units": {"target_texts": 10, "units_per_segment": 4},
        }
        return cls(root, values)

    @classmethod
    def of_rows(cls, root: Path, rows: int, units: int = 40) -> "JobWorld":
        """`rows` one-line pages in about `units` units: enough to be killed in the middle of."""
        corpus = root / "corpus/pages"
        corpus.mkdir(parents=True)
        for n in range(rows):
            (corpus / f"{n:05d}.md").write_text(f"# Place {n}\n\n{english(n)}\n")
        size = sum(page.stat().st_size for page in corpus.iterdir())
        world = cls.create(root / "unused", pages=0)
        world.root = root
        world.values["store"], world.values["cache"] = str(root / "store"), str(root / "cache")
        world.values["sources"] = [{"path": str(corpus), "format": "markdown", "tenant_id": "acme"}]
        world.values["units"] = {"target_texts": -(-size // 110 // units), "units_per_segment": 16}
        return world

    @property
    def pages(self) -> Path:
        return self.root / "corpus/pages"

    @property
    def settings(self) -> Settings:
        return Settings.model_validate(self.values)

    @property
    def store(self):
        return open_store(self.settings.store)

    def with_(self, **groups) -> "JobWorld":
        """The same corpus and store with some settings changed, groups merged."""
        values = {**self.values}
        for name, value in groups.items():
            old = values.get(name)
            values[name] = {**old, **value} if isinstance(value, dict) and isinstance(old, dict) else value
        return JobWorld(self.root, values)

    def in_store(self, name: str) -> "JobWorld":
        """The same corpus and settings into an empty store of another name."""
        return self.with_(store=str(self.root / name))

    def run(self, **options):
        return run(self.settings, **options)

    def plan(self, limit=None):
        return make_plan(self.settings, limit)[0]

    def write_config(self) -> Path:
        path = self.root / f"{Path(self.values['store']).name}.yaml"
        path.write_text(yaml.safe_dump(self.values))
        return path

    def catalog(self) -> Catalog:
        return Catalog(self.store, self.settings.index)

    def current(self) -> str:
        pointer = self.catalog().pointer()
        return pointer.generation if pointer else ""

    def shards(self) -> dict[str, str]:
        """Path -> digest of every prepared and embedded shard."""
        store = self.store
        return {
            path: sha256_of(store.read_bytes(path))
            for folder in ("prepared", "embedded")
            for path, _ in store.files(folder)
        }

    def receipts(self, stage: str) -> int:
        """Receipts of a stage, of all runs together."""
        return sum(f"/receipts/{stage}/" in path for path, _ in self.store.files("runs"))

    def attempts(self, stage: str) -> dict[str, int]:
        """Unit -> attempts that were marked in a stage."""
        found: dict[str, int] = {}
        for path, _ in self.store.files("runs"):
            if f"/attempts/{stage}/" in path:
                unit = path.split("/")[-1].rsplit(".", 2)[0]
                found[unit] = found.get(unit, 0) + 1
        return found


def write_page(corpus: Path, n: int, text: str | None = None) -> Path:
    """One Markdown page: even ones English, odd ones with a German paragraph too."""
    (corpus / "pages").mkdir(parents=True, exist_ok=True)
    page = corpus / f"pages/page{n:03d}.md"
    body = text or f"{english(n)}\n\n## More\n\n{german(n) if n % 2 else english(n + 500)}"
    page.write_text(f"# Page {n}\n\n{body}\n")
    return page
