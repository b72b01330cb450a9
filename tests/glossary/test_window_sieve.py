import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.ngrams import ngrams
from babelray.glossary.normalize import normalize
from babelray.glossary.sieve import WindowSieve
from babelray.glossary.terms import Term


def term(source):
    return Term(
        term_id=source, source_locale="en", target_locale="es", source=source, target="x", kind="custom_translation"
    )


def kept(forms, text, locale="en", longest=6):
    sieve = WindowSieve(forms, locale)
    return [gram.text for gram in ngrams(normalize(text, locale, ()), locale, longest) if sieve.keeps(gram)]


@pytest.mark.parametrize(
    ("forms", "text", "wanted"),
    [
        # One word may mean anything.
        (["response"], "reply later", ["reply", "later"]),
        # Two words: one is shared, and the form has two.
        (["proxy service"], "service proxies", ["service", "service proxies", "proxies"]),
        (["service"], "service proxies", ["service", "proxies"]),
        # A shared function word is none.
        (["log in"], "sign in", ["sign", "in"]),
        # Three words and more: two are shared.
        (
            ["absolute file path"],
            "path absolute now",
            ["path", "path absolute", "path absolute now", "absolute", "absolute now", "now"],
        ),
        (["absolute file path"], "path was long", ["path", "path was", "was", "long"]),
        # Other forms of a word count by how they begin; hyphens part words.
        (["cross-origin sharing"], "shared origin", ["shared", "shared origin", "origin"]),
    ],
)
def test_long_windows_must_share_words_with_a_form_about_as_long(forms, text, wanted):
    assert sorted(kept(forms, text)) == sorted(wanted)


def test_words_without_spaces_between_them_are_compared_as_words():
    assert "删除分区" in kept(["分区删除"], "删除分区", "zh-Hans")
    assert "删除消息" not in kept(["分区副本"], "删除消息", "zh-Hans")


def test_languages_without_rules_are_not_sieved():
    assert "kitabu cha" in kept(["gari"], "kitabu cha", "sw")


WORDS = st.sampled_from(["node", "nodes", "pool", "the", "load", "loading", "balancer", "of", "service"])


@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4))
def test_a_form_itself_is_never_sieved_out(form, before, after):
    phrase, stops = " ".join(form), {"the", "of"}
    windows = kept([phrase], " ".join([*before, *form, *after]), longest=len(form))
    assert phrase in windows or form[0] in stops or form[-1] in stops


def test_a_matcher_gives_only_sieved_windows():
    matcher = TermMatcher([term("load balancer"), term("reverse proxy")], "en")
    found = matcher.match("Put a proxy in reverse order", MatchScope("es"), with_ngrams=True)
    assert [gram.text for gram in found.open_ngrams] == [
        "put",
        "proxy",
        "reverse",
        "reverse order",
        "order",
    ]
