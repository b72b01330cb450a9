import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.glossary.breaks import sentence_spans, word_borders, word_spans
from babelray.glossary.ngrams import NGram, longest_term, ngrams, string_sentences, uncovered
from babelray.glossary.normalize import BREAK, fold_text, normalize
from babelray.glossary.protect import find_protected


def projected(text, locale="en"):
    return normalize(text, locale, find_protected(text))


@pytest.mark.parametrize(
    ("text", "locale", "expected"),
    [
        ("Plain Words", "en", "plain words"),
        ('  "Quoted  Text" ', "en", "quoted text"),
        ("it’s “here”", "en", 'it\'s "here"'),
        ("a\\nb\tc\u00a0d", "en", "a b c d"),
        ("one\n\ntwo", "en", f"one{BREAK}two"),
        ("Q&amp;A&nbsp;x", "en", "q&a x"),
        ("Hello {{name}}!", "en", f"hello {BREAK}!"),
        ("ＡＰＩ ｶﾞｲﾄﾞ", "ja", "api ガイド"),
        ("Cafe\u0301 co\u00adop", "fr", "café coop"),
        ("STRASSE Straße", "de", "strasse strasse"),
        ("IĞDIR İzmir", "tr", "ığdır izmir"),
        ("IP İd", "en", "ip id"),
        ("Ёлка", "ru", "елка"),
        ("Kubernetes™ ½", "en", "kubernetes™ ½"),
        ("_Back up_ now", "en", "*back up* now"),
        ("(_a_), __b c__, __init__, max_retries, _x", "en", "(*a*), **b c**, __init__, max_retries, _x"),
        ("_{name}_ _copia_", "es", f"*{BREAK}* *copia*"),
        ("", "en", ""),
        ("'", "en", "'"),
        ('"a" or "b"', "en", '"a" or "b"'),
    ],
)
def test_projection(text, locale, expected):
    assert projected(text, locale).text == expected


def test_offsets_lead_back_to_the_original():
    text = " “Q&amp;A  of ﬁve Straßen” <b>{x}</b>"
    view = normalize(text, "de", find_protected(text))
    start = view.text.index("strassen")
    assert text[slice(*view.to_original(start, start + 8))] == "Straßen"
    start = view.text.index("q&a")
    assert text[slice(*view.to_original(start, start + 3))] == "Q&amp;A"
    assert view.to_normalized(text.index("Straßen")) == view.text.index("strassen")
    assert view.to_normalized(len(text)) == len(view.text)


AWKWARD = st.text(alphabet=st.sampled_from("aB_ İßé\u0301ｶﾞ中𠮷 \n\t\\n\"'{}&amp;<b>"), max_size=40)


@given(AWKWARD, st.sampled_from(["en", "tr", "ja", "de"]))
def test_property_spans_are_ordered_inside_and_idempotent(text, locale):
    view = projected(text, locale)
    assert len(view.text) == len(view.starts) == len(view.ends)
    assert list(view.starts) == sorted(view.starts)
    assert all(0 <= a < b <= len(text) for a, b in zip(view.starts, view.ends, strict=True))
    for i in range(len(view.text)):
        assert view.starts[view.to_normalized(view.starts[i])] == view.starts[i]


@given(st.text(alphabet=st.sampled_from("aB1-'\"\\n \t.~"), max_size=20))
def test_property_the_short_way_for_ascii_agrees_with_the_long_one(text):
    # A character beyond ASCII at the end forces the long way and, set apart by a full stop, changes nothing before it.
    quick, slow = normalize(text + ".", "en"), normalize(text + ".é", "en")
    if text[:1] not in ("'", '"'):
        assert quick.text == slow.text[:-1]
        assert list(quick.starts) == list(slow.starts)[:-1]
        assert list(quick.ends) == list(slow.ends)[:-1]


def test_icu_borders_count_code_points():
    text = "😀 状態管理 café"
    assert [text[a:b] for a, b in word_spans(text, "ja")] == ["状態", "管理", "café"]
    assert {2, 4, 6} <= word_borders(text, "ja")
    two = "First 😀 one. Second!  "
    assert [two[a:b] for a, b in sentence_spans(two, "en")] == ["First 😀 one.", "Second!"]


def test_windows_break_at_punctuation_placeholders_and_tags():
    view = projected("Open the state-of-art, <b>image {x} board</b>")
    texts = [gram.text for gram in ngrams(view, "en", 3)]
    assert "state-of-art" in texts and "open the state" in texts
    assert not any("," in t or BREAK in t or "art image" in t for t in texts)
    assert "image" in texts and "board" in texts and "image board" not in texts


def test_windows_in_scripts_without_spaces_are_icu_words():
    view = projected("コンテナの状態管理", "ja")
    assert {"状態", "管理", "状態管理", "コンテナの状態"} <= {gram.text for gram in ngrams(view, "ja", 3)}
    assert {g.text for g in ngrams(projected("状态管理器", "zh-CN"), "zh-CN", 3)} >= {"状态", "状态管理"}


def test_uncovered_windows_are_what_meaning_is_asked_about():
    text = "Open the image of 42"
    grams = ngrams(projected(text), "en", 2)
    left = uncovered(grams, [(9, 14)])
    assert [g.text for g in left] == ["open"]
    assert NGram("the image", 5, 14, 2, True, ("image",)) in grams
    assert text[left[0].start : left[0].end] == "Open"


def test_the_longest_term_sets_the_window():
    assert longest_term(["a", "a b c d"], "en") == 4
    assert longest_term(["a"], "en") == longest_term([], "en") == 3


def test_sentences_of_a_string_in_its_own_offsets():
    text = "  First one at https://a.b/c.  Second <b>one</b>! "
    spans = string_sentences(text, "en", find_protected(text))
    assert [text[a:b] for a, b in spans] == ["First one at https://a.b/c.", "Second <b>one</b>!"]
    assert fold_text("A  B", "en") == "a b"
