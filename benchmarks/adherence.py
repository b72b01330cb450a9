"""How often terms are honoured: by people, by an engine alone, and by the same engine under the glossary's constraints.

    python benchmarks/adherence.py DATA [--strings 400] [--seed 3]

English interface strings with a human Spanish translation, of four projects; terms of the software glossaries for
Spanish. Apertium (packages apertium and apertium-eng-spa) translates the same strings twice: as they are, and with the
terms bound. The scorer is the job's own, by rules; the two classes are never added up. Then, for every pair of
languages, how often the human translations themselves hold the glossary's rendering: these projects never saw this
glossary, so it says how far a glossary is from what people write, not how good they are.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from glossary_matching import load_terms
from measuring import write_results

from babelray.config import CommandTranslatorSettings, TranslationSettings
from babelray.glossary.adherence import Scorer
from babelray.glossary.drift import TermReport
from babelray.glossary.localizing import Localizer
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.payload import parse_payload, read_payloads
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import LocalizedString, TranslatorUsed
from babelray.glossary.score_records import score_record
from babelray.glossary.terms import Term
from models.localizers.registry import build_translator_of_profile

APERTIUM = CommandTranslatorSettings(
    kind="command",
    name="apertium",
    command=("apertium", "-n", "-u", "eng-spa"),
    pairs=("en>es",),
    version="eng-spa",
    timeout_seconds=120,
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Translate, score, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--strings", type=int, default=400, help="that hold a term, drawn at random")
    parser.add_argument("--seed", type=int, default=3)
    asked = parser.parse_args()
    terms = [term for term in load_terms(asked.data) if term.target_locale == "es"]
    matcher = TermMatcher(terms, "en")
    pairs = [one for one in human_pairs(asked.data, "es") if matcher.match(one[1], MatchScope("es")).selected]
    chosen = random.Random(asked.seed).sample(pairs, min(asked.strings, len(pairs)))
    metrics: dict[str, Any] = {"terms": len(terms), "strings with a term": len(pairs), "drawn": len(chosen)}
    texts = [source for _, source, _ in chosen]
    metrics |= _shown("people", scored(terms, chosen, "es"))
    metrics |= _shown("apertium alone", scored(terms, translated(texts, []), "es", given=terms))
    metrics |= _shown("apertium under constraints", scored(terms, translated(texts, terms), "es", given=terms))
    for locale in ("es", "de", "fr", "ja", "pt-BR", "zh-CN"):
        own = [term for term in load_terms(asked.data) if term.target_locale == locale]
        if own:
            everything = list(human_pairs(asked.data, locale))
            metrics |= _shown(f"people, all strings, en>{locale}", scored(own, everything, locale))
    write_results("adherence", vars(asked), metrics)


def human_pairs(data: Path, locale: str) -> Iterator[tuple[str, str, str]]:
    """Place, English string and its human translation, where the two differ."""
    for source in sorted((data / "l10n_payloads").glob("*/en.json")):
        target = source.with_name(f"{locale}.json")
        if not target.exists():
            continue
        (ours,), (theirs,) = list(read_payloads(source)), list(read_payloads(target))
        known = {string.pointer: string.value for string in theirs.strings}
        for string in ours.strings:
            other = known.get(string.pointer, "")
            if other.strip() and other != string.value:
                yield f"{source.parent.name}{string.pointer}", string.value, other


def translated(texts: Sequence[str], bound: Sequence[Term]) -> list[tuple[str, str, str | None]]:
    """Place, source and output of Apertium, with these terms bound."""
    profile = EngineProfile(name="p", preload_limit=0)
    translator = build_translator_of_profile(TranslationSettings(translators=(APERTIUM,)), profile, bound)
    localizer = Localizer(TermMatcher(bound, "en"), profile, translator, clock=lambda: NOW)
    payload = parse_payload(json.dumps(list(texts)), "drawn")
    return [(one.pointer, one.source, one.output) for one in localizer.localize(payload, "es")]


def scored(
    terms: Sequence[Term], pairs: Sequence[tuple[str, str, str | None]], locale: str, given: Sequence[Term] = ()
) -> tuple[TermReport, Counter[str]]:
    """Verdicts on outputs. Inflected renderings count, as Spanish and German grammar asks for them."""
    profile = EngineProfile(name="p", preload_limit=0, inflected_targets=("es", "de", "fr", "pt-BR"))
    matcher = TermMatcher(terms, "en")
    scorer, report, counts = Scorer(matcher, profile), TermReport(), Counter[str]()
    known = {term.term_id for term in given}
    for place, source, output in pairs:
        present = matcher.match(source, MatchScope(locale)).selected
        record = LocalizedString(
            record_id=place, payload=place, pointer="", position=0, tenant_id="default", profile="p",
            source_locale="en", target_locale=locale, source=source, output=output, mode="search",
            retrieved=[
                {"term_id": m.term.term_id, "start": m.start, "end": m.end, "surface": m.surface, "how": m.kind}
                for m in present
                if m.term.term_id in known
            ],
            translator=TranslatorUsed(translator="t", model="m", version="1"), localized_at=NOW,
        )  # fmt: skip
        one = scorer.score(record)
        if one is None:
            counts["without output"] += 1
        else:
            report.add(score_record(one, "rules", NOW))
    return report, counts


def _shown(name: str, found: tuple[TermReport, Counter[str]]) -> dict[str, Any]:
    report, counts = found
    shown: dict[str, Any] = {}
    for _, _, tally in report.over_time():
        shown[f"{name}: strings"] = tally.strings + counts["without output"]
        for kind in ("verbatim", "custom"):
            one = getattr(tally, kind)
            if one.total:
                shown[f"{name}: {kind}"] = f"{one.adherence:.3f} of {one.total}"
        if tally.damaged or counts:
            shown[f"{name}: without output, damaged"] = f"{counts['without output']}, {tally.damaged}"
    drifting = report.drifting()
    shown[f"{name}: terms rendered in several ways"] = len(drifting)
    if drifting:
        first = drifting[0]
        shown[f"{name}: for example"] = f"{first.source}: {dict(list(first.renderings.items())[:4])}"
    return shown


if __name__ == "__main__":
    main()
