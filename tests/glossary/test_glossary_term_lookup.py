from datetime import UTC, datetime

from babelray.glossary.term_lookup import TermLookup, reversed_terms
from babelray.glossary.terms import Term


def term(source, target="", **more):
    values = {"term_id": f"{source}-{target}", "source_locale": "en", "target_locale": "zh-CN", **more}
    return Term(source=source, target=target, kind="custom_translation" if target else "non_translatable", **values)


def found(lookup, text, source="en", target="zh-CN", tenant_id="default", domain=""):
    return [(m.surface, m.term.rendering) for m in lookup.find(text, source, target, tenant_id, domain)]


def test_terms_serve_both_directions():
    lookup = TermLookup([term("load balancer", "负载均衡器"), term("Pod")])
    assert found(lookup, "a Load balancers and a Pod") == [("Load balancers", "负载均衡器"), ("Pod", "Pod")]
    assert found(lookup, "配置负载均衡器", "zh-CN", "en") == [("负载均衡器", "load balancer")]
    assert (
        found(TermLookup([term("load balancer", "负载均衡器")], reverse=False), "配置负载均衡器", "zh-CN", "en") == []
    )
    assert lookup.knows("zh-Hans", "en") and not lookup.knows("de", "en")
    assert lookup.pairs == {("en", "zh-CN"), ("zh-CN", "en")} and len(lookup) == 3


def test_what_several_terms_translate_to_is_not_guessed_back():
    lookup = TermLookup([term("replica", "副本"), term("copy", "副本"), term("node", "节点")])
    assert found(lookup, "节点的副本", "zh-CN", "en") == [("节点", "node")]
    assert found(lookup, "a copy and a replica") == [("copy", "副本"), ("replica", "副本")]


def test_a_term_of_that_direction_stands_before_one_read_backwards():
    own = term("节点", "worker node", source_locale="zh-CN", target_locale="en")
    assert reversed_terms([own, term("node", "节点")]) == [
        term("worker node", "节点", term_id=own.term_id, source_locale="en", target_locale="zh-CN")
    ]
    assert found(TermLookup([own, term("node", "节点")]), "节点", "zh-CN", "en") == [("节点", "worker node")]


def test_terms_for_any_target_have_no_way_back():
    assert reversed_terms([term("node", "节点", target_locale="*"), term("Pod")]) == []


def test_tenants_domains_and_time_narrow():
    terms = [
        term("node", "节点", tenant_id="acme"),
        term("key", "密钥", domain="security"),
        term("cell", "单元", valid_to=datetime(2026, 1, 1, tzinfo=UTC)),
    ]
    lookup = TermLookup(terms, now=lambda: datetime(2026, 6, 1, tzinfo=UTC))
    text = "node key cell"
    assert found(lookup, text, tenant_id="acme") == [("node", "节点")]
    assert found(lookup, text) == [("key", "密钥")]
    assert found(lookup, text, domain="botany") == []
    before = TermLookup(terms, now=lambda: datetime(2025, 6, 1, tzinfo=UTC))
    assert found(before, text) == [("key", "密钥"), ("cell", "单元")]


def test_the_version_is_of_the_terms_in_any_order():
    one, two = term("node", "节点"), term("Pod")
    assert TermLookup([one, two]).version == TermLookup([two, one]).version
    assert len({TermLookup([one]).version, TermLookup([two]).version, TermLookup([one], reverse=False).version}) == 3
