"""Localize: a unit's payloads to localized payloads, records and dead letters, for every target locale."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from babelray.glossary.backlog import Entry, localized_entry, read_entries
from babelray.glossary.constraints import as_json, constraints_from_matches, constraints_from_terms, render_prompt
from babelray.glossary.hints import HintFinder, StoredSearch
from babelray.glossary.localizing import Localizer, MatchedString
from babelray.glossary.modes import RetrievalMode
from babelray.glossary.records import LocalizedString
from babelray.glossary.translating import Spent
from babelray.index.digests import FileRecord
from babelray.index.store import open_store
from babelray.text.readers import InputPart
from babelray.text.types import Reject
from jobs.backfill_outputs import BackfillOutputs
from jobs.backfill_plan import BackfillPlan
from jobs.ledger import Receipt
from jobs.stages.unit_work import Row, run_unit
from jobs.stages.windows import read_hits
from jobs.units import Unit
from models.localizers.registry import build_translator_of_profile

STAGE = "localize"


class LocalizeUnits:
    """A Ray Data actor that localizes one unit a call.

    Args:
        plan: The run.
    """

    def __init__(self, plan: BackfillPlan) -> None:
        localization = plan.settings.localization
        self._plan = plan
        self._store = open_store(plan.settings.store)
        self._outputs = BackfillOutputs(open_store(localization.output))
        self._localizers: dict[str, Localizer] = {}
        for locale in plan.source_locales:
            matcher = plan.matcher(self._store, locale)
            hints = None
            if localization.hints.enabled:
                search = StoredSearch(read_hits(self._store, plan, locale))
                hints = HintFinder(
                    matcher, search, plan.thresholds, localization.hints.per_ngram, localization.hints.margin
                )
            translator = build_translator_of_profile(localization.translation, plan.profile, matcher.terms)
            self._localizers[locale] = Localizer(
                matcher, plan.profile, translator, hints, glossaries=plan.record.glossaries
            )

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Localize the unit of a one-row batch."""
        row: Row = {name: values[0] for name, values in batch.items()}
        unit = str(row["unit"])
        ledger = self._plan.ledger(STAGE, self._store)
        result = run_unit(ledger, unit, lambda attempt: self._localize(unit, attempt))
        return {name: [value] for name, value in result.items()}

    def _localize(self, name: str, attempt: int) -> Receipt:
        began, before = time.perf_counter(), self._spent()
        unit = Unit.from_bytes(self._store.read_bytes(self._plan.layout.unit(name)))
        backlogs = self._plan.settings.localization.backlog
        entries = [(part, list(read_entries(part, backlogs[part.source]))) for part in unit.parts]
        rejects = [entry.reject for _, found in entries for entry in found if entry.reject]
        counts: Counter[str] = Counter()
        outputs: list[FileRecord] = []
        for target in self._plan.record.targets:
            records: list[LocalizedString] = []
            for part, found in entries:
                localizer = self._localizers[backlogs[part.source].source_locale]
                made = self._of_part(localizer, found, target)
                records += made
                outputs += self._write_payloads(part, found, made, target, localizer)
            outputs += self._write_records(name, target, records)
            counts.update(_counted(records, target))
        counts["payloads"] = sum(entry.payload is not None for _, found in entries for entry in found)
        kept = self._plan.ledger(STAGE, self._store).write_rejects(name, rejects)
        spent = self._spent()
        return Receipt(
            stage=STAGE,
            unit=name,
            attempt=attempt,
            # The files of the output folder are another store's; a receipt names those of its own.
            outputs=(kept,) if kept else (),
            counts={
                **counts,
                "files": len(outputs),
                "requests": spent.requests - before.requests,
                "tokens_in": spent.tokens_in - before.tokens_in,
                "tokens_out": spent.tokens_out - before.tokens_out,
            },
            rejects=dict(Counter(_reasons(rejects))),
            seconds={STAGE: time.perf_counter() - began},
            details={"cost": spent.cost - before.cost},
        )

    def _of_part(self, localizer: Localizer, entries: Sequence[Entry], target: str) -> list[LocalizedString]:
        """Records of all payloads of a part; they are translated together, so that batches are full."""
        strings: list[MatchedString] = []
        for entry in entries:
            if entry.payload is not None:
                strings += localizer.match(entry.payload, target)
        return localizer.localize_matched(strings, target)

    def _write_payloads(
        self, part: InputPart, entries: Sequence[Entry], records: Sequence[LocalizedString], target: str,
        localizer: Localizer,
    ) -> list[FileRecord]:  # fmt: skip
        if localizer.translator is None:
            return []
        by_payload: dict[str, dict[int, str | None]] = {}
        for record in records:
            by_payload.setdefault(record.payload, {})[record.position] = record.output
        leave_out = self._plan.settings.localization.incomplete_payloads == "leave_out"
        texts: list[str | None] = []
        for entry in entries:
            values = by_payload.get(entry.payload.name, {}) if entry.payload else {}
            if leave_out and None in values.values():
                texts.append("" if part.format == "jsonl" else None)
            else:
                texts.append(localized_entry(entry, {at: text for at, text in values.items() if text is not None}))
        return self._outputs.write_part(part, texts, target)

    def _write_records(self, unit: str, target: str, records: Sequence[LocalizedString]) -> list[FileRecord]:
        written = [self._outputs.write_lines("records", target, unit, [one.model_dump(mode="json") for one in records])]
        untranslated = self._plan.settings.localization.translation is None
        if untranslated:
            rows = [_enriched(one, self._constraints(one)) for one in records]
            written.append(self._outputs.write_lines("enriched", target, unit, rows))
        else:
            dead = [one.model_dump(mode="json") for one in records if one.failure is not None]
            written.append(self._outputs.write_lines("dead_letters", target, unit, dead))
        return written

    def _constraints(self, record: LocalizedString) -> dict[str, Any]:
        """What binds a translation of one string, for another system to translate by."""
        localizer = self._localizers[record.source_locale]
        scope = localizer.scope(record.target_locale)
        if record.mode is RetrievalMode.PRELOAD:
            allowed = localizer.matcher.allowed(scope)
            made = constraints_from_terms(allowed, record.source_locale, record.target_locale, self._plan.profile)
        else:
            matches = localizer.matcher.match(record.source, scope, pointer=record.pointer).selected
            made = constraints_from_matches(matches, record.source_locale, record.target_locale, self._plan.profile)
        return {"constraints": as_json(made), "prompt": render_prompt(made)}

    def _spent(self) -> Spent:
        total = Spent()
        for one in self._localizers.values():
            if one.translator is not None:
                total.add(one.translator.spent)
        return total


def _enriched(record: LocalizedString, constraints: Mapping[str, Any]) -> dict[str, Any]:
    values = record.model_dump(mode="json", exclude={"output", "translator", "failure", "detail"})
    return {**values, **json.loads(json.dumps(constraints))}


def _counted(records: Sequence[LocalizedString], target: str) -> Counter[str]:
    """Counts by pair: `en>es strings`, `en>es enforced exact`, `en>es dead protected_damaged` and so on."""
    counts: Counter[str] = Counter()
    for one in records:
        pair = f"{one.source_locale}>{target}"
        counts[f"{pair} strings"] += 1
        counts[f"{pair} translated"] += one.output is not None
        counts[f"{pair} hints"] += len(one.hints)
        counts[f"{pair} contested"] += len(one.contested)
        counts.update(f"{pair} enforced {term.how}" for term in one.retrieved if term.end)
        if one.failure is not None:
            counts[f"{pair} dead {one.failure}"] += 1
    return counts


def _reasons(rejects: Sequence[Reject]) -> list[str]:
    return [one.reason for one in rejects]
