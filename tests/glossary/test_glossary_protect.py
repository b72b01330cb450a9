from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.glossary.normalize import normalize
from babelray.glossary.protect import ProtectedKind, find_protected, verify_protected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{count}} image/video in $t(common.board)", [("placeholder", "{{count}}"), ("nesting", "$t(common.board)")]),
        ("$t(a.b, {{x}}) UI", [("nesting", "$t(a.b, {{x}})")]),
        ("Hi {name}, {0} of {n, number}", [("placeholder", t) for t in ("{name}", "{0}", "{n, number}")]),
        ("%s, %1$d, %(name)s, %.2f, %%", [("printf", t) for t in ("%s", "%1$d", "%(name)s", "%.2f", "%%")]),
        ("100% sure, 50%discount, 5 % of it", []),
        ("${user} and %{user}", [("placeholder", "${user}"), ("placeholder", "%{user}")]),
        ('a <a href="x>y">link</a><br/>', [("tag", '<a href="x>y">'), ("tag", "</a>"), ("tag", "<br/>")]),
        ("<0>x</0> but 3 < 5 > 2", [("tag", "<0>"), ("tag", "</0>")]),
        ("Q&amp;A &#39; & x", [("entity", "&amp;"), ("entity", "&#39;")]),
        ("run `kubectl get {x}` now", [("code", "`kubectl get {x}`")]),
        ("[the docs](https://a.b/c?d=(e)) at https://x.y/z.", [("link", "](https://a.b/c?d=(e))"), ("url", "https://x.y/z")]),
        ("mail me@example.org", [("url", "me@example.org")]),
        ("{ this is prose in braces }", []),
    ],
)  # fmt: skip
def test_what_is_protected(text, expected):
    found = find_protected(text)
    assert [(p.kind.value, p.text) for p in found] == expected
    assert all(text[p.start : p.end] == p.text for p in found)


PLURAL = "{count, plural, offset:1 =0 {no images} one {# image in <b>{board}</b>} other {# images}} left"


def test_icu_branches_stay_open_and_their_syntax_is_protected():
    text = "{who, select, me {I have {n, plural, one {# file} other {# files}}} other {it''s '{not}' x}}"
    open_text = []
    done = 0
    for span in find_protected(text):
        open_text.append(text[done : span.start])
        done = span.end
    assert [piece for piece in open_text if piece.strip()] == ["I have ", " file", " files", "it''s '", "' x"]


@pytest.mark.parametrize(
    ("output", "problems"),
    [
        ("noch {count, plural, =0 {kein Bild} one {# Bild in <b>{board}</b>} other {# Bilder}}", []),
        ("{count, plural, one {# a <b>{board}</b>} few {# b} many {# c} other {# d}}", []),
        ("{count, plural, one {# Bild in <b>{board}</b>}}", ["icu"]),
        ("{count, plural, eins {# in <b>{board}</b>} other {#}}", ["icu"]),
        ("{count, plural, one {# Bild} other {# Bilder}}", ["icu", "lost", "lost"]),
        ("{count, plural, one {# <b>{board}</b> other {#}}", ["icu"]),
        ("{zahl, plural, one {# <b>{board}</b>} other {#}}", ["icu"]),
    ],
)
def test_an_icu_message_may_change_its_plural_branches_but_not_its_arguments(output, problems):
    assert [d.problem for d in verify_protected(PLURAL, output)][: len(problems)] == problems


def test_select_keys_are_program_values():
    source = "{g, select, male {he} other {they}}"
    assert verify_protected(source, "{g, select, male {er} other {sie}}") == []
    assert "other keys" in verify_protected(source, "{g, select, mann {er} other {sie}}")[0].detail


@pytest.mark.parametrize(
    ("source", "output", "problems"),
    [
        ("{a} of {b}", "{b}: {a}", []),
        ("{a} of {b}", "{a} von {a}", [("lost", True), ("added", True)]),
        ("%s of %d", "%d von %s", [("reordered", True)]),
        ("%1$s of %2$d", "%2$d von %1$s", []),
        ("<b>x</b> <i>y</i>", "<i>y</i> <b>x</b>", []),
        ("<b>x</b> <i>y</i>", "<b>x<i></b>y</i>", [("nesting", True)]),
        ("Q&amp;A", "F&A", [("lost", False)]),
        ("{{ count }} items", "{{count}} Einträge", []),
        ("plain", "einfach", []),
        ("plain", "einfach {x}", [("added", True)]),
    ],
)
def test_verification_by_count_and_order(source, output, problems):
    assert [(d.problem, d.fatal) for d in verify_protected(source, output)] == problems


@given(st.text(alphabet="ab {}<>/%$#&;`[]()'\",.:sd0t@plural\n", max_size=60))
def test_property_spans_are_sorted_disjoint_and_a_copy_is_undamaged(text):
    found = find_protected(text)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(text[p.start : p.end] == p.text and p.text for p in found)
    assert verify_protected(text, text) == []


def test_the_kinds_are_named():
    assert find_protected("{{x}}")[0].kind is ProtectedKind.PLACEHOLDER


OPENERS = [
    "{", "{a,", "{a, plural, one {", "`", "<", "<!--", "<b ", "<a href='", "${", "$t(", "%(", "&#x", "&amp", "](",
    "a.b.", "http://", "@a", "{{", "\\n", "_a ", "__a ",
]  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize("opener", OPENERS)
def test_what_is_opened_again_and_again_takes_linear_time_and_raises_nothing(opener):
    text = (opener * 100_000)[:200_000]
    spans = find_protected(text)
    assert all(text[one.start : one.end] == one.text for one in spans)
    normalize(text, "en", spans)
    assert verify_protected(text, text) == []


def test_arguments_deeper_than_anybody_writes_them_are_plain_text():
    def nested(depth):
        return "{a, plural, other {" * depth + "x" + "}}" * depth

    assert {one.kind for one in find_protected(nested(30))} == {ProtectedKind.ICU}
    assert ProtectedKind.ICU not in {one.kind for one in find_protected(nested(5000))}
