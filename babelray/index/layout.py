"""Where everything lies in a store. Paths are relative to the store's root and use `/`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SegmentLayout:
    """Files of one immutable segment."""

    root: str

    @property
    def documents(self) -> str:
        """One row a document: original text and metadata."""
        return f"{self.root}/documents.arrow"

    @property
    def chunks(self) -> str:
        """One row a chunk; row i here is vector i of the FAISS files and row i of `rows`."""
        return f"{self.root}/chunks.arrow"

    @property
    def sentences(self) -> str:
        """One row a sentence; row i is vector i of `sentence_vectors`."""
        return f"{self.root}/sentences.arrow"

    @property
    def rows(self) -> str:
        """Access class, document row and validity of each chunk row."""
        return f"{self.root}/rows.arrow"

    @property
    def vectors(self) -> str:
        """The approximate FAISS index; a flat generation has none, `vectors_f16` answers alone."""
        return f"{self.root}/vectors.faiss"

    @property
    def vectors_f16(self) -> str:
        """Flat fp16 FAISS index: refinement and exact scans."""
        return f"{self.root}/vectors.f16.faiss"

    @property
    def sentence_vectors(self) -> str:
        """Raw little-endian float16 (sentences, dimension)."""
        return f"{self.root}/sentence_vectors.f16"

    @property
    def lexical(self) -> str:
        """Folder of the Tantivy index."""
        return f"{self.root}/lexical"


@dataclass(frozen=True, slots=True)
class GenerationLayout:
    """One generation; its manifest is written last and makes it exist."""

    root: str

    @property
    def manifest(self) -> str:
        """The commit point of the generation."""
        return f"{self.root}/manifest.json"

    def segment(self, name: str) -> SegmentLayout:
        """Files of the segment called `name` (`0003-1f2e3d4c`: number and attempt)."""
        return SegmentLayout(f"{self.root}/segments/{name}")


@dataclass(frozen=True, slots=True)
class IndexLayout:
    """One index: its generations, its pointer and its access table."""

    root: str

    @property
    def current(self) -> str:
        """The published pointer with its history; changed only by compare-and-swap."""
        return f"{self.root}/current.json"

    @property
    def generations(self) -> str:
        """Folder of all generations."""
        return f"{self.root}/generations"

    def generation(self, generation: str) -> GenerationLayout:
        """One generation by its id."""
        return GenerationLayout(f"{self.root}/generations/{generation}")

    @property
    def pins(self) -> str:
        """Folder of pins: a file a pinned generation, which garbage collection keeps whatever its other rules say."""
        return f"{self.root}/pins"

    def pin(self, generation: str) -> str:
        """Who pinned a generation and why; created if absent, so that pinning never races with publishing."""
        return f"{self.root}/pins/{generation}.json"

    @property
    def leases(self) -> str:
        """Folder of leases: a file a searcher, naming the generations it holds open and until when it may."""
        return f"{self.root}/leases"

    @property
    def access_pointer(self) -> str:
        """Names the current access revision; changed only by compare-and-swap."""
        return f"{self.root}/access/access.json"

    def access_table(self, revision: str) -> str:
        """One immutable revision of the access table."""
        return f"{self.root}/access/{revision}.arrow"


@dataclass(frozen=True, slots=True)
class RunLayout:
    """Receipts of one run; the run digest names inputs and configuration together."""

    root: str

    @property
    def plan(self) -> str:
        """What was decided before work began."""
        return f"{self.root}/plan.json"

    def unit(self, unit: str) -> str:
        """Which parts of the input a unit consists of; a worker reads it by the unit's name."""
        return f"{self.root}/units/{unit}.json"

    @property
    def golden(self) -> str:
        """Golden vectors, by the first embedder that was loaded."""
        return f"{self.root}/golden.json"

    @property
    def trained(self) -> str:
        """The trained empty vector index that every segment starts from."""
        return f"{self.root}/trained.faiss"

    def receipts(self, stage: str) -> str:
        """Folder of a stage's receipts."""
        return f"{self.root}/receipts/{stage}"

    def receipt(self, stage: str, unit: str) -> str:
        """Committed when, and only when, the unit's outputs are in place."""
        return f"{self.root}/receipts/{stage}/{unit}.json"

    def attempt(self, stage: str, unit: str, number: int) -> str:
        """Marks that an attempt was begun; too many without a receipt quarantine the unit."""
        return f"{self.root}/attempts/{stage}/{unit}.{number}"

    def rejects(self, unit: str) -> str:
        """Refused records of a unit, one row each."""
        return f"{self.root}/rejects/{unit}.parquet"

    @property
    def stats(self) -> str:
        """Totals of the finished run."""
        return f"{self.root}/stats.json"


@dataclass(frozen=True, slots=True)
class GlossaryLayout:
    """Files of one glossary generation; its manifest is written last and makes it exist."""

    root: str

    @property
    def manifest(self) -> str:
        """The commit point of the generation."""
        return f"{self.root}/manifest.json"

    @property
    def terms(self) -> str:
        """All terms, one JSON object a line."""
        return f"{self.root}/terms.jsonl"

    def forms(self, locale: str) -> str:
        """Every form of the terms of one source locale, folded."""
        return f"{self.root}/forms-{locale}.parquet"

    def vectors(self, locale: str) -> str:
        """Vectors of their listed forms."""
        return f"{self.root}/vectors-{locale}.parquet"


@dataclass(frozen=True, slots=True)
class CalibrationLayout:
    """Calibrated thresholds of one backlog and model."""

    root: str

    @property
    def current(self) -> str:
        """Names the version in force, with its history; changed only by compare-and-swap."""
        return f"{self.root}/current.json"

    def version(self, version: str) -> str:
        """One immutable version."""
        return f"{self.root}/versions/{version}.json"


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The root of a store."""

    def prepared(self, corpus: str, policy: str, shard: str) -> str:
        """Blocks, sentences and chunks of a unit: no model in it."""
        return f"prepared/{corpus}/{policy}/{shard}.parquet"

    def embedded(self, corpus: str, policy: str, model_key: str, shard: str) -> str:
        """Chunk and sentence vectors of a unit."""
        return f"embedded/{corpus}/{policy}/{model_key}/{shard}.parquet"

    def window_vectors_of(self, model_key: str) -> str:
        """Folder of the vectors of glossary windows that a model has embedded, whatever glossary and payload."""
        return f"windows/{model_key}"

    def window_vectors(self, model_key: str, content: str) -> str:
        """One file of them, named by its content."""
        return f"windows/{model_key}/{content}.parquet"

    def glossary(self, name: str) -> IndexLayout:
        """Generations and pointer of the compiled glossaries of one backlog, laid out as those of an index."""
        return IndexLayout(f"glossaries/{name}")

    def glossary_generation(self, name: str, generation: str) -> GlossaryLayout:
        """One of them."""
        return GlossaryLayout(f"glossaries/{name}/generations/{generation}")

    def calibration(self, name: str, model_key: str) -> CalibrationLayout:
        """Thresholds of hints of one backlog, by the model whose cosines they are."""
        return CalibrationLayout(f"calibrations/{name}/{model_key}")

    def run(self, job: str, digest: str) -> RunLayout:
        """Plan, receipts and rejects of a run."""
        return RunLayout(f"runs/{job}/{digest}")

    @property
    def indexes(self) -> str:
        """Folder of all indexes."""
        return "indexes"

    def index(self, name: str) -> IndexLayout:
        """One index by name."""
        return IndexLayout(f"indexes/{name}")


LAYOUT = StoreLayout()
