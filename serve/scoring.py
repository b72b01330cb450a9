"""Scores of what was localized: made afterwards, apart from the request, and readable by its id for a while."""

import logging
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from babelray.config import Settings
from babelray.errors import InputError
from babelray.glossary.adherence import ScoredString, Scorer
from babelray.glossary.match import TermMatcher
from babelray.glossary.records import LocalizedString
from babelray.glossary.score_records import score_record
from models.localizers.registry import load_terms, profile_of

logger = logging.getLogger(__name__)

KEPT = 1000
"""Requests whose scores can still be asked for, and no more than `STRINGS` of theirs."""
WAITING = 100
"""Requests that wait to be scored, and no more than `STRINGS`; a further one goes without, and its score says so."""
STRINGS = 20_000
"""A record or verdict takes about a kilobyte."""
SCORERS_KEPT = 8
"""Source locales whose terms are held ready."""

Key = tuple[str, str]
"""Tenant and request id: a caller may choose the id, so that it is one only within a tenant."""


class Scoring:
    """Scores localized requests one after the other, in a thread of its own.

    Args:
        settings: Of the glossaries and the profile.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._scorers: OrderedDict[str, Scorer] = OrderedDict()
        self._states: OrderedDict[Key, dict[str, Any]] = OrderedDict()
        self._waiting = self._waiting_strings = self._kept_strings = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="score")

    def submit(self, records: list[LocalizedString], source: str, tenant: str, request_id: str) -> None:
        """Score later."""
        with self._lock:
            full = self._waiting >= WAITING or self._waiting_strings + len(records) > STRINGS
            if not full:
                self._waiting += 1
                self._waiting_strings += len(records)
        self._keep((tenant, request_id), {"state": "skipped" if full else "waiting"})
        if full:
            logger.warning("request %s goes without a score: %d wait", request_id, WAITING)
            return
        done = partial(self._done, (tenant, request_id), len(records))
        self._pool.submit(self._score, records, source).add_done_callback(done)

    def of(self, request_id: str, tenant: str) -> dict[str, Any]:
        """State (waiting, done, skipped, failed) and verdicts.

        Raises:
            InputError: No such request of this tenant is remembered.
        """
        with self._lock:
            found = self._states.get((tenant, request_id))
        if found is None:
            raise InputError("no such request is remembered", got=request_id)
        return {"request_id": request_id, "scored": found["state"] == "done", **found}

    def forget_terms(self) -> None:
        """Read glossaries and profile anew for the next score."""
        with self._lock:
            self._scorers = OrderedDict()

    def close(self) -> None:
        """Score what waits, and end."""
        self._pool.shutdown(wait=True)

    def _score(self, records: list[LocalizedString], source: str) -> list[dict[str, Any]]:
        with self._lock:
            scorer = self._scorers.get(source)
        if scorer is None:
            profile = profile_of(self._settings)
            terms = load_terms(self._settings, profile)
            scorer = Scorer(TermMatcher(terms.terms, source), profile)
            with self._lock:
                self._scorers[source] = scorer
                if len(self._scorers) > SCORERS_KEPT:
                    self._scorers.popitem(last=False)
        return [_verdicts(one) for one in map(scorer.score, records) if one is not None]

    def _done(self, key: Key, strings: int, scored: Future[list[dict[str, Any]]]) -> None:
        with self._lock:
            self._waiting -= 1
            self._waiting_strings -= strings
        error = scored.exception()
        if error is not None:
            logger.error("request %s cannot be scored", key[1], exc_info=error)
        self._keep(key, {"state": "failed"} if error else {"state": "done", "strings": scored.result()})

    def _keep(self, key: Key, state: dict[str, Any]) -> None:
        with self._lock:
            self._kept_strings -= _strings(self._states.pop(key, {}))
            self._states[key] = state
            self._kept_strings += _strings(state)
            while len(self._states) > KEPT or self._kept_strings > STRINGS:
                _, oldest = self._states.popitem(last=False)
                self._kept_strings -= _strings(oldest)


def _strings(state: dict[str, Any]) -> int:
    return len(state.get("strings", ()))


def _verdicts(one: ScoredString) -> dict[str, Any]:
    record = score_record(one, "rules", datetime.now(UTC))
    kept = {"record_id", "pointer", "verdicts", "bent", "damages", "criteria"}
    return record.model_dump(mode="json", include=kept)
