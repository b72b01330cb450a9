"""Random corpora with rights, asked through the whole retriever; what may come out is worked out the slow way.

The small seeded run is in test_scope_end_to_end.py, the long one in benchmarks/scope_leaks.py.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from types import SimpleNamespace

import numpy as np

from babelray.config import (
    ChannelSettings,
    ChannelsSettings,
    FusionSettings,
    RerankSettings,
    RetrievalSettings,
    TranslationSettings,
)
from babelray.errors import AccessDenied
from babelray.glossary.terms import Entity
from babelray.index.access import AccessScope, AccessValues
from babelray.index.access_store import apply_changes
from babelray.index.lexical import UNFILTERED
from babelray.index.store import open_store
from babelray.protocols import Encoded, LanguageCandidate, Translation
from babelray.retrieval import planner
from babelray.retrieval.aliases import AliasTable
from babelray.retrieval.channels import Channel, lexical_parts
from babelray.retrieval.engine import Parts, Retriever
from babelray.retrieval.request import Request
from babelray.text.analysis import analyzer_version
from babelray.text.language import LanguagePolicy
from tests.index.access_worlds import BASES, GROUPS, STATUSES, TENANTS
from tests.index.segment_worlds import KEY, NOW, WORDS, always_probe, open_world, unit_vectors
from tests.index.test_reader import random_changes

CODES = ("ERR_1205", "ERR_1207", "max_retries", "v2.1.0", "v2.10.3")
IN_CHINESE = {"database": "数据库", "tenant": "租户", "restart": "再起動"}
NAMES = (("pod", "容器组"), ("db", "数据库"), ("secret", "gateway"))
ASKED = (*WORDS, *CODES, *IN_CHINESE, "容器组", "db", "nothing")
EVERYTHING = 10_000
"""Candidates of a channel: more than any of these corpora has rows."""


class ByScript:
    """Han is Chinese, all else English: which language it is does not matter here, that it is sure does."""

    version = "by-script"

    def identify(self, texts, limit=5):
        return [[LanguageCandidate("zh" if re.search("[\u4e00-\u9fff]", text) else "en", 1.0)] for text in texts]


class ByHash:
    """Unit vectors that depend on the text alone."""

    key = KEY

    def encode(self, texts, role):
        made = []
        for text in texts:
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
            made.append(unit_vectors(np.random.default_rng(seed), 1)[0].astype(np.float32))
        return Encoded(np.stack(made), np.ones(len(texts), np.int32), np.zeros(len(texts), bool))


class WordByWord:
    """Translates the words it knows into Chinese."""

    version = "word-by-word"

    def can(self, source, target):
        return (source, target) == ("en", "zh")

    def translate(self, texts, source, target, *, tenant_id, domain="", protected=()):
        made = []
        for text in texts:
            said = " ".join(IN_CHINESE.get(word, word) for word in text.split())
            made.append(Translation(said, source, target, "words", "w", "1") if said != text else None)
        return made


def random_scope(rng):
    return AccessScope(
        tenant_id=str(rng.choice([*TENANTS, "unknown"], p=[0.3, 0.3, 0.3, 0.1])),
        groups=frozenset(group for group in GROUPS if rng.random() < 0.4),
        knowledge_bases=None if rng.random() < 0.5 else frozenset(base for base in BASES if rng.random() < 0.6),
        statuses=frozenset(status for status in STATUSES if rng.random() < 0.8),
        as_of=NOW + timedelta(microseconds=int(rng.integers(-1, 2))),
    )


def random_narrowing(rng, scope):
    """What a request asks for: a part of the scope, nothing, and now and then more than the scope holds."""
    wishes = {}
    for name, all_of_them in (("groups", GROUPS), ("knowledge_bases", BASES), ("statuses", STATUSES)):
        held = getattr(scope, name)
        if rng.random() < 0.2:
            pool = sorted(all_of_them if held is None or rng.random() < 0.1 else held)
            wishes[name] = tuple(one for one in pool if rng.random() < 0.6)
    return wishes


def narrowed(scope, wishes):
    """The scope with the wishes in place of its own parts; `None` if one of them asks for more."""
    for name, wish in wishes.items():
        held = getattr(scope, name)
        if held is not None and not set(wish) <= set(held):
            return None
    return AccessScope(**{**scope.model_dump(), **{name: frozenset(wish) for name, wish in wishes.items()}})


@dataclass
class Tally:
    """What a run has looked at.

    Attributes:
        leaked, missed: Rows outside a scope that came out, and rows inside it that an exact search did not find.
        channels: Rows by channel that came out and had to.
    """

    asked: int = 0
    refused: int = 0
    shown: int = 0
    leaked: int = 0
    missed: int = 0
    passages: int = 0
    cached: int = 0
    channels: Counter = None

    def __post_init__(self):
        self.channels = self.channels or Counter()

    def add(self, other):
        """Take up the numbers of another run."""
        for name in ("asked", "refused", "shown", "leaked", "missed", "passages", "cached"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.channels += other.channels


class ScopeWorld:
    """One random corpus with two retrievers.

    One takes every row, so that nothing may be missed; the other takes few, so that the probing search and the caps
    are at work.
    """

    def __init__(self, folder, seed, kind="flat", documents=12):
        self.rng = np.random.default_rng(seed)
        self.store = open_store(str(folder / "store"))
        plan = always_probe() if kind == "ivf_sq8" else None
        words = (*WORDS, *CODES, *IN_CHINESE.values(), "容器组")
        self.generation, self.corpora = open_world(
            self.store, folder / "work", self.rng, kind, plan, documents=documents, words=words
        )
        self.generation.manifest.analyzer_version = analyzer_version()
        self.generation.manifest.counts = SimpleNamespace(chunks_by_language={"en": 60, "zh": 40})
        self.places, self.documents = self._rows()
        self.table = self.generation._access
        self.everything = self._retriever(EVERYTHING, rerank="none")
        self.few = self._retriever(3, rerank="sentences")
        self.tally = Tally()
        self.before = None

    def close(self):
        """Let the threads go."""
        self.everything.close()
        self.few.close()

    def _retriever(self, candidates, rerank):
        one = ChannelSettings(candidates=candidates)
        settings = RetrievalSettings(
            channels=ChannelsSettings(exact=one, original=one, general=one, translated=one, dense=one, alias=one),
            fusion=FusionSettings(union=100_000 if candidates == EVERYTHING else 10, per_document=1000),
            rerank=RerankSettings(kind=rerank),
            translation=TranslationSettings(targets=("zh",)),
        )
        entities = [
            Entity(entity_id=f"e{number}", canonical_name=names[0], aliases=names[1:])
            for number, names in enumerate(NAMES)
        ]
        parts = Parts(
            languages=LanguagePolicy(ByScript()),
            settings=settings,
            embedder=ByHash(),
            aliases=AliasTable(entities, []),
            translator=WordByWord(),
        )
        return Retriever(self.generation, parts)

    def _rows(self):
        """Chunk id -> (segment, row), and document id -> document."""
        places, documents = {}, {}
        for segment, corpus in enumerate(self.corpora):
            row = 0
            for one in corpus:
                documents[one.document.doc_id] = one.document
                for chunk in one.chunks:
                    places[chunk.chunk_id] = (segment, row)
                    row += 1
        return places, documents

    def change_rights(self):
        """Overrides, deletions and changed classes at random; now and then the newest class is lost from the table."""
        self.table = apply_changes(self.store, "main", random_changes(self.rng, self.corpora))
        self.generation.refresh_access()
        if self.rng.random() < 0.3:
            left = self.table.classes[:-1]
            self.table = replace(self.table, revision=f"{self.table.revision}-cut", classes=left)
            self.generation._access = self.table

    def sees(self, scope, document):
        """The rules, long and separate from the code under test."""
        declared = AccessValues.of(document)
        known = [one for one in self.table.classes if one.declared == declared]
        if not known or document.doc_id in self.table.deleted:
            return False
        values = self.table.overrides.get(document.doc_id, known[0].effective)
        if not values.tenant_id == known[0].effective.tenant_id == scope.tenant_id:
            return False
        if values.status not in scope.statuses:
            return False
        if scope.knowledge_bases is not None and values.knowledge_base_id not in scope.knowledge_bases:
            return False
        if "*" not in values.groups and not set(values.groups) & set(scope.groups):
            return False
        early = document.valid_from is not None and scope.as_of < document.valid_from
        late = document.valid_to is not None and scope.as_of >= document.valid_to
        return not early and not late

    def visible(self, scope):
        """Places of every chunk that a scope shows."""
        shown = {doc_id for doc_id, document in self.documents.items() if self.sees(scope, document)}
        return {place for chunk_id, place in self.places.items() if chunk_id.rpartition("#")[0] in shown}

    def expected(self, plan, visible):
        """What each channel has to find: all that matches anywhere, less what the scope does not show."""
        segments = self.generation.segments
        languages = planner.likely_languages(plan.analysis)
        found = {}
        for channel in Channel:
            variants = planner.searched(plan, channel)
            if channel is Channel.DENSE:
                found[channel] = {(at, row) for at, row in visible if segments[at].access.has_vector[row]}
                continue
            parts = lexical_parts(channel, variants, languages) if variants else []
            hits = {
                (at, int(row))
                for at, segment in enumerate(segments)
                for row in (segment.lexical.search(parts, UNFILTERED, EVERYTHING).rows if parts else ())
            }
            found[channel] = hits & visible
        return found

    def ask(self):
        """One random question under one random scope, to both retrievers; counts what is wrong."""
        rng = self.rng
        if self.before is None or rng.random() < 0.7:
            query = " ".join(str(word) for word in rng.choice(ASKED, int(rng.integers(1, 5))))
            scope = random_scope(rng)
            self.before = query, scope, random_narrowing(rng, scope), int(rng.integers(1, 30))
        elif rng.random() < 0.5:
            # The same words for someone else: what the caches hold is not for this scope.
            query, _, _, k = self.before
            self.before = query, random_scope(rng), {}, k
        query, scope, wishes, k = self.before
        within = narrowed(scope, wishes)
        visible = self.visible(within) if within else set()
        self.tally.asked += 1
        self.tally.shown += len(visible)
        for retriever in (self.everything, self.few):
            request = Request(query=query, explain=True, k=k, **wishes)
            try:
                response = retriever.retrieve(request, scope, now=NOW)
            except AccessDenied:
                self.tally.refused += 1
                self.tally.missed += within is not None
                continue
            self.tally.leaked += within is None
            self._look(response, visible, exhaustive=retriever is self.everything)
            if rng.random() < 0.1:
                other = random_scope(rng)
                again = retriever.replay(response.trace.plan, Request(query=query, explain=True), other)
                self._look(again, self.visible(other), exhaustive=retriever is self.everything)
        self.tally.leaked += self.generation.violations

    def _look(self, response, visible, *, exhaustive):
        trace, tally = response.trace, self.tally
        tally.cached += trace.cached
        tally.passages += len(response.passages)
        shown = {chunk_id.rpartition("#")[0] for chunk_id, place in self.places.items() if place in visible}
        for passage in response.passages:
            cited = passage.citation
            tally.leaked += cited.doc_id not in shown
            text = self.documents[cited.doc_id].text
            tally.leaked += text[cited.start : cited.end] != cited.original_quote
        found = {channel: set() for channel in Channel}
        for one in trace.candidates:
            place = self.places[one.chunk_id]
            tally.leaked += place not in visible
            for channel in one.channels:
                found[Channel(channel)].add(place)
        for channel, expected in self.expected(trace.plan, visible).items():
            tally.leaked += len(found[channel] - expected)
            tally.channels[str(channel)] += len(found[channel])
            if exhaustive:
                tally.missed += len(expected - found[channel])
