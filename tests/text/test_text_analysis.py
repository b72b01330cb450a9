"""Word analysis: tables by language, positions for phrases, properties on any text."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from babelray.keys import ANALYZER_VERSION
from babelray.text.analysis import MAX_TERM, analyze, analyzer_version, exact_terms
from babelray.text.anchors import find_anchors


def terms(text, language="en", field="stemmed"):
    return [token.text for token in analyze(text, language, field)]


def placed(text, language="en", field="stemmed"):
    return [(token.text, token.position) for token in analyze(text, language, field)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c++ C# .NET", [("c++", 0), ("c", 0), ("c#", 1), ("c", 1), (".net", 2), ("net", 2)]),
        ("node.js", [("node.js", 0), ("node", 0), ("js", 1)]),
        ("max_retries now", [("max_retries", 0), ("max", 0), ("retri", 1), ("now", 2)]),
        ("maxRetries", [("maxretries", 0), ("max", 0), ("retri", 1)]),
        ("HTTPServer", [("httpserver", 0), ("http", 0), ("server", 1)]),
        ("kube-apiserver", [("kube-apiserver", 0), ("kube", 0), ("apiserv", 1)]),
        # Without its leading slash, so that a query that has none meets it.
        ("/api/v1/x", [("api/v1/x", 0), ("api", 0), ("v1", 1), ("x", 2)]),
        ("v2.1.0", [("v2.1.0", 0), ("2.1.0", 0)]),
        ("10.0.0.1", [("10.0.0.1", 0)]),
        ("--dry-run", [("dry-run", 0), ("dri", 0), ("run", 1)]),
        ("PVCs IPv4 K8s", [("pvc", 0), ("ipv4", 1), ("k8s", 2)]),
        ("3.14 and 1,000.50", [("3.14", 0), ("and", 1), ("1,000.50", 2)]),
        ("the pods", [("the", 0), ("pod", 1)]),
    ],
)
def test_identifiers_stand_whole_and_split(text, expected):
    assert placed(text) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("为什么Elasticsearch的index.mapping会超？", "zh-Hans", [
            "为什么", "elasticsearch", "的", "index.mapping", "index", "map", "会", "超",
        ]),
        ("繁體中文", "zh-Hant", ["繁体", "中文"]),
        ("ภาษาไทย", "th", ["ภาษา", "ไทย"]),
        ("Größenänderung", "de", ["grossenander"]),
        ("configurações", "pt", ["configur"]),
        ("l’homme", "fr", ["homm"]),
        ("the user's", "en", ["the", "user"]),
        ("ＡＰＩ", "ja", ["api"]),
        ("ﾃｽﾄ", "ja", ["テスト"]),
        ("कमरे", "hi", ["कमर"]),
        ("Pods を削除", "ja", ["pod", "を", "削除"]),
        ("straße STRASSE", "de", ["strass", "strass"]),
        ("Ingresa", "xx", ["ingresa"]),
    ],
)  # fmt: skip
def test_stemmed_by_language(text, language, expected):
    assert terms(text, language) == expected


def test_turkish_keeps_its_two_i_apart_where_the_language_is_known():
    assert terms("ISI", "tr")[0].startswith("ı")
    assert terms("İSİM", "tr")[0].startswith("i")
    assert terms("ISI ısı isi İSİ", "en", "general") == ["isi"] * 4


def test_general_field_does_not_depend_on_the_language():
    text = "Größe der l’homme ISI 繁體中文 max_retries Pods configuração"
    assert {tuple(terms(text, tag, "general")) for tag in ("de", "tr", "zh-Hant", "und", "fr")} == {
        tuple(terms(text, "en", "general"))
    }


def test_general_field_drops_accents_of_latin_and_keeps_letters_of_cyrillic():
    assert terms("configuração Größe łódź", "und", "general") == ["configuracao", "grosse", "lodz"]
    assert terms("й и", "und", "general") == ["й", "и"]


def test_serbian_scripts_meet_in_the_stemmed_field():
    assert terms("Како да инсталирате пакет", "sr-Cyrl") == terms("Kako da instalirate paket", "sr-Latn")


def test_simplified_traditional_and_japanese_han_meet():
    assert terms("設定", "ja") == terms("設定", "zh-Hant") == terms("设定", "zh-Hans")


def test_general_field_pairs_han_and_keeps_kana_whole():
    assert placed("设置文件", "zh-Hans", "general") == [("设置", 0), ("置文", 1), ("文件", 2)]
    assert placed("慢", "zh-Hans", "general") == [("慢", 0)]
    assert placed("カタカナの設定", "ja", "general") == [("カタカナ", 0), ("の", 4), ("设定", 5)]
    assert placed("서버는", "ko", "general") == [("서버", 0), ("버는", 1)]


def contains_phrase(document, query):
    """A phrase query as an index runs it: every distinct query term at the same relative position."""
    places = {(text, position) for text, position in document}
    first = query[0][1]
    starts = {position for text, position in document if text == query[0][0]}
    return any(all((text, start + position - first) in places for text, position in query) for start in starts)


@pytest.mark.parametrize(
    ("document", "phrase"),
    [
        ("set max_retries to five", "max retries"),
        ("set max_retries to five", "max_retries to"),
        ("set maxRetries to five", "max retries to"),
        ("the kube-apiserver log", "kube apiserver log"),
        ("在设置文件中", "设置文件"),
        ("读取index.mapping的值", "index mapping"),
        ("path /api/v1/retrieve is open", "api v1 retrieve is open"),
    ],
)
@pytest.mark.parametrize("field", ["stemmed", "general"])
def test_phrases_match_over_parts(document, phrase, field):
    assert contains_phrase(placed(document, "en", field), placed(phrase, "en", field))


def test_spans_point_into_the_text_beyond_the_basic_plane():
    text = "😀a 𠮷野家 foo.bar"
    found = {token.text: text[token.start : token.end] for token in analyze(text, "ja", "stemmed")}
    assert found["a"] == "a"
    assert found["foo.bar"] == "foo.bar"
    assert found["bar"] == "bar"


def test_overlong_words_are_not_terms():
    assert terms("a" * 300) == []
    assert terms("a" * MAX_TERM, "xx") == ["a" * MAX_TERM]
    assert all(len(term) <= MAX_TERM for term in terms("ab." * 50_000))


def test_exact_terms_hold_the_written_and_the_folded_form():
    assert exact_terms(find_anchors("RFC2119 and maxRetries maxRetries")) == (
        "RFC2119", "rfc 2119", "maxRetries", "maxretries",
    )  # fmt: skip


def test_version_names_rules_and_libraries():
    rules, *libraries = analyzer_version().split("/")
    assert rules == ANALYZER_VERSION
    assert [name.rpartition("-")[0] for name in libraries] == ["icu4py", "PyStemmer", "opencc", "unicode"]


_LANGUAGES = st.sampled_from(["en", "tr", "zh-Hans", "ja", "fr", "sr-Latn", "th", "ar", "und", "zxx", ""])
_FIELDS = st.sampled_from(["stemmed", "general"])
_MESSY = st.text(alphabet="aAéIİ1._-/:'’+#@ \n为設のカｶﾞ서ก่ا़ि\u200f\u00ad\ud800\x00😀𠮷", max_size=40)


@given(st.one_of(st.text(), _MESSY), _LANGUAGES, _FIELDS)
@settings(deadline=None)
@example("\u0345", "en", "general")
@example("ŉ", "en", "stemmed")
def test_any_text_gives_sane_tokens_twice_the_same(text, language, field):
    tokens = analyze(text, language, field)
    assert analyze(text, language, field) == tokens
    position = 0
    for token in tokens:
        assert 0 < len(token.text) <= MAX_TERM
        assert 0 <= token.start < token.end <= len(text)
        assert token.position >= position
        position = token.position
        token.text.encode("utf-8")


@given(st.text(alphabet="aAéÉßIİıŁfﬁ１ＡΣς", min_size=1, max_size=12))
def test_folding_is_settled_after_once(word):
    for token in analyze(word, "und", "general"):
        assert [again.text for again in analyze(token.text, "und", "general")][:1] == [token.text]


@given(st.text(alphabet="ab c为設定", max_size=30), st.text(alphabet="ab c为設定", max_size=30))
def test_words_of_separate_lines_do_not_influence_each_other(first, second):
    alone = terms(first) + terms(second)
    assert terms(first + "\n\n" + second) == alone
