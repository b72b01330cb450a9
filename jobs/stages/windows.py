"""Windows: what of a unit's strings no enforced match covers; then, over the whole backlog, each embedded once."""

import io
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from babelray.glossary.backlog import read_entries
from babelray.glossary.hints import HintIndex
from babelray.glossary.localizing import Localizer
from babelray.glossary.modes import RetrievalMode
from babelray.glossary.payload import Payload
from babelray.glossary.vector_cache import NGramVectors, read_vectors, write_vectors
from babelray.index.store import Store, open_store
from babelray.keys import digest_of
from jobs.backfill_plan import BackfillPlan
from jobs.ledger import Receipt
from jobs.stages.unit_work import Row, run_unit
from jobs.units import Unit
from models.registry import build_embedder, ensure_on_node

COLLECT, EMBED = "windows", "hints"
_WINDOWS = pa.schema([("partition", pa.int16()), ("text", pa.string())])
_HITS = pa.schema([("text", pa.string()), ("form", pa.string()), ("score", pa.float32())])
_BATCH = 4096
"""Windows embedded between two looks at the memory: their vectors are 6 MB."""


def unit_payloads(store: Store, plan: BackfillPlan, unit: str) -> Iterator[tuple[str, Payload]]:
    """Source locale and payload of each entry of a unit that has one."""
    backlogs = plan.settings.localization.backlog
    for part in Unit.from_bytes(store.read_bytes(plan.layout.unit(unit))).parts:
        for entry in read_entries(part, backlogs[part.source]):
            if entry.payload is not None:
                yield backlogs[part.source].source_locale, entry.payload


def collect_windows(row: Row, *, plan: BackfillPlan) -> Row:
    """Write the open windows of one unit, each once."""
    store, unit = open_store(plan.settings.store), str(row["unit"])
    return run_unit(plan.ledger(COLLECT, store), unit, lambda attempt: _collect(store, plan, unit, attempt))


def _collect(store: Store, plan: BackfillPlan, unit: str, attempt: int) -> Receipt:
    began = time.perf_counter()
    windows: set[str] = set()
    occurrences = strings = 0
    localizers = {locale: Localizer(plan.matcher(store, locale), plan.profile) for locale in plan.source_locales}
    searched = {
        (locale, target)
        for locale, one in localizers.items()
        for target in plan.record.targets
        if one.mode(target) is RetrievalMode.SEARCH
    }
    for locale, payload in unit_payloads(store, plan, unit):
        one = localizers[locale]
        for target in plan.record.targets:
            if (locale, target) not in searched:
                continue
            scope = one.scope(target)
            for string in payload.strings:
                found = one.matcher.match(string.value, scope, pointer=string.pointer, with_ngrams=True)
                windows.update(gram.text for gram in found.open_ngrams)
                occurrences += len(found.open_ngrams)
                strings += 1
    rows = sorted((_partition(text, plan.record.partitions), text) for text in windows)
    table = pa.Table.from_pydict({"partition": [p for p, _ in rows], "text": [t for _, t in rows]}, schema=_WINDOWS)
    record = store.write_atomic(plan.windows(unit), _parquet(table))
    return Receipt(
        stage=COLLECT,
        unit=unit,
        attempt=attempt,
        outputs=(record,),
        counts={"windows": len(windows), "occurrences": occurrences, "strings": strings},
        seconds={COLLECT: time.perf_counter() - began},
    )


def _partition(text: str, partitions: int) -> int:
    return int(digest_of(text), 16) % partitions


class EmbedWindows:
    """A Ray Data actor that embeds the windows of one partition a call and keeps what they are similar to.

    Args:
        plan: The run.
        threads: Threads of a forward pass on the CPU.
    """

    def __init__(self, plan: BackfillPlan, threads: int | None) -> None:
        settings = plan.settings
        assert plan.record.model_key is not None
        self._plan, self._key = plan, plan.record.model_key
        self._store = open_store(settings.store)
        ensure_on_node(settings.embedder, settings.cache_dir)
        self._embedder = build_embedder(settings.embedder, settings.cache_dir, threads=threads)
        self._cache = NGramVectors(self._key, settings.localization.hints.cache_entries)
        read_vectors(self._store, self._key, self._cache)
        self._indexes = [self._index(locale) for locale in plan.source_locales]
        targets = [plan.thresholds.of(s, t) for s in plan.source_locales for t in plan.record.targets]
        self._least = min(targets) - settings.localization.hints.margin

    def _index(self, locale: str) -> HintIndex:
        forms, _ = self._plan.matcher(self._store, locale).listed
        return HintIndex(forms, self._cache.of(forms, self._embedder))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Embed the partition of a one-row batch."""
        row: Row = {name: values[0] for name, values in batch.items()}
        partition = str(row["unit"])
        ledger = self._plan.ledger(EMBED, self._store)
        result = run_unit(ledger, partition, lambda attempt: self._embed(partition, attempt))
        return {name: [value] for name, value in result.items()}

    def _embed(self, partition: str, attempt: int) -> Receipt:
        began = time.perf_counter()
        texts = self._windows(int(partition))
        missing = sorted(set(texts) - self._cache.known(texts))
        tokens = 0
        for start in range(0, len(missing), _BATCH):
            part = missing[start : start + _BATCH]
            vectors, counted = self._cache.embed(part, self._embedder)
            tokens += counted
            write_vectors(self._store, self._key, part, vectors)
        hits: set[tuple[str, str, float]] = set()
        for start in range(0, len(texts), _BATCH):
            part = texts[start : start + _BATCH]
            vectors32 = self._cache.of(part, self._embedder)
            for index in self._indexes:
                for text, found in zip(part, index.similar(vectors32, self._least), strict=True):
                    hits.update((text, index.forms[form], round(score, 6)) for form, score in found)
        rows = sorted(hits, key=lambda one: (one[0], -one[2], one[1]))
        columns = {name: [row[at] for row in rows] for at, name in enumerate(_HITS.names)}
        record = self._store.write_atomic(
            self._plan.hits(partition), _parquet(pa.Table.from_pydict(columns, schema=_HITS))
        )
        return Receipt(
            stage=EMBED,
            unit=partition,
            attempt=attempt,
            outputs=(record,),
            counts={"distinct_windows": len(texts), "embedded": len(missing), "hits": len(rows), "tokens": tokens},
            seconds={EMBED: time.perf_counter() - began},
        )

    def _windows(self, partition: int) -> list[str]:
        """The partition's windows over all units, each once, sorted."""
        found: set[str] = set()
        for path, _ in self._store.files(f"{self._plan.layout.root}/windows"):
            table = pq.read_table(pa.BufferReader(self._store.read_bytes(path)), schema=_WINDOWS)
            found.update(table.filter(pc.equal(table["partition"], partition))["text"].to_pylist())
        return sorted(found)


def read_hits(store: Store, plan: BackfillPlan, locale: str) -> dict[str, list[tuple[int, float]]]:
    """Window -> forms of one source locale's terms that it is similar to, best first."""
    forms, _ = plan.matcher(store, locale).listed
    numbers = {form: number for number, form in enumerate(forms)}
    found: dict[str, list[tuple[int, float]]] = {}
    for partition in plan.partitions:
        table = pq.read_table(pa.BufferReader(store.read_bytes(plan.hits(partition))), schema=_HITS)
        for text, form, score in zip(*(table[name].to_pylist() for name in _HITS.names), strict=True):
            if form in numbers:
                found.setdefault(text, []).append((numbers[form], score))
    return found


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()
