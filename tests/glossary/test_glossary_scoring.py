import pytest

from babelray.errors import ConfigError
from babelray.glossary.adherence import Scorer
from babelray.glossary.drift import TermReport
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.occurrences import OutputText
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import LocalizedString
from babelray.glossary.score_records import score_record
from babelray.glossary.scoring import Blame, check_independent, score_string
from babelray.glossary.terms import Term


def term(source, target="", **more):
    values = {"term_id": source, "source_locale": "en", "target_locale": "*"} | more
    return Term(source=source, target=target, kind="custom_translation" if target else "non_translatable", **values)


POD, NODE = term("Pod"), term("node", "nodo", forbidden_translations=("nudo",))
FREE = EngineProfile(name="free", inflected_targets=("es", "de"))


def scored(source, output, *terms, retrieved=None, target="es", profile=None, judge=None):
    present = TermMatcher(terms, "en").match(source, MatchScope(target)).selected
    given = terms if retrieved is None else retrieved
    return score_string(source, output, target, present, given, profile, judge)


def verdicts(score):
    return [(v.term.source, v.status.value, v.blame.value) for v in (*score.verbatim, *score.custom)]


def test_two_classes_of_verdict_stay_apart():
    score = scored("A Pod on a node", "Un Pod en un nodo", POD, NODE)
    assert [v.term.source for v in score.verbatim] == ["Pod"]
    assert [v.term.source for v in score.custom] == ["node"]
    assert score.lost == () and score.intact


@pytest.mark.parametrize(
    ("output", "retrieved", "expected"),
    [
        ("Una vaina en un nodo", [POD, NODE], [("Pod", "missed", "translator"), ("node", "applied", "none")]),
        ("Una vaina en un punto", [POD], [("Pod", "missed", "translator"), ("node", "missed", "retrieval")]),
        ("El pod en un nudo", [POD, NODE], [("Pod", "missed", "translator"), ("node", "forbidden", "translator")]),
        ("Pod: nodos, nodo", [POD, NODE], [("Pod", "applied", "none"), ("node", "applied", "none")]),
        ("Pod: `nodo`", [POD, NODE], [("Pod", "applied", "none"), ("node", "missed", "translator")]),
        ("Pod: nodos", [POD, NODE], [("Pod", "applied", "none"), ("node", "missed", "translator")]),
    ],
)
def test_status_and_blame(output, retrieved, expected):
    assert verdicts(scored("A Pod on a node", output, POD, NODE, retrieved=retrieved)) == expected


def test_inflected_targets_count_only_where_the_pair_says_so():
    assert verdicts(scored("nodes", "Nodos", NODE, profile=FREE)) == [("node", "applied", "none")]
    assert verdicts(scored("nodes", "Nodos", NODE)) == [("node", "missed", "translator")]
    german = term("setting", "Einstellung")
    assert verdicts(scored("settings", "mit Einstellungen", german, target="de", profile=FREE))[0][1] == "applied"
    assert verdicts(scored("Pods", "die Pods", POD, target="de", profile=FREE)) == [("Pod", "missed", "translator")]


def test_a_rendering_that_stands_too_rarely_is_partial():
    score = scored("node and node", "un nodo", NODE)
    assert [(v.status.value, v.required, v.found) for v in score.custom] == [("partial", 2, 1)]


def test_a_forbidden_word_inside_the_required_one_is_no_offence():
    case = term("mail", "correo electrónico", forbidden_translations=("correo",))
    assert verdicts(scored("mail", "Correo electrónico", case)) == [("mail", "applied", "none")]
    assert verdicts(scored("mail", "correo y correo electrónico", case)) == [("mail", "forbidden", "translator")]


def test_retrieved_terms_that_do_not_apply():
    key, tone = term("key", "clave"), term("tone", "tono")
    score = scored("Open the door", "Abre la puerta con la clave", retrieved=[key, tone])
    assert [t.source for t in score.irrelevant] == ["key"]
    assert [t.source for t in score.needless] == ["tone"]


def test_what_the_source_says_itself_is_no_trace_of_a_term():
    assert scored("Open clave", "Abre clave", retrieved=[term("key", "clave")]).irrelevant == ()


def test_placeholders_and_tags_are_checked():
    score = scored("<b>{n}</b> nodes", "{n} nodo", NODE)
    assert [d.problem for d in score.damages] == ["lost", "lost"]
    assert not score.intact


class Steady:
    version = "judge-1"

    def judge(self, source, output, rule):
        return 1.7 if rule == "Use tú." else 0.25


def test_criteria_by_rule_and_by_judge():
    profile = EngineProfile(
        name="x",
        criteria=[
            {"name": "quiet", "kind": "must_not_match", "pattern": "!"},
            {"name": "asks", "kind": "must_match", "pattern": r"\?$", "weight": 2},
            {"name": "short", "kind": "max_growth", "growth": 1.2},
            {"name": "tone", "kind": "judge", "description": "Use tú."},
        ],
    )
    found = scored("Are you?", "¡Eres tú?", profile=profile, judge=Steady())
    assert [(c.name, c.score, c.weight) for c in found.criteria] == [
        ("quiet", 1.0, 1.0), ("asks", 1.0, 2.0), ("short", 1.0, 1.0), ("tone", 1.0, 1.0),
    ]  # fmt: skip
    assert scored("a", "b", profile=profile).criteria[-1].score is None
    assert scored("Are you?", "a very long answer!", profile=profile).criteria[0].score == 0.0


def test_a_model_may_not_judge_itself():
    check_independent(Steady(), "localizer-1")
    with pytest.raises(ConfigError, match="may not score its own"):
        check_independent(Steady(), "judge-1")


@pytest.mark.parametrize(
    ("locale", "output", "rendering", "cased", "expected"),
    [
        ("es", "Nodo, nodo y anodo", "nodo", False, ["Nodo", "nodo"]),
        ("es", "pod Pod PODs", "Pod", True, ["Pod"]),
        ("tr", "Kubernetes'in Pod'u", "Pod", True, ["Pod"]),
        ("ko", "Pod는", "Pod", True, ["Pod"]),
        ("ja", "クラスターの設定", "設定", False, ["設定"]),
        ("es", "<nodo> {nodo}", "nodo", False, []),
    ],
)
def test_occurrences(locale, output, rendering, cased, expected):
    found = OutputText(output, locale).find(rendering, inflected=False, cased=cased)
    assert [o.surface for o in found] == expected


def test_drift_over_surfaces_and_adherence_over_time():
    report = TermReport()
    matcher = TermMatcher([POD, NODE], "en")
    strings = [
        ("2026-01-01", "menu.json/a", "node", "Nodo"),
        ("2026-01-01", "menu.json/b", "node", "Nudo"),
        ("2026-01-01", "help.json/c", "node", "Punto de red"),
        ("2026-01-02", "help.json/d", "The node of a Pod", "El nodo de un Pod"),
        ("2026-01-02", "help.json/e", "The node is slow", "Va lento"),
    ]
    scorer = Scorer(matcher, EngineProfile(name="p"))
    for day, place, source, output in strings:
        payload, _, pointer = place.partition("/")
        present = matcher.match(source, MatchScope("es")).selected
        record = LocalizedString(
            record_id=place, payload=payload, pointer=f"/{pointer}", position=0, tenant_id="default", profile="p",
            source_locale="en", target_locale="es", source=source, output=output, mode="search",
            retrieved=[
                {"term_id": m.term.term_id, "start": m.start, "end": m.end, "surface": m.surface, "how": m.kind}
                for m in present
            ],
            localized_at=f"{day}T12:00:00Z",
        )  # fmt: skip
        scored = scorer.score(record)
        assert scored is not None
        report.add(score_record(scored, "rules", record.localized_at))
    [drift] = report.drifting()
    assert drift.renderings == {"nodo": 2, "": 1, "nudo": 1, "punto de red": 1}
    assert drift.surfaces["punto de red"] == ("help.json/c",)
    assert drift.drift == pytest.approx(0.6)
    first, second = report.over_time()
    assert first[1] == "2026-01-01" and first[2].custom.adherence == pytest.approx(1 / 3)
    assert first[2].verbatim.adherence is None
    assert second[2].custom.adherence == 0.5 and second[2].verbatim.adherence == 1.0
    assert second[2].custom.by_blame == {Blame.TRANSLATOR: 1}
    assert second[2].irrelevant == 0 and second[2].strings == 2
