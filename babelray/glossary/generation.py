"""Compiled glossaries in a store: terms, all their forms, and vectors of these, in immutable generations.

Expanding 50,000 terms takes ten times as long as reading their forms; embedding them far longer still. A generation is
named by its terms and its model, so that whoever has the same terms may use it, and nobody else can.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from babelray.errors import InputError, IntegrityError
from babelray.glossary.automaton import FoldedForm
from babelray.glossary.hints import HintIndex
from babelray.glossary.inflect.forms import Form, MatchKind
from babelray.glossary.match import TermMatcher
from babelray.glossary.terms import Term
from babelray.glossary.vector_cache import unpack_vectors
from babelray.index.digests import FileRecord, sha256_of
from babelray.index.golden import GoldenVectors
from babelray.index.layout import LAYOUT, GlossaryLayout
from babelray.index.pointer import Pointer, move_pointer, read_pointer
from babelray.index.store import Store
from babelray.keys import ModelKey, digest_of

FORMS_VERSION = "forms-1"
"""Changes whenever the same terms give other forms."""

_FORMS = pa.schema(
    [
        ("term", pa.int32()),
        ("text", pa.string()),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("rule", pa.dictionary(pa.int16(), pa.string())),
        ("cased", pa.bool_()),
        ("folded", pa.string()),
    ]
)


class GlossaryManifest(BaseModel):
    """What a generation holds.

    Attributes:
        glossaries: Name -> version.
        terms_digest: Of all terms: only who has the same ones may use the forms.
        model_key: Of the vectors; None where there are none.
        files: With their checksums.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    generation: str
    name: str
    glossaries: dict[str, int]
    terms_digest: str
    forms_version: str
    model_key: ModelKey | None
    golden: GoldenVectors | None
    source_locales: tuple[str, ...]
    terms: int
    forms: int
    vectors: int
    files: tuple[FileRecord, ...]
    created_at: datetime


def terms_digest(terms: Iterable[Term]) -> str:
    """Names a sequence of terms, their order included: forms name terms by their place."""
    return digest_of([term.model_dump(mode="json") for term in terms], length=32)


def generation_id(terms: str, locales: Sequence[str], key: ModelKey | None) -> str:
    """Names a generation by all that shapes it."""
    return f"g{digest_of([terms, sorted(locales), FORMS_VERSION, key.digest if key else None], length=12)}"


class GlossaryGenerations:
    """The compiled glossaries of one backlog.

    Args:
        store: Where they lie.
        name: Of the backlog (`localization.name`).
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._layout = LAYOUT.glossary(name)

    def layout(self, generation: str) -> GlossaryLayout:
        """Files of a generation."""
        return LAYOUT.glossary_generation(self._name, generation)

    def list(self) -> list[GlossaryManifest]:
        """Finished generations, newest first."""
        names = self._store.folders(self._layout.generations)
        finished = [name for name in names if self._store.exists(self.layout(name).manifest)]
        return sorted((self.show(name) for name in finished), key=lambda one: one.created_at, reverse=True)

    def show(self, generation: str) -> GlossaryManifest:
        """One manifest.

        Raises:
            InputError: There is no such generation.
            IntegrityError: It cannot be read.
        """
        path = self.layout(generation).manifest
        if not self._store.exists(path):
            fix = "`babelray glossary generations` lists them"
            raise InputError("there is no such glossary generation", where=self._name, got=generation, fix=fix)
        try:
            return GlossaryManifest.model_validate_json(self._store.read_bytes(path))
        except ValidationError as error:
            raise IntegrityError("a glossary manifest is damaged", where=path, got=str(error)[:200]) from error

    def pointer(self) -> Pointer | None:
        """Which one is in force, and how it came to be."""
        return read_pointer(self._store, self._layout)[0]

    def publish(self, generation: str, *, reason: str = "") -> Pointer:
        """Verify a generation, every byte, and put it in force.

        Raises:
            InputError: There is no such generation.
            IntegrityError: It is damaged.
            PublishConflict: Another publisher was first; nothing was changed.
        """
        seen = read_pointer(self._store, self._layout)
        self.verify(generation)
        if seen[0] is not None and seen[0].generation == generation:
            return seen[0]
        return move_pointer(self._store, self._layout, seen, generation, "publish", "", reason)

    def rollback(self, to: str | None = None) -> Pointer:
        """Put an earlier generation in force: the one before by default.

        Raises:
            InputError: There is none before.
            IntegrityError: It is damaged.
            PublishConflict: Another publisher was first; nothing was changed.
        """
        seen = read_pointer(self._store, self._layout)
        target = to or (seen[0].previous() if seen[0] else None)
        if target is None:
            raise InputError("there is no earlier glossary generation", where=self._name)
        self.verify(target)
        return move_pointer(self._store, self._layout, seen, target, "rollback", "", "")

    def verify(self, generation: str) -> GlossaryManifest:
        """Compare every byte with the manifest.

        Raises:
            InputError: There is no such generation.
            IntegrityError: A file is missing or differs.
        """
        manifest = self.show(generation)
        for record in manifest.files:
            self._checked(record)
        return manifest

    def find(self, terms: Sequence[Term]) -> "OpenGlossary | None":
        """The generation in force, opened, if it is of exactly these terms.

        Raises:
            IntegrityError: It is damaged.
        """
        pointer = self.pointer()
        if pointer is None:
            return None
        manifest = self.show(pointer.generation)
        same = manifest.terms_digest == terms_digest(terms) and manifest.forms_version == FORMS_VERSION
        return OpenGlossary(self, manifest, terms) if same else None

    def open(self, generation: str) -> "OpenGlossary":
        """One generation with its own terms.

        Raises:
            InputError: There is no such generation.
            IntegrityError: It is damaged.
        """
        manifest = self.show(generation)
        lines = self.read(manifest, self.layout(generation).terms).decode("utf-8").splitlines()
        return OpenGlossary(self, manifest, [Term.model_validate_json(line) for line in lines])

    def read(self, manifest: GlossaryManifest, path: str) -> bytes:
        """A file of a generation, checked.

        Raises:
            IntegrityError: It is missing or differs.
        """
        record = next((one for one in manifest.files if one.path == path), None)
        if record is None:
            raise IntegrityError("a glossary generation lacks a file", where=path, fix="build it again")
        return self._checked(record)

    def _checked(self, record: FileRecord) -> bytes:
        try:
            data = self._store.read_bytes(record.path)
        except InputError as error:
            raise IntegrityError("a glossary file is missing", where=record.path, fix="build it again") from error
        if len(data) != record.size or sha256_of(data) != record.sha256:
            raise IntegrityError("a glossary file is damaged", where=record.path, fix="build it again")
        return data


class OpenGlossary:
    """A generation that is used.

    Args:
        generations: Where its files are read from.
        manifest: Its own.
        terms: The same as its own.
    """

    def __init__(self, generations: GlossaryGenerations, manifest: GlossaryManifest, terms: Sequence[Term]) -> None:
        self._generations, self.manifest, self.terms = generations, manifest, tuple(terms)
        self._layout = generations.layout(manifest.generation)

    def matcher(self, source_locale: str) -> TermMatcher:
        """A matcher by the stored forms; by forms made anew for a locale that was not built.

        Raises:
            IntegrityError: The file is damaged.
        """
        if source_locale not in self.manifest.source_locales:
            return TermMatcher(self.terms, source_locale)
        data = self._generations.read(self.manifest, self._layout.forms(source_locale))
        return TermMatcher(self.terms, source_locale, unpack_forms(data))

    def hint_index(self, matcher: TermMatcher, key: ModelKey) -> HintIndex | None:
        """The stored vectors of a matcher's forms; None where they are another model's, or were not built.

        Raises:
            IntegrityError: The file is damaged, or is of other forms.
        """
        if key != self.manifest.model_key or matcher.source_locale not in self.manifest.source_locales:
            return None
        path = self._layout.vectors(matcher.source_locale)
        texts, vectors = unpack_vectors(self._generations.read(self.manifest, path))
        forms, _ = matcher.listed
        if tuple(texts) != forms:
            raise IntegrityError("stored vectors are of other forms", where=path, fix="build the glossary again")
        return HintIndex(forms, vectors.astype(np.float32))


def pack_forms(forms: Iterable[FoldedForm]) -> bytes:
    """Forms as a Parquet file, in their order."""
    rows = list(forms)
    columns = {
        "term": [one.term for one in rows],
        "text": [one.form.text for one in rows],
        "kind": [one.form.kind.value for one in rows],
        "rule": [one.form.rule for one in rows],
        "cased": [one.form.cased for one in rows],
        "folded": [one.folded for one in rows],
    }
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pydict(columns, schema=_FORMS), sink, compression="zstd")
    return sink.getvalue()


def unpack_forms(data: bytes) -> Iterator[FoldedForm]:
    """The reverse of `pack_forms`."""
    table = pq.read_table(pa.BufferReader(data))
    kinds = {kind.value: kind for kind in MatchKind}
    for term, text, kind, rule, cased, folded in zip(*(table[name].to_pylist() for name in _FORMS.names), strict=True):
        yield FoldedForm(term, Form(text, kinds[kind], rule, cased), folded)
