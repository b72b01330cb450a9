"""From a payload to records, with a translator that is a script; real engines are in tests/models and tests/cli."""

import json
from datetime import UTC, datetime

import pytest

from babelray.glossary.adherence import Scorer
from babelray.glossary.localizing import Localizer, record_id
from babelray.glossary.match import TermMatcher
from babelray.glossary.modes import RetrievalMode
from babelray.glossary.payload import parse_payload
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import Failure, LocalizedString, TranslatorUsed
from babelray.glossary.scoring import Blame, Status
from babelray.glossary.terms import Term
from babelray.glossary.translating import Rendered, Spent

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def term(term_id, source, target="", locale="es", **more):
    kind = "custom_translation" if target else "non_translatable"
    return Term(
        term_id=term_id, source_locale="en", target_locale=locale, source=source, target=target, kind=kind, **more
    )


TERMS = [
    term("orchard", "Orchard", locale="*"),
    term("backup", "backup", "copia de seguridad"),
    term("invoice", "invoice", "factura"),
    term("invoice", "invoice", "Rechnung", locale="de"),
    term("old", "invoice", "recibo", valid_to="2020-01-01T00:00:00Z"),
]


class Scripted:
    """Answers from a table, and remembers what it was asked."""

    name, version, external = "script", "1", False

    def __init__(self, answers=None):
        self.answers = answers or {}
        self.asked = []
        self.spent = Spent()

    def can(self, source, target):
        return True

    def translate(self, strings, source, target, *, tenant_id):
        self.asked += [(one.text, tuple(m.term.term_id for m in one.matches)) for one in strings]
        used = TranslatorUsed(translator="script", model="m", version="1")
        answers = [self.answers.get(one.text, one.text.upper()) for one in strings]
        return [one if isinstance(one, Rendered) else Rendered(one, used) for one in answers]


def localizer(translator=None, **profile):
    profile = EngineProfile(**{"name": "p", "preload_limit": 0, **profile})
    return Localizer(TermMatcher(TERMS, "en"), profile, translator, glossaries={"g": 3}, clock=lambda: NOW)


def localized(values, translator=None, target="es", **profile):
    payload = parse_payload(json.dumps(values), "p.json")
    return localizer(translator, **profile).localize(payload, target)


def test_a_record_says_what_was_found_given_and_made():
    (one,) = localized({"a": "The backup of Orchard"}, Scripted())
    assert (one.pointer, one.source, one.output) == ("/a", "The backup of Orchard", "THE BACKUP OF ORCHARD")
    assert [(t.term_id, t.surface, t.how) for t in one.retrieved] == [
        ("backup", "backup", "exact"),
        ("orchard", "Orchard", "exact"),
    ]
    assert (one.mode, one.glossaries, one.localized_at) == (RetrievalMode.SEARCH, {"g": 3}, NOW)
    assert one.translator.translator == "script" and one.failure is None
    assert LocalizedString.model_validate_json(one.model_dump_json()) == one


def test_without_a_translator_the_record_still_says_what_binds():
    (one,) = localized({"a": "an invoice"})
    assert (one.output, one.failure) == (None, Failure.NO_TRANSLATOR)
    assert [t.term_id for t in one.retrieved] == ["invoice"]


def test_strings_without_words_pass_and_equal_ones_are_sent_once():
    script = Scripted()
    records = localized(["", "42", "{name}", "Save", "Save", {"deep": "Save"}], script)
    assert [one.output for one in records] == ["", "42", "{name}", "SAVE", "SAVE", "SAVE"]
    assert script.asked == [("Save", ())]
    assert len({one.record_id for one in records}) == 6


def test_a_placeholder_that_did_not_survive_keeps_the_output_from_everybody():
    script = Scripted({"Hi {name}": "Hola", "Bye {name}": "{name}, adiós", "A <b>c</b>": "<b>c A"})
    lost, moved, torn = localized(["Hi {name}", "Bye {name}", "A <b>c</b>"], script)
    assert (lost.output, lost.failure) == (None, Failure.PROTECTED_DAMAGED) and "{name}" in lost.detail
    assert (moved.output, moved.failure) == ("{name}, adiós", None)
    assert torn.failure is Failure.PROTECTED_DAMAGED and torn.translator is not None


def test_a_code_that_did_not_survive_is_a_lost_string_too():
    script = Scripted({"See ERR_1205 and v2.1.0": "Vea ERR 1205 y v2.1.0", "Use max_retries": "Usa max_retries"})
    lost, kept = localized(["See ERR_1205 and v2.1.0", "Use max_retries"], script)
    assert lost.failure is Failure.PROTECTED_DAMAGED and lost.detail == "lost code ERR_1205"
    assert kept.output == "Usa max_retries"


def test_failures_of_the_translator_are_kept_with_their_detail():
    (one,) = localized(["Save"], Scripted({"Save": Rendered(None, failure=Failure.UPSTREAM, detail="HTTP 500")}))
    assert (one.output, one.failure, one.detail) == (None, Failure.UPSTREAM, "HTTP 500")


def test_terms_of_the_pair_and_of_today_bind():
    assert [t.term_id for t in localized(["invoice"], target="de")[0].retrieved] == ["invoice"]
    assert localizer().matcher.by_id(localizer().scope("de"))["invoice"].target == "Rechnung"
    assert [t.term_id for t in localized(["invoice"], target="es")[0].retrieved] == ["invoice"], "the old one has ended"


@pytest.mark.parametrize(("limit", "mode"), [(0, "search"), (2, "search"), (3, "preload"), (9, "preload")])
def test_few_terms_are_all_handed_over(limit, mode):
    (one,) = localized(["a backup"], Scripted(), preload_limit=limit)
    assert one.mode == mode
    given = {t.term_id: t.how for t in one.retrieved}
    assert given == ({"backup": "exact"} | ({"orchard": "preload", "invoice": "preload"} if mode == "preload" else {}))
    assert localized(["a backup"], Scripted(), target="ko", domains=["none"])[0].mode == "search"


def test_no_term_at_all_skips():
    matcher = TermMatcher([], "en")
    empty = Localizer(matcher, EngineProfile(name="p"), Scripted(), clock=lambda: NOW)
    assert empty.localize(parse_payload('["Save"]'), "es")[0].mode is RetrievalMode.SKIP


def test_contested_terms_are_given_to_nobody_and_recorded():
    terms = [term("a", "port", "puerto"), term("b", "port", "oporto")]
    one = Localizer(TermMatcher(terms, "en"), EngineProfile(name="p", preload_limit=0), Scripted(), clock=lambda: NOW)
    (record,) = one.localize(parse_payload('["the port"]'), "es")
    assert record.retrieved == () and record.contested == (("a", "b"),)


def test_record_ids_name_payload_place_pair_tenant_and_text():
    base = ("p.json", 0, "en", "es", "t", "Save")
    others = [("q.json", *base[1:]), ("p.json", 1, *base[2:]), (*base[:3], "de", *base[4:]), (*base[:5], "Saved")]
    assert len({record_id(*one) for one in (base, *others)}) == 5


class TestScoring:
    def score(self, source, output, **profile):
        script = Scripted({source: output})
        (record,) = localized([source], script, **profile)
        return Scorer(TermMatcher(TERMS, "en"), EngineProfile(**{"name": "p", "preload_limit": 0, **profile})).score(
            record
        )

    def test_the_scorer_finds_the_terms_by_itself(self):
        scored = self.score("Orchard backup", "copia de seguridad de Orchard")
        assert scored.lost == () and len(scored.score.verbatim) == len(scored.score.custom) == 1

    def test_a_term_that_was_given_and_ignored_is_the_translators_miss(self):
        (verdict,) = self.score("the backup", "el respaldo").lost
        assert (verdict.status, verdict.blame) == (Status.MISSED, Blame.TRANSLATOR)

    def test_a_term_that_was_not_given_is_retrievals_miss(self):
        script = Scripted({"the backup": "el respaldo"})
        (record,) = localized(["the backup"], script)
        record = record.model_copy(update={"retrieved": ()})
        (verdict,) = Scorer(TermMatcher(TERMS, "en"), EngineProfile(name="p")).score(record).lost
        assert verdict.blame is Blame.RETRIEVAL

    def test_preloaded_terms_that_do_not_stand_there_are_not_irrelevant(self):
        scored = self.score("the backup", "la factura de la copia de seguridad", preload_limit=40)
        assert scored.score.irrelevant == () and scored.score.needless == ()

    def test_a_string_without_output_has_no_score(self):
        (record,) = localized(["the backup"])
        assert Scorer(TermMatcher(TERMS, "en"), EngineProfile(name="p")).score(record) is None


def test_a_translation_takes_on_the_capital_of_its_term():
    matcher = TermMatcher(TERMS, "en")
    scope = localizer().scope("es")
    first, label, inner = (matcher.match(t, scope).selected[0].rendering for t in ("Backup now", "Backups", "a backup"))
    assert (first, label, inner) == ("Copia de seguridad", "Copia de seguridad", "copia de seguridad")
    assert matcher.match("Orchard", scope).selected[0].rendering == "Orchard"
