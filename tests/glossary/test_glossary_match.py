from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.glossary.boundaries import Boundaries
from babelray.glossary.inflect.rules import language_rules
from babelray.glossary.locales import serves
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.terms import Term

ES = MatchScope("es")


def term(source, target="x", locale="en", to="es", **more):
    kind = more.pop("kind", "custom_translation" if target else "non_translatable")
    return Term(
        term_id=more.pop("term_id", source),
        source_locale=locale,
        target_locale=to,
        source=source,
        target=target,
        kind=kind,
        **more,
    )


def surfaces(text, *terms, locale="en", scope=ES, **more):
    return [m.surface for m in TermMatcher(terms, locale).match(text, scope, **more).enforced]


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("Listen to the list of lists", "list", ["list", "lists"]),
        ("my-list, list's (LIST) list_of list.json alist", "list", ["list", "list", "LIST"]),
        ("image/video and image.", "image", ["image", "image"]),
        ("node.js uses nodes", "node", ["nodes"]),
        ("you're here, you said", "you", ["you"]),
        ("The controller controls a container that contains it", "controller", ["controller"]),
        ("Deploying, deployed & deploys", "to deploy", ["Deploying", "deployed", "deploys"]),
        ("Add <b>images</b> to {image} `image`", "image", ["images"]),
        ("load  \n balancer and load-balancers", "load balancer", ["load  \n balancer", "load-balancers"]),
        ("load, balancer load <i>balancer</i>", "load balancer", []),
        ("R&amp;D and R&D", "R&D", ["R&amp;D", "R&D"]),
        ("HIV and AIDS; it aids us", "AIDS", ["AIDS"]),
        ("S is not s, S3 or 's", "S", ["S"]),
        ("version 3.5 of v3", "v3", ["v3"]),
        ("ConfigMaps, config maps, Config-Map, configmapped", "ConfigMap", ["ConfigMaps", "config maps", "Config-Map"]),
    ],
)
def test_english(text, source, expected):
    found = TermMatcher([term(source)], "en").match(text, ES).enforced
    assert [m.surface for m in found] == expected
    assert all(text[m.start : m.end] == m.surface for m in found)


@pytest.mark.parametrize(
    ("locale", "text", "source", "expected"),
    [
        ("ja", "コンテストのテストをテストする", "テスト", ["テスト", "テスト"]),
        ("ja", "状態管理とサーバの設定", "サーバー", ["サーバ"]),
        ("ja", "ファイルを読み込んでください", "読み込む", ["読み込ん"]),
        ("ja", "Pod セキュリティ", "Pod", ["Pod"]),
        ("ja", "PodセキュリティとPods", "Pod", ["Pod"]),
        ("zh-CN", "集群架构和集群", "集群", ["集群", "集群"]),
        ("zh-CN", "打开Pod安全策略", "Pod 安全", ["Pod安全"]),
        ("ko", "이미지를 이미지와 이미지네이션", "이미지", ["이미지", "이미지"]),
        ("ko", "API는 좋다", "API", ["API"]),
        (
            "de",
            "Containerabbild, Docker-Container, Containern, Containment",
            "Container",
            ["Container", "Container", "Containern"],
        ),
        ("de", "Die Heirat im Rathaus: ein Rat", "Rat", ["Rat"]),
        ("de", "Dateiname und Namen", "Name", ["name", "Namen"]),
        ("es", "las máquinas virtuales", "máquina virtual", ["máquinas virtuales"]),
        ("fr", "l'image et d'images", "image", ["image", "images"]),
        ("ru", "Ссылки на контейнеры и ёлку", "контейнер", ["контейнеры"]),
        ("ru", "ёлка", "елка", ["ёлка"]),
        ("tr", "ISI ve ısı, isi", "ısı", ["ISI", "ısı"]),
        ("tr", "İSTANBUL istanbul ISTANBUL", "istanbul", ["İSTANBUL", "istanbul"]),
        ("en", "ISTANBUL İstanbul", "Istanbul", ["ISTANBUL", "İstanbul"]),
    ],
)
def test_other_languages(locale, text, source, expected):
    assert surfaces(text, term(source, locale=locale), locale=locale) == expected


def test_results_say_kind_rule_and_form():
    matcher = TermMatcher([term("plug-in", aliases=("extension",))], "en")
    found = matcher.match("Plugins are extensions; an extension", ES).enforced
    assert [(m.kind.value, m.rule, m.form, m.score) for m in found] == [
        ("inflected", "hyphen_closed+plural", "plugins", 1.0),
        ("inflected", "plural", "extensions", 1.0),
        ("alias", "", "extension", 1.0),
    ]
    assert [
        m.kind.value for m in TermMatcher([term("Container", locale="de")], "de").match("Containerdienst", ES).enforced
    ] == ["compound"]


def test_overlaps_are_kept_and_the_longest_wins():
    terms = [term("load"), term("load balancer"), term("balancer service"), term("service")]
    result = TermMatcher(terms, "en").match("The load balancer service", ES)
    assert [m.surface for m in result.enforced] == ["load balancer", "load", "balancer service", "service"]
    assert [m.surface for m in result.selected] == ["load", "balancer service"]


def test_an_exact_term_wins_over_the_inflection_of_another():
    terms = [term("mount", "montar"), term("mounted", "montado")]
    result = TermMatcher(terms, "en").match("mounted", ES)
    assert len(result.enforced) == 2
    assert [m.term.target for m in result.selected] == ["montado"]


def test_equal_claims_with_different_renderings_are_contested_not_guessed():
    terms = [term("node", "nodo", term_id="a"), term("node", "nudo", term_id="b")]
    result = TermMatcher(terms, "en").match("a node", ES)
    assert result.selected == ()
    assert [[m.term.target for m in group] for group in result.contested] == [["nodo", "nudo"]]
    same = TermMatcher([terms[0], terms[1].model_copy(update={"target": "nodo"})], "en").match("a node", ES)
    assert [m.term.term_id for m in same.selected] == ["a"] and same.contested == ()


def test_scope_narrows_by_tenant_domain_validity_and_target():
    summer = {"valid_from": datetime(2026, 6, 1, tzinfo=UTC), "valid_to": datetime(2026, 9, 1, tzinfo=UTC)}
    terms = [
        term("a1", tenant_id="orchard"),
        term("b2", domain="k8s"),
        term("c3"),
        term("d4", **summer),
        term("e5", to="de"),
        term("f6", to="*", target=""),
        term("g7", to="es-MX"),
    ]
    text = "a1 b2 c3 d4 e5 f6 g7"
    assert surfaces(text, *terms) == ["b2", "c3", "d4", "f6"]
    assert surfaces(text, *terms, scope=MatchScope("es", "orchard")) == ["a1"]
    assert surfaces(text, *terms, scope=MatchScope("es-MX", domains=frozenset({"other"}))) == ["c3", "d4", "f6", "g7"]
    assert surfaces(text, *terms, scope=MatchScope("es", as_of=datetime(2026, 7, 1, tzinfo=UTC))) == [
        "b2",
        "c3",
        "d4",
        "f6",
    ]
    assert surfaces(text, *terms, scope=MatchScope("es", as_of=datetime(2026, 9, 1))) == ["b2", "c3", "f6"]
    assert TermMatcher(terms, "en").count(MatchScope("de")) == 2


def test_a_more_specific_locale_wins():
    terms = [term("file", "archivo", term_id="a"), term("file", "fichero", term_id="b", to="es-ES")]
    assert [m.term.target for m in TermMatcher(terms, "en").match("file", MatchScope("es-ES")).selected] == ["fichero"]
    assert [m.term.target for m in TermMatcher(terms, "en").match("file", MatchScope("es-MX")).selected] == ["archivo"]


def test_generic_words_are_narrowed_by_context_and_pointer():
    image = term("image", only_with=("board", "gallery"), not_with=("docker",))
    assert surfaces("image on a board", image) == ["image"]
    assert surfaces("an image", image) == []
    assert surfaces("an image", image, pointer="/gallery/delete_image") == ["image"]
    assert surfaces("a docker image board", image) == []


@pytest.mark.parametrize(
    ("mine", "wanted", "expected"),
    [
        ("*", "de", True),
        ("es", "es-MX", True),
        ("es-MX", "es", False),
        ("pt-BR", "pt-PT", False),
        ("pt", "pt-BR", True),
        ("zh-CN", "zh-Hans", True),
        ("zh-Hans", "zh-CN", True),
        ("zh-TW", "zh-CN", False),
        ("zh", "zh-CN", True),
        ("en", "de", False),
        ("sr-Latn", "sr-Cyrl", False),
        ("en-US", "en-GB", False),
    ],
)
def test_which_locales_a_term_serves(mine, wanted, expected):
    assert (serves(mine, wanted) is not None) is expected


def test_ngrams_left_for_hints_exclude_what_binds():
    result = TermMatcher([term("load balancer")], "en").match("Configure the load balancer pool", ES, with_ngrams=True)
    assert [g.text for g in result.open_ngrams] == [
        "configure",
        "balancer pool",
        "pool",
    ]


@pytest.mark.parametrize(
    "text", ["_backup_", "a _new backup_.", "__a backup__", "**backup**", "(_backup_)", "_backups_!"]
)
def test_emphasis_hides_no_term(text):
    assert [m.surface.rstrip("s") for m in TermMatcher([term("backup")], "en").match(text, ES).selected] == ["backup"]


@pytest.mark.parametrize("text", ["my_backup", "_backup", "backup_", "__backup__", "a_backup_b"])
def test_underscores_of_identifiers_hold_words_together(text):
    assert TermMatcher([term("backup")], "en").match(text, ES).selected == ()


def test_compounds_need_known_words_on_both_sides():
    borders = Boundaries("testcontainerdienst heirat", "de", language_rules("de"), frozenset({"test", "dienst"}))
    assert borders.in_compound(4, 13)
    assert not borders.in_compound(23, 26)


WORDS = [
    "image",
    "images",
    "load",
    "balancer",
    "node",
    "nodes",
    "key",
    "keyboard",
    "monkey",
    "the",
    "{x}",
    "<b>",
    ",",
    ".",
]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from([" ", "  ", "", "-"]))
def test_property_agrees_with_looking_for_every_form_word_by_word(words, glue):
    text = glue.join(words)
    terms = [term("image"), term("load balancer"), term("node"), term("key")]
    found = TermMatcher(terms, "en").match(text, ES).enforced
    for m in found:
        assert text[m.start : m.end] == m.surface
        assert m.start == 0 or not (text[m.start - 1].isalnum() and text[m.start].isalnum())
    if glue == " ":
        wanted = sum(w in ("image", "images", "node", "nodes", "key") for w in words)
        pairs = sum(pair == ("load", "balancer") for pair in pairwise(words))
        assert len(found) == wanted + pairs
