"""What the routes do, without HTTP: everything here runs in worker threads and knows the caller as a scope."""

import base64
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np

from babelray.config import Settings, load_settings
from babelray.errors import AccessDenied, InputError
from babelray.glossary.localizing import Localizer
from babelray.glossary.payload import parse_payload
from babelray.index.access import AccessScope
from babelray.index.store import open_store
from babelray.keys import Role, digest_of
from babelray.retrieval.request import Request
from babelray.text.tokens import count_tokens
from models.localizers.registry import build_localizer, glossary_versions, profile_of
from serve.live_index import LiveIndex, find_index
from serve.metrics import Metrics
from serve.schemas import Answer, EmbeddingsBody, FeedbackBody, LocalizeBody, MatchBody, RetrieveBody
from serve.scoring import Scoring
from serve.shards import Ask

logger = logging.getLogger(__name__)

TRACED = 16
"""One search in so many keeps a trace for the stage times."""
EMBEDDED_TOKENS = 16_384
"""Of one request: more would take a processor longer than anybody's deadline."""
LOCALIZED_STRINGS = 5_000
"""Of one payload; a backlog is a job's (`babelray backfill`)."""
LOCALIZERS_KEPT = 8
"""Source locales whose terms are held ready: a caller may name any locale."""


class Service:
    """Everything that one replica serves.

    Args:
        settings: Indexes, identity, limits.
        metrics: Counts and times.
        shards: Ask the shard groups; without any, all segments are opened here.

    Raises:
        BabelrayError: An index cannot be opened.
    """

    def __init__(self, settings: Settings, metrics: Metrics, shards: Sequence[Ask] = ()) -> None:
        self.settings, self.metrics = settings, metrics
        timeout = settings.serving.deadline_seconds
        self.indexes = {
            name: LiveIndex(name, one, metrics, shards, timeout) for name, one in served_settings(settings).items()
        }
        self._asked = 0
        self._localizers: OrderedDict[str, Localizer] = OrderedDict()
        self._versions = ""
        self._localizing, self._lock = threading.Lock(), threading.Lock()
        self._scoring = Scoring(settings)
        self._violations = dict.fromkeys(self.indexes, 0)

    def refresh(self) -> None:
        """Take up what was published since; an index that cannot be looked at now is looked at next time."""
        for index in self.indexes.values():
            try:
                index.refresh()
            except Exception:  # one index must not keep the others from being refreshed
                logger.exception("index %s cannot be refreshed", index.name)
        if self._localizers:
            try:
                self._refresh_localizers()
            except Exception:
                logger.exception("the glossaries cannot be refreshed")

    def _refresh_localizers(self) -> None:
        """Make localizers anew once a glossary or the profile has changed; requests under way keep theirs."""
        now = self._localized_by()
        with self._localizing:
            if now != self._versions:
                self._localizers, self._versions = OrderedDict(), now
                self._scoring.forget_terms()

    def _localized_by(self) -> str:
        """Names the glossaries and the profile."""
        profile = profile_of(self.settings)
        return digest_of([glossary_versions(self.settings, profile), profile.model_dump(mode="json")])

    def close(self) -> None:
        """Let running work end."""
        self._scoring.close()
        for index in self.indexes.values():
            index.close()

    def retrieve(self, body: RetrieveBody, scope: AccessScope, request_id: str) -> Answer:
        """Search; the answer names its one generation.

        Raises:
            InputError: The index is not served, or the query cannot be searched for.
            AccessDenied: More is asked for than the scope grants, or a row outside of it was met.
        """
        index = find_index(self.indexes, body.index)
        self._asked += 1
        traced = body.explain or self._asked % TRACED == 0
        values = body.model_dump(exclude={"index"}) | {"explain": traced}
        request = Request.model_validate(values)
        with index.use() as retriever:
            try:
                response = retriever.retrieve(request, scope, request_id=request_id)
            finally:
                self._alarm(index.name, retriever.generation.violations)
        self.metrics.response(response)
        answer = response.model_dump(mode="json", exclude=None if body.explain else {"trace"})
        return answer if self.settings.serving.raw_scores == "shown" else without_scores(answer)

    def match(self, body: MatchBody, scope: AccessScope) -> Answer:
        """The terms of strings: what binds, where, and by which rule; hints apart.

        Raises:
            AccessDenied: The glossaries are another tenant's.
        """
        localizer = self._localizer(body.source, scope)
        payload = parse_payload(json.dumps(list(body.strings)), "request")
        found = localizer.match(payload, body.target)
        return {
            "mode": localizer.mode(body.target).value,
            "strings": [
                {
                    "enforced": [_match(m) for m in one.matches.selected],
                    "contested": [[_match(m) for m in group] for group in one.matches.contested],
                    "hints": [{**_span(h), "score": round(h.score, 4)} for h in one.hints if h.score >= h.threshold],
                }
                for one in found
            ],
        }

    def localize(self, body: LocalizeBody, scope: AccessScope, request_id: str) -> Answer:
        """Localize a payload. It is scored afterwards, apart; `score` gives the verdicts by the request's id.

        Raises:
            InputError: The payload is not JSON.
            AccessDenied: The glossaries are another tenant's.
        """
        localizer = self._localizer(body.source, scope)
        payload = parse_payload(body.payload, "request")
        if len(payload.strings) > LOCALIZED_STRINGS:
            raise InputError(
                "more strings than one request may have", got=len(payload.strings), allowed=LOCALIZED_STRINGS,
                fix="send parts, or run `babelray backfill`",
            )  # fmt: skip
        records = localizer.localize(payload, body.target)
        made = None
        if localizer.translator is not None:
            made = payload.replace({one.position: one.output for one in records if one.output is not None})
        self._scoring.submit(records, body.source, scope.tenant_id, request_id)
        return {
            "request_id": request_id,
            "payload": made,
            "strings": [one.model_dump(mode="json") for one in records],
        }

    def score(self, request_id: str, scope: AccessScope) -> Answer:
        """Verdicts on a localized request, once they are there: `state` says waiting, done, skipped or failed.

        Raises:
            InputError: No such request of this tenant is remembered.
        """
        return self._scoring.of(request_id, scope.tenant_id)

    def feedback(self, body: FeedbackBody, scope: AccessScope) -> Answer:
        """Keep a report, one file each, under the tenant's own folder."""
        serving = self.settings.serving
        store = open_store(str(serving.feedback) if serving.feedback else self.settings.store)
        at = datetime.now(UTC)
        record = {"tenant_id": scope.tenant_id, "at": at.isoformat(), **body.model_dump(mode="json")}
        path = f"feedback/{digest_of(scope.tenant_id)}/{at:%Y-%m-%d}/{uuid4().hex}.json"
        store.create_if_absent(path, json.dumps(record, ensure_ascii=False, sort_keys=True).encode())
        return {"kept": True}

    def embeddings(self, body: EmbeddingsBody) -> Answer:
        """Vectors by the model of an index, as OpenAI's API gives them.

        Raises:
            InputError: There is no such index.
        """
        index = find_index(self.indexes, body.model)
        texts = [body.input] if isinstance(body.input, str) else list(body.input)
        if index.embedder is None:
            raise InputError("the index has no model of its own", got=body.model)
        tokens = sum(min(count_tokens(text), index.embedder.key.max_tokens) for text in texts)
        if tokens > EMBEDDED_TOKENS:
            raise InputError(
                "more tokens than one request may have embedded",
                got=tokens,
                allowed=EMBEDDED_TOKENS,
                fix="send fewer texts",
            )
        encoded = index.embedder.encode(texts, Role(body.input_type))
        if encoded.refused:
            raise InputError("a text has no vector", got=dict(encoded.refused))
        data = [
            {"object": "embedding", "index": number, "embedding": _vector(vector, body.encoding_format)}
            for number, vector in enumerate(encoded.vectors)
        ]
        tokens = int(encoded.tokens.sum())
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "model": body.model, "data": data, "usage": usage}

    def describe(self, *, counts: bool) -> Answer:
        """The indexes that are served.

        Args:
            counts: Also how much they hold, over all tenants: for an operator on this machine only.
        """
        return {"indexes": [self._described(one, counts=counts) for one in self.indexes.values()]}

    def generations(self, name: str, *, counts: bool) -> Answer:
        """The generations of an index, newest first.

        Raises:
            InputError: There is no such index.
        """
        index = find_index(self.indexes, name)
        listed = index.catalog.list()
        return {
            "generations": [
                {
                    "generation": one.generation,
                    "status": one.status,
                    "serving": one.generation == index.generation,
                    **(
                        _facts(one.manifest, counts=counts)
                        if one.manifest
                        else {"problem": one.problem if counts else "not complete"}
                    ),
                }
                for one in listed
            ]
        }

    def health(self) -> Answer:
        """Generation and model of each index."""
        return {
            "status": "ok",
            "indexes": {
                name: {"generation": one.generation, "model": one.retriever.generation.key.readable()}
                for name, one in self.indexes.items()
            },
        }

    def _described(self, index: LiveIndex, *, counts: bool) -> Answer:
        manifest = index.retriever.generation.manifest
        refused = [{"generation": name, "reason": why} for name, why in index.refused.items()]
        return {
            "name": index.name,
            "generation": manifest.generation,
            **_facts(manifest, counts=counts),
            **({"refused": refused} if counts else {}),
        }

    def _localizer(self, source: str, scope: AccessScope) -> Localizer:
        profile = profile_of(self.settings)
        if profile.tenant_id != scope.tenant_id:
            raise AccessDenied("there are no glossaries for this tenant")
        with self._localizing:
            if not self._localizers:
                self._versions = self._localized_by()
            if source not in self._localizers:
                self._localizers[source] = build_localizer(self.settings, source)
                if len(self._localizers) > LOCALIZERS_KEPT:
                    self._localizers.popitem(last=False)
            self._localizers.move_to_end(source)
            return self._localizers[source]

    def _alarm(self, index: str, violations: int) -> None:
        with self._lock:
            fresh = violations - self._violations[index]
            self._violations[index] = violations
        self.metrics.unauthorized(index, max(fresh, 0))


def served_settings(settings: Settings) -> dict[str, Settings]:
    """The settings of each index that an endpoint serves, by its name.

    Raises:
        ConfigError: A file of settings cannot be read.
    """
    own = {one.name: load_settings(one.config) if one.config else settings for one in settings.serving.indexes}
    return own or {settings.index: settings}


def without_scores(value: Any) -> Any:
    """An answer without raw scores of channels: BM25 tells of the words of all tenants. Ranks stay."""
    if isinstance(value, Mapping):
        channel = {"rank", "score", "variant_id"} <= value.keys()
        return {name: without_scores(one) for name, one in value.items() if not (channel and name == "score")}
    if isinstance(value, list):
        return [without_scores(one) for one in value]
    return value


def _facts(manifest: Any, *, counts: bool) -> Answer:
    facts: Answer = {
        "model": manifest.model_key.readable(),
        "created_at": manifest.created_at.isoformat(),
        "recall": manifest.vectors.recall,
        "filtered_recall": {str(share): value for share, value in manifest.vectors.filtered_recall.items()},
    }
    if counts:
        facts |= {
            "documents": manifest.counts.documents,
            "chunks": manifest.counts.chunks,
            "sentences": manifest.counts.sentences,
            "languages": manifest.counts.chunks_by_language,
        }
    return facts


def _span(one: Any) -> Answer:
    return {
        "term_id": one.term.term_id, "source": one.term.source, "rendering": one.term.rendering,
        "start": one.start, "end": one.end, "surface": one.surface,
    }  # fmt: skip


def _match(one: Any) -> Answer:
    return {**_span(one), "class": one.term.kind.value, "kind": one.kind.value, "rule": one.rule}


def _vector(vector: Any, encoding: str) -> Any:
    if encoding == "base64":
        return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")
    return [float(one) for one in vector]
