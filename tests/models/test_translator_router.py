import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import (
    DataBoundary,
    GlossaryTranslatorSettings,
    HttpTranslatorSettings,
    Redaction,
    RouteSettings,
    TranslationSettings,
)
from babelray.errors import AccessDenied, ConfigError, InputError, UpstreamError
from babelray.glossary.marks import mark_spans
from babelray.glossary.redaction import find_private
from babelray.glossary.term_lookup import TermLookup
from babelray.glossary.terms import Term
from babelray.retrieval.translation import QueryTranslator
from models.translators import build_translators
from models.translators.router import TranslationRouter
from tests.models.chat_server import answer_with, texts_of
from tests.models.embedding_server import serving

RULES = (Redaction(name="EMAIL", pattern=r"\S+@\S+\w"), Redaction(name="NUMBER", pattern=r"\d+"))


class Words:
    """A translator that changes every word in a way that can be read, marks aside; notes what it was sent."""

    model, glossary_version = "words", None

    def __init__(self, name, *pairs, external=False, version="1", fail=False, change=str.upper):
        self.name, self.version, self.external = name, version, external
        self._pairs, self.fail, self._change = frozenset(pairs), fail, change
        self.sent = []

    def pairs(self):
        return self._pairs

    def knows(self, source, target):
        return (source, target) in self._pairs

    def translate(self, texts, source, target, *, tenant_id, domain=""):
        self.sent += texts
        if self.fail:
            raise UpstreamError("down", where=self.name)
        return [self._change(text) for text in texts]


def router(*translators, terms=(), clock=lambda: 0.0, **values):
    made = TranslationSettings(translators=(GlossaryTranslatorSettings(kind="glossary"),), **values)
    return TranslationRouter(made, translators, TermLookup(terms) if terms else None, clock=clock)


def ask(made, *texts, source="en", target="es", tenant_id="acme", **more):
    return made.translate(texts, source, target, tenant_id=tenant_id, **more)


def term(source, target, **more):
    values = {"term_id": source, "source_locale": "en", "target_locale": "es", "tenant_id": "acme", **more}
    return Term(source=source, target=target, kind="custom_translation", **values)


def test_the_first_translator_that_knows_the_pair():
    first, second = Words("first", ("en", "de")), Words("second", ("en", "es"))
    made = router(first, second, Words("third", ("en", "es")))
    (translation,) = ask(made, "a b")
    assert (translation.text, translation.translator, translation.model) == ("A B", "second", "words")
    assert (translation.version, translation.glossary_version, translation.route) == ("1", None, ("en", "es"))
    assert first.sent == [] and second.sent == ["a b"]
    assert made.pairs() == {("en", "de"), ("en", "es")}
    assert made.can("en", "de") and not made.can("es", "en")
    typed: QueryTranslator = made
    assert typed.version == made.version


def test_a_route_goes_step_by_step():
    left, right = Words("left", ("pt", "es"), change=lambda t: f"<{t}>"), Words("right", ("es", "en"))
    route = RouteSettings(languages=("pt", "es", "en"), translators=("left", "right"))
    made = router(left, right, routes=(route,))
    (translation,) = ask(made, "a 1", source="pt", target="en")
    assert (translation.text, translation.translator) == ("<A 1>", "left+right")
    assert translation.route == ("pt", "es", "en") and right.sent == ["<a 1>"]
    assert ("pt", "en") in made.pairs() and made.can("pt-BR", "en")


@pytest.mark.parametrize(
    ("route", "match"),
    [
        ((("en", "es"), ("none",)), "unknown translator"),
        ((("en", "de"), ("one",)), "does not know a step"),
        ((("en", "es", "en"), ("one", "one")), "does not know a step"),
    ],
)
def test_routes_that_cannot_be_gone_are_refused(route, match):
    with pytest.raises(ConfigError, match=match):
        router(Words("one", ("en", "es")), routes=(RouteSettings(languages=route[0], translators=route[1]),))
    with pytest.raises(ValueError, match="3 languages have 2 steps"):
        RouteSettings(languages=("a", "b", "c"), translators=("one",))
    with pytest.raises(ConfigError, match="same name"):
        router(Words("one", ("en", "es")), Words("one", ("en", "de")))


def test_no_way_is_an_input_error():
    with pytest.raises(InputError, match="no translator"):
        ask(router(Words("one", ("en", "es"))), "a", target="de")
    with pytest.raises(InputError, match="1 for 2"):
        ask(router(Words("one", ("en", "es"))), "a", "b", protected=[[]])


def test_protected_spans_travel_as_marks_and_come_back():
    one = Words("one", ("en", "es"), change=lambda text: f"hola {text}")
    (translation,) = ask(router(one), "set a.b in v1.2 now", protected=[[(4, 7), (11, 15)]])
    assert one.sent == ["set XQ0Z in XQ1Z now"]
    assert translation.text == "hola set a.b in v1.2 now"
    assert translation.damaged == () and not translation.reordered


@pytest.mark.parametrize(
    ("change", "damaged", "reordered"),
    [
        (lambda text: text.replace("XQ0Z", ""), ("a.b",), False),
        (lambda text: text.replace("XQ1Z", "XQ0Z"), ("a.b", "v1.2"), False),
        (lambda text: text + " XQ7Z", ("XQ7Z",), False),
        (lambda text: text.replace("XQ0Z", "x").replace("XQ1Z", "XQ0Z").replace("x", "XQ1Z"), (), True),
    ],
)
def test_damage_is_told(change, damaged, reordered):
    (translation,) = ask(
        router(Words("one", ("en", "es"), change=change)), "a.b or v1.2", protected=[[(0, 3), (7, 11)]]
    )
    assert (translation.damaged, translation.reordered) == (damaged, reordered)


def test_nothing_but_names_is_not_sent():
    one = Words("one", ("en", "es"))
    assert ask(router(one), "kubectl get", "  ", "42?", protected=[[(0, 11)], [], []]) == [None, None, None]
    assert one.sent == []


def test_terms_are_bound_for_their_tenant_and_carry_their_version():
    one, terms = Words("one", ("en", "es")), [term("load balancer", "balanceador de carga")]
    made = router(one, terms=terms)
    (bound,) = ask(made, "start the load balancers")
    assert one.sent == ["start the XQ0Z"] and bound.text == "START THE balanceador de carga"
    assert bound.glossary_version == TermLookup(terms).version
    (other,) = ask(made, "start the load balancers", tenant_id="rival")
    assert other.text == "START THE LOAD BALANCERS"
    (alone,) = ask(made, "Load balancer?")
    assert (alone.text, alone.translator) == ("balanceador de carga?", "glossary") and len(one.sent) == 2
    (kept,) = ask(made, "the load balancer", protected=[[(4, 17)]])
    assert kept.text == "THE load balancer"
    unbound = TranslationRouter(TranslationSettings(bind_terms=False), [one], TermLookup(terms))
    assert ask(unbound, "a load balancer")[0].text == "A LOAD BALANCER"


def test_the_glossary_alone_translates_what_it_can_and_nothing_else():
    made = build_translators(TranslationSettings(), [term("queue", "cola"), term("retry", "reintento")])
    texts = ["queues and ERR_1205", "nothing here"]
    some, none = ask(made, *texts, protected=[[(11, 19)], []])
    assert (some.text, some.translator, some.glossary_version is None) == ("cola and ERR_1205", "glossary", False)
    assert none is None
    assert ask(made, texts[0], tenant_id="rival") == [None]
    assert ask(made, "la cola", source="es", target="en")[0].text == "la queue"
    with pytest.raises(InputError):
        ask(build_translators(TranslationSettings()), "a")


def test_where_one_way_has_nothing_to_offer_the_next_is_asked():
    first = Words("first", ("en", "es"), change=lambda text: text if "known" in text else None)
    second = Words("second", ("en", "es"))
    one, two = ask(router(first, second), "known", "other")
    assert (one.translator, two.translator, second.sent) == ("first", "second", ["other"])


def test_a_translator_that_fails_is_passed_over_then_left_alone_then_tried_again():
    now = [0.0]
    first, second = Words("first", ("en", "es"), fail=True), Words("second", ("en", "es"))
    made = router(first, second, clock=lambda: now[0], failures_to_open=2, open_seconds=30, cache_entries=0)
    for _ in range(4):
        assert ask(made, "a")[0].translator == "second"
    assert len(first.sent) == 2
    now[0], first.fail = 31.0, False
    assert ask(made, "a")[0].translator == "first"


def test_failures_of_all_ways_are_raised():
    made = router(Words("first", ("en", "es"), fail=True), Words("second", ("en", "es"), fail=True))
    with pytest.raises(UpstreamError, match="first"):
        ask(made, "a")
    for _ in range(3):
        with pytest.raises(UpstreamError):
            ask(made, "a")
    with pytest.raises(UpstreamError, match="left alone"):
        ask(made, "a")


def test_translations_are_remembered_under_all_that_shaped_them():
    one = Words("one", ("en", "es"))
    made = router(one, terms=[term("node", "nodo")])
    first = ask(made, "a", "b", "a")
    assert one.sent == ["a", "b"] and first[0] == first[2]
    assert ask(made, "a") == first[:1] and len(one.sent) == 2
    ask(made, "a", tenant_id="rival")
    ask(made, "a", domain="shop")
    assert len(one.sent) == 4
    # What is protected is not part of the text that is sent: the same sentence about another name is the same.
    x = ask(made, "see x.y", protected=[[(4, 7)]])[0]
    y = ask(made, "see z.w", protected=[[(4, 7)]])[0]
    assert len(one.sent) == 5 and (x.text, y.text) == ("SEE x.y", "SEE z.w") and x.translation_id != y.translation_id
    fresh = Words("one", ("en", "es"), version="2")
    assert ask(router(fresh), "a")[0].translation_id != first[0].translation_id
    off = Words("off", ("en", "es"))
    without = router(off, cache_entries=0)
    assert ask(without, "a") == ask(without, "a") and off.sent == ["a", "a"]


def test_failures_are_not_remembered():
    one = Words("one", ("en", "es"), fail=True)
    made = router(one)
    with pytest.raises(UpstreamError):
        ask(made, "a")
    one.fail = False
    assert ask(made, "a")[0].text == "A"


def test_the_version_tells_what_shapes_translations_apart():
    one, bound = Words("one", ("en", "es")), {"acme": DataBoundary(services=("one",))}
    hiding = {"acme": DataBoundary(services=("one",), redactions=RULES)}
    routed = RouteSettings(languages=("en", "es"), translators=("one",))
    made = [
        router(one), router(Words("one", ("en", "es"), version="2")), router(one, terms=[term("a", "b")]),
        router(one, boundaries=bound), router(one, boundaries=hiding), router(one, routes=(routed,)),
    ]  # fmt: skip
    assert len({each.version for each in made}) == len(made)
    assert router(one).version == made[0].version


def test_nothing_leaves_unless_the_tenants_boundary_names_the_service():
    outside = Words("outside", ("en", "es"), external=True)
    made = router(outside, boundaries={"acme": DataBoundary(services=("outside",)), "rival": DataBoundary()})
    assert ask(made, "a")[0].text == "A"
    for tenant in ("rival", "unknown"):
        with pytest.raises(AccessDenied, match=tenant):
            ask(made, "a", tenant_id=tenant)
    assert outside.sent == ["a"]
    inside = Words("inside", ("en", "es"))
    assert ask(router(outside, inside), "b", tenant_id="rival")[0].translator == "inside"
    assert outside.sent == ["a"]


def test_a_route_that_ends_outside_does_not_even_begin():
    inside, outside = Words("inside", ("pt", "es")), Words("outside", ("es", "en"), external=True)
    route = RouteSettings(languages=("pt", "es", "en"), translators=("inside", "outside"))
    with pytest.raises(AccessDenied):
        ask(router(inside, outside, routes=(route,)), "a", source="pt", target="en")
    assert inside.sent == []


def test_private_text_stays_here_and_comes_back():
    outside = Words("outside", ("en", "es"), external=True, change=lambda text: f"sí {text}")
    made = router(outside, boundaries={"acme": DataBoundary(services=("outside",), redactions=RULES)})
    (translation,) = ask(made, "mail ann@example.org about 42 nodes")
    assert outside.sent == ["mail XQ0Z about XQ1Z nodes"]
    assert translation.text == "sí mail ann@example.org about 42 nodes"
    lossy = Words("outside", ("en", "es"), external=True, change=lambda text: text.replace("XQ0Z", ""))
    lost = router(lossy, boundaries={"acme": DataBoundary(services=("outside",), redactions=RULES)})
    assert ask(lost, "mail ann@example.org about 42 nodes")[0].damaged == ("<EMAIL>",)
    here = Words("here", ("en", "es"))
    assert ask(router(here, boundaries={"acme": DataBoundary(redactions=RULES)}), "call 42")[0].text == "CALL 42"
    assert here.sent == ["call 42"]


def test_a_rule_sees_through_the_marks_of_protected_spans():
    rule = (Redaction(name="OWNER", pattern=r"db-\w+ belongs to \w+"),)
    outside = Words("outside", ("en", "es"), external=True)
    made = router(outside, boundaries={"acme": DataBoundary(services=("outside",), redactions=rule)})
    text = "db-main belongs to Ann, is it up?"
    (translation,) = ask(made, text, protected=[[(0, 7)]])
    assert outside.sent == ["XQ0Z, is it up?"]
    assert translation.text == "db-main belongs to Ann, IS IT UP?"


def test_what_an_earlier_step_put_into_words_is_hidden_from_the_next():
    inside = Words("inside", ("pt", "es"), change=lambda text: text.replace("segredo", "secret-7"))
    rule = (Redaction(name="SECRET", pattern=r"secret-\d"),)
    route = RouteSettings(languages=("pt", "es", "en"), translators=("inside", "outside"))
    values = {"routes": (route,), "boundaries": {"acme": DataBoundary(services=("outside",), redactions=rule)}}
    outside = Words("outside", ("es", "en"), external=True, change=lambda text: f"yes {text}")
    (translation,) = ask(
        router(inside, outside, **values), "o segredo a.b", source="pt", target="en", protected=[[(10, 13)]]
    )
    assert outside.sent == ["o XQ100000Z XQ0Z"]
    assert (translation.text, translation.damaged) == ("yes o secret-7 a.b", ())
    lossy = Words("outside", ("es", "en"), external=True, change=lambda text: text.replace("XQ100000Z", ""))
    (lost,) = ask(router(inside, lossy, **values), "o segredo a.b", source="pt", target="en", protected=[[(10, 13)]])
    assert lost.damaged == ("XQ100000Z",)


TEXTS = st.text(alphabet="ab@. 17XQZ\u4e2d", max_size=30)


@given(
    texts=st.lists(TEXTS, max_size=4),
    named=st.booleans(),
    rules=st.lists(st.sampled_from([*RULES, Redaction(name="ANY", pattern=r"a+ ?b|\u4e2d")]), max_size=3),
    two_steps=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_no_text_leaves_that_the_boundary_does_not_allow(texts, named, rules, two_steps):
    boundary = DataBoundary(services=("outside",) if named else (), redactions=tuple(rules))
    inside = Words("inside", ("en", "fr"), change=lambda text: text)
    outside = Words("outside", ("en", "es"), ("fr", "es"), external=True, change=lambda text: text)
    route = RouteSettings(languages=("en", "fr", "es"), translators=("inside", "outside"))
    made = router(inside, outside, boundaries={"acme": boundary}, routes=(route,) if two_steps else ())
    try:
        translations = ask(made, *texts)
    except AccessDenied:
        assert not named and outside.sent == []
        return
    assert named
    allowed = [remaining(text, rules) for text in texts]
    for sent in outside.sent:
        # A rule may hide more once marks stand in the text, never less.
        assert any(is_within(remaining(sent, ()), each) for each in allowed)
    for text, translation in zip(texts, translations, strict=True):
        assert translation is None or (translation.text, translation.damaged) == (text, ())


def remaining(text, rules):
    """A text without its marks, and without all that a rule matches."""
    hidden = [*mark_spans(text), *((start, end) for start, end, _ in find_private(text, rules))]
    return "".join(char for at, char in enumerate(text) if not any(start <= at < end for start, end in hidden))


def is_within(part, whole):
    """Whether a text is what is left of another when some characters are taken out."""
    rest = iter(whole)
    return all(char in rest for char in part)


def test_many_threads_share_a_router():
    one = Words("one", ("en", "es"))
    made = router(one)
    wrong = []

    def work(number):
        for turn in range(50):
            text = f"t{(number * turn) % 17} x.y"
            (translation,) = ask(made, text, protected=[[(len(text) - 3, len(text))]])
            if translation.text != text[:-3].upper() + "x.y":
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.http
def test_over_http_a_service_outside_sees_marks_only_and_a_denied_one_nothing():
    with serving(answer_with(lambda text, *_: f"es: {text}")) as (url, script):
        outside = HttpTranslatorSettings(
            kind="http", name="llm", url=url, model="m", pairs=("en>es",), data_boundary="external"
        )
        boundaries = {"acme": DataBoundary(services=("llm",), redactions=RULES)}
        made = build_translators(TranslationSettings(translators=(outside,), boundaries=boundaries))
        (translation,) = ask(made, "why does a.b fail for ann@example.org?", protected=[[(9, 12)]])
        with pytest.raises(AccessDenied):
            ask(made, "secret", tenant_id="rival")
    assert translation.text == "es: why does a.b fail for ann@example.org?"
    assert texts_of(script) == ["why does XQ0Z fail for XQ1Z?"]
    assert "ann" not in json.dumps([body for _, _, body in script.requests])
