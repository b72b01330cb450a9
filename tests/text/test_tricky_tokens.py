"""Tokens that word breakers get wrong: through the analysis as at build and at query, and through a real word index.

German compounds stay whole: neither ICU nor Snowball splits them, so `Datenbank` does not find `Datenbankverbindung`.
"""

import pytest

from babelray.index.lexical import (
    UNFILTERED,
    LexicalBuilder,
    LexicalPart,
    LexicalRow,
    SegmentLexical,
    exact_field_terms,
    exact_parts,
    general_parts,
    general_terms,
    heading_terms,
    phrase_part,
    stemmed_terms,
    word_parts,
)
from babelray.text.analysis import analyze
from babelray.text.anchors import exact_tokens


def terms(text, language, field):
    return [token.text for token in analyze(text, language, field)]


# text, language, terms of the stemmed field, of the general field (None: the same)
TABLE = [
    ("c++", "en", ["c++", "c"], None),
    ("C++17", "en", ["c++17", "c", "17"], None),
    ("C#", "en", ["c#", "c"], None),
    ("C++,C#", "en", ["c++", "c", "c#", "c"], None),
    (".NET", "en", [".net", "net"], None),
    ("ASP.NET", "en", ["asp.net", "asp", "net"], None),
    ("node.js", "en", ["node.js", "node", "js"], None),
    ("a/b", "en", ["a/b", "a", "b"], None),
    ("max_retries", "en", ["max_retries", "max", "retri"], ["max_retries", "max", "retries"]),
    ("don't", "en", ["don't"], None),
    ("don’t", "en", ["don't"], None),
    ("it'll", "en", ["it'll"], None),  # not the word `ill`
    ("O'Reilly's", "en", ["o'reilli"], ["o'reilly"]),
    ("l’homme d'État", "fr", ["homm", "état"], ["homme", "etat"]),
    ("重试ERR_1205次", "zh", ["重", "试", "err_1205", "err", "1205", "次"], ["重试", "err_1205", "err", "1205", "次"]),
    ("配置max_retries的值", "zh", ["配置", "max_retries", "max", "retri", "的", "值"],
     ["配置", "max_retries", "max", "retries", "的值"]),
    ("ＥＲＲ＿１２０５", "zh", ["err_1205", "err", "1205"], None),
    ("ｍａｘ＿ｒｅｔｒｉｅｓ", "ja", ["max_retries", "max", "retri"], ["max_retries", "max", "retries"]),
    ("資料庫", "zh-Hant", ["资料", "库"], ["资料", "料库"]),
    ("资料库", "zh-Hans", ["资料", "库"], ["资料", "料库"]),
    ("サーバーERR_1205", "ja", ["サーバー", "err_1205", "err", "1205"], None),
    ("ｻｰﾊﾞｰ", "ja", ["サーバー"], None),
    ("서버ERR_1205를", "ko", ["서버", "err_1205", "err", "1205", "를"], None),
    ("ผู้ใช้", "th", ["ผู้", "ใช้"], None),
    ("ใช้kubectlลบpod", "th", ["ใช้", "kubectl", "ลบ", "pod"], None),
    ("ERR_1205ครั้ง", "th", ["err_1205", "err", "1205", "ครั้ง"], None),
    ("ລາວERR", "lo", ["ລາວ", "err"], None),
    ("Datenbankverbindungen", "de", ["datenbankverbind"], ["datenbankverbindungen"]),
    ("Größe", "de", ["gross"], ["grosse"]),
    ("STRASSE straße", "de", ["strass", "strass"], ["strasse", "strasse"]),
    ("Müller", "de", ["mull"], ["muller"]),
    ("ISPARTA", "tr", ["ıspar"], ["isparta"]),
    ("İstanbul", "tr", ["istanbul"], None),
    ("MAX_RETRIES", "tr", ["max_retries", "max", "retri"], ["max_retries", "max", "retries"]),
    ("Kubernetes'in", "tr", ["kubernetes"], ["kubernetes'in", "kubernetes"]),
    ("Docker’a", "az", ["docker'a"], ["docker'a", "docker"]),
    ("об'єкт", "uk", ["об'єкт"], None),  # here the apostrophe is a letter's sign
    ("الكتاب", "ar", ["كتاب"], ["الكتاب"]),
    ("كِتَابٌ", "ar", ["كتاب"], None),
    ("الـAPI", "ar", ["ال", "api"], ["الـ", "api"]),
    ("לAPI", "he", ["ל", "api"], None),
    ("user@example.com", "und", ["user@example.com", "user", "exampl", "com"],
     ["user@example.com", "user", "example", "com"]),
    ("--dry-run=true", "und", ["dry-run", "dri", "run", "true"], ["dry-run", "dry", "run", "true"]),
    ("std::vector<int>", "und", ["std::vector", "std", "vector", "int"], None),
    ("12：30", "zh", ["12", "30"], None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "language", "stemmed", "general"), TABLE, ids=[row[0] for row in TABLE])
def test_terms_of_tricky_tokens(text, language, stemmed, general):
    assert terms(text, language, "stemmed") == stemmed
    assert terms(text, language, "general") == (stemmed if general is None else general)


PAGES = [
    ("en", "Write the hot loop in C++ and build it with clang."),
    ("en", "The client library is written in C# and runs on .NET 8."),
    ("en", "Set max_retries to 3 in node.js; don't use the a/b test."),
    ("zh-Hans", "超时后最多重试ERR_1205次，然后放弃。资料库会恢复。"),
    ("zh-Hant", "資料庫連線逾時，請檢查網路設定。"),
    ("ja", "設定ファイルのｍａｘ＿ｒｅｔｒｉｅｓを変更し、ＥＲＲ＿１３０１を確認します。"),
    ("th", "ใช้kubectlลบpodเมื่อพบERR_1402บ่อยครั้ง"),
    ("de", "Die Datenbankverbindung zur Straße der Größen ist unterbrochen."),
    ("tr", "Kubernetes'in ISPARTA bölgesinde MAX_BACKOFF_LIMIT ayarı İstanbul'dan farklıdır."),
    ("ar", "أعد تشغيل الكتاب بعد الخطأ ERR_1503."),
    ("ko", "서버에서ERR_1604를 받으면 다시 시도하세요."),
    ("fr", "L’hôte n'écoute pas : vérifiez l'adresse d’écoute."),
]


def row(language, text, number):
    return LexicalRow(
        text=stemmed_terms(text, language), general=general_terms(text), title=heading_terms("", language), section=(),
        exact=exact_field_terms(exact_tokens(text)), access_class=0, document=number,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    builder = LexicalBuilder(tmp_path_factory.mktemp("tricky"))
    for number, (language, text) in enumerate(PAGES):
        builder.add(row(language, text, number))
    return SegmentLexical(builder.close(), len(PAGES))


def found(pages, parts):
    return pages.search(parts, UNFILTERED, 10).rows.tolist()


@pytest.mark.parametrize(
    ("query", "language", "first"),
    [
        ("c++", "en", 0),
        ("c#", "en", 1),
        (".net", "en", 1),
        ("node.js", "und", 2),
        ("don’t", "en", 2),
        ("A/B", "en", 2),
        ("重试", "zh-Hans", 3),
        ("資料庫恢復", "zh-Hant", 3),  # a traditional query, a simplified page
        ("数据网络设置 资料库连线", "zh-Hans", 4),
        ("max_retriesを変更", "ja", 5),
        ("ลบ pod", "th", 6),
        ("kubectl", "en", 6),
        ("Datenbankverbindungen", "de", 7),
        ("STRASSE GROSSEN", "de", 7),
        ("kubernetes", "en", 8),
        ("ısparta", "tr", 8),
        ("Isparta", "en", 8),
        ("istanbul", "tr", 8),
        ("max_backoff_limit", "en", 8),
        ("MAX_BACKOFF_LIMIT", "tr", 8),
        ("كتاب", "ar", 9),
        ("서버", "ko", 10),
        ("hôte", "fr", 11),
        ("hote ecoute", "en", 11),
    ],
)
def test_words_find_their_page(pages, query, language, first):
    assert found(pages, [*word_parts(query, [language]), *general_parts(query)])[:1] == [first]


@pytest.mark.parametrize(
    ("query", "only"),
    [
        ("ERR_1205", 3),
        ("ＥＲＲ＿１２０５", 3),
        ("ERR_1301", 5),
        ("max_retries", None),
        ("ERR_1402", 6),
        ("ERR_1503", 9),
        ("ERR_1604", 10),
        ("MAX_BACKOFF_LIMIT", 8),
    ],
)
def test_codes_are_found_exactly_whatever_touches_them(pages, query, only):
    assert sorted(found(pages, exact_parts(query))) == ([2, 5] if only is None else [only])


def test_a_code_of_other_digits_is_no_exact_hit(pages):
    assert found(pages, exact_parts("ERR_1206")) == []


@pytest.mark.parametrize(
    ("query", "page"),
    [("max retries", [2, 5]), ("重试 ERR_1205", [3]), ("ลบ pod", [6]), ("kubectl pod", []), ("资料库连线", [4])],
)
def test_phrases_run_over_parts_and_scripts(pages, query, page):
    assert sorted(found(pages, [phrase_part(query)])) == page


def test_parts_of_german_compounds_are_not_found(pages):
    assert found(pages, [*word_parts("Datenbank", ["de"]), *general_parts("Datenbank")]) == []


def test_turkish_keeps_its_two_i_apart_where_the_language_is_known(pages):
    assert found(pages, [LexicalPart("text", tuple(terms("ısparta", "tr", "stemmed")))]) == [8]
    assert found(pages, [LexicalPart("text", tuple(terms("isparta", "tr", "stemmed")))]) == []


@pytest.mark.parametrize(("language", "text"), PAGES)
def test_what_is_built_is_what_is_asked(language, text):
    built = row(language, text, 0)
    asked = [*word_parts(text, [language]), *general_parts(text), *exact_parts(text)]
    for part in asked:
        if part.field in ("text", "general", "exact"):
            assert set(part.terms) == {term for term, _ in getattr(built, part.field)}
