import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import DataBoundary, Redaction
from babelray.errors import AccessDenied
from babelray.glossary.marks import mark_spans, mask, unmask
from babelray.glossary.match import MatchScope, TermMatcher
from babelray.glossary.redaction import check_service, find_private
from babelray.glossary.terms import Term

RULES = (Redaction(name="EMAIL", pattern=r"\S+@\S+\w"), Redaction(name="ID", pattern=r"\b\d+\b"))


def spans_in(text):
    edge = st.integers(0, len(text))
    return st.lists(st.tuples(edge, edge).map(lambda pair: (min(pair), max(pair))), max_size=6)


TEXTS = st.text(alphabet="ab XQxq019Zz.\u4e2d\n", max_size=40)


def test_terms_and_protected_spans_travel_together():
    terms = [
        Term(term_id="1", source_locale="en", target_locale="es", source="Pod", kind="non_translatable"),
        Term(
            term_id="2", source_locale="en", target_locale="es", source="node", target="nodo", kind="custom_translation"
        ),
    ]
    text = "Add {n} nodes to each <b>Pod</b> node"
    found = TermMatcher(terms, "en").match(text, MatchScope("es"))
    masked = mask(
        text,
        kept=[(one.start, one.end) for one in found.protected],
        terms=[(one.start, one.end, one.term.rendering) for one in found.selected],
    )
    assert masked.text == "Add XQ0Z XQ1Z to each XQ2ZXQ3ZXQ4Z XQ5Z"
    assert masked.restored == ("{n}", "nodo", "<b>", "Pod", "</b>", "nodo")
    assert (masked.terms, masked.has_words) == (3, True)
    back = unmask("A cada xq2zXQ3ZXQ4Z se añaden XQ0Z XQ1Z XQ1Z XQ9Z", masked)
    assert back.text == "A cada <b>Pod</b> se añaden {n} nodo nodo XQ9Z"
    assert (back.damaged, back.invented, back.in_order) == ((1, 5), ("XQ9Z",), False)


@given(st.data())
def test_what_is_untouched_comes_back_whole(data):
    text = data.draw(TEXTS)
    kept, private = data.draw(spans_in(text)), [(*span, "P") for span in data.draw(spans_in(text))]
    masked = mask(text, kept=kept, private=private)
    back = unmask(masked.text, masked)
    assert (back.text, back.damaged, back.invented, back.in_order) == (text, (), (), True)
    outside = [True] * len(text)
    for start, end, *_ in [*kept, *private]:
        outside[start:end] = [False] * (end - start)
    left = "".join(char for char, stays in zip(text, outside, strict=True) if stays)
    remaining = list(masked.text)
    for start, end in reversed(mark_spans(masked.text)):
        del remaining[start:end]
    visible = iter(left)
    assert all(char in visible for char in remaining)  # a subsequence: what is visible was outside every span


@given(TEXTS, TEXTS, st.integers(0, 5))
def test_marks_put_in_later_are_told_from_earlier_ones(left, right, cut):
    outer = mask(f"{left}abc{right}", kept=[(len(left), len(left) + 1)])
    number = len(outer.restored)
    at = min(cut, len(outer.text))
    loose = [(a, b) for a, b in [(at, len(outer.text))] if not any(a < e and s < a for s, e in mark_spans(outer.text))]
    inner = mask(outer.text, kept=loose, first=number)
    again = unmask(inner.text, inner)
    assert (again.text, again.damaged, again.invented) == (outer.text, (), ())


def test_a_span_that_is_lost_doubled_or_moved_is_told():
    masked = mask("set a.b to c.d", kept=[(4, 7), (11, 14)])
    assert masked.text == "set XQ0Z to XQ1Z"
    assert unmask("poner XQ0Z en XQ1Z", masked).damaged == ()
    assert unmask("poner XQ0Z", masked).damaged == (1,)
    assert unmask("poner XQ0Z XQ0Z en XQ1Z", masked).damaged == (0,)
    moved = unmask("en XQ1Z poner XQ0Z", masked)
    assert (moved.damaged, moved.in_order) == ((), False)
    assert unmask("XQ0Z XQ 1Z", masked).damaged == (1,)


def test_what_looks_like_a_mark_is_not_taken_for_one():
    masked = mask("see XQ0Z and A1", kept=[(13, 15)])
    assert masked.text == "see XQ0Z and XQ1Z"
    assert unmask("ver XQ0Z y XQ1Z", masked).text == "ver XQ0Z y A1"
    assert unmask("ver y XQ1Z", masked).damaged == (0,)


def test_a_text_of_names_only_has_no_words():
    assert not mask("kubectl get 5?", kept=[(0, 11)]).has_words
    assert mask("kubectl get it", kept=[(0, 11)]).has_words
    assert mask("删除XX", kept=[(2, 4)]).has_words


def test_private_text_is_out_of_what_leaves_and_of_messages():
    text = "Ask ann@example.org (id 12, 12, 7) or ann@example.org."
    masked = mask(text, private=find_private(text, RULES), kept=[(0, 3), (8, 19)])
    assert masked.text == "XQ0Z XQ1Z (id XQ2Z, XQ3Z, XQ4Z) or XQ5Z."
    assert masked.shown == ("Ask", "<EMAIL>", "<ID>", "<ID>", "<ID>", "<EMAIL>")
    assert unmask(masked.text, masked).text == text


@given(st.text(alphabet="a1 @.", max_size=40))
def test_no_character_of_a_match_stays_visible(text):
    masked = mask(text, private=find_private(text, RULES))
    stays = [
        not any(m.start() <= at < m.end() for r in RULES for m in r.pattern.finditer(text)) for at in range(len(text))
    ]
    pieces, done = [], 0
    for start, end in mark_spans(masked.text):
        pieces.append(masked.text[done:start])
        done = end
    assert "".join([*pieces, masked.text[done:]]) == "".join(c for c, s in zip(text, stays, strict=True) if s)


def test_only_named_services_may_be_sent_text():
    boundary = DataBoundary(services=("general",))
    check_service(boundary, "general", "acme")
    with pytest.raises(AccessDenied, match="other") as caught:
        check_service(boundary, "other", "acme")
    assert caught.value.where == "acme"
    with pytest.raises(AccessDenied, match="no external service"):
        check_service(DataBoundary(), "general", "acme")
