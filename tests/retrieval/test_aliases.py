"""Names of entities and terms in queries: who finds whom, what is kept apart, and who may see it."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.errors import ConfigError, InputError
from babelray.glossary.terms import Entity, Term
from babelray.retrieval.alias_names import project
from babelray.retrieval.aliases import AliasName, AliasTable, load_entities

NOW = datetime(2026, 8, 1, tzinfo=UTC)


def entity(entity_id, name, *aliases, languages=("en", "zh", "ja", "ko", "de"), **more):
    return Entity(entity_id=entity_id, canonical_name=name, aliases=aliases, languages=languages, **more)


def term(term_id, source, target, pair="en->zh", **more):
    source_locale, _, target_locale = pair.partition("->")
    kind = "custom_translation" if target else "non_translatable"
    return Term(
        term_id=term_id, source=source, target=target, source_locale=source_locale, target_locale=target_locale,
        kind=kind, **more,
    )  # fmt: skip


KUBERNETES = entity("kubernetes", "Kubernetes", "k8s", "库伯内特斯", "クバネティス", "쿠버네티스")
TABLE = AliasTable(
    [
        KUBERNETES,
        entity("postgresql", "PostgreSQL", "PG"),
        entity("dlq", "dead-letter queue", "DLQ", "死信队列"),
        entity("container", "Container", "容器"),
        entity("pod", "Pod", "容器组"),
        entity("cpp", "C++", "C plus plus"),
        entity("csharp", "C#", "C sharp"),
        entity("net", ".NET", "dotnet"),
        entity("node", "Node.js", "NodeJS"),
        entity("it", "IT", "Informatik", languages=("en", "de")),
        entity("sao", "São Paulo", "Sampa", languages=("pt",)),
        entity("test", "テスト", "test run"),
    ],
    [],
)


def spans(query, table=TABLE, **asked):
    asked.setdefault("tenant_id", "default")
    return [(match.matched, match.source.partition(":")[2]) for match in table.find(query, **asked)]


@pytest.mark.parametrize(
    "asked", ["Kubernetes", "k8s", "库伯内特斯", "庫伯內特斯", "Ｋ８Ｓ", "クバネティス", "쿠버네티스"]
)
def test_every_name_of_a_thing_finds_all_the_others(asked):
    (match,) = TABLE.find(f"{asked}?", tenant_id="any")
    assert match.matched == asked and match.source == "entity:kubernetes" and not match.ambiguous
    names = {name.text for name in match.names}
    everything = {KUBERNETES.canonical_name, *KUBERNETES.aliases}
    assert names == {name for name in everything if project(name).text != project(asked).text}
    assert len(names) == len(everything) - 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("PGP keys", []),
        ("backup of PG", [("PG", "postgresql")]),
        ("pg_dump", []),
        ("k8s怎么重启", [("k8s", "kubernetes")]),
        ("k8s2", []),
        ("`k8s` pods", [("k8s", "kubernetes"), ("pods", "pod")]),
        ("Kubernetes는", [("Kubernetes", "kubernetes")]),
        ("쿠버네티스는 무엇", [("쿠버네티스", "kubernetes")]),
        ("kubernetes-cluster", [("kubernetes", "kubernetes")]),
        ("Kubernetes™", [("Kubernetes", "kubernetes")]),
        ("https://kubernetes.io/", []),
        ("dead letter queues", [("dead letter queues", "dlq")]),
        ("死信隊列在哪", [("死信隊列", "dlq")]),
        ("容器组被删除", [("容器组", "pod")]),  # the longest name of a place, not the shorter one inside it
        ("容器被删除", [("容器", "container")]),
        ("C++ or C#, not C", [("C++", "cpp"), ("C#", "csharp")]),
        ("C#", [("C#", "csharp")]),
        ("c++的指针", [("c++", "cpp")]),
        ("a .NET app", [(".NET", "net")]),
        ("ASP.NET", []),
        ("node.js", [("node.js", "node")]),
        ("is it down", []),  # an initialism that is a word in one of its languages needs its capitals
        ("the IT desk", [("IT", "it")]),
        ("sao paulo", [("sao paulo", "sao")]),
        ("SA\u0303O PAULO", [("SA\u0303O PAULO", "sao")]),
        ("コンテスト", []),
        ("テストの実行", [("テスト", "test")]),
        ("", []),
        ("   ", []),
    ],
)
def test_names_are_whole_words(query, expected):
    assert spans(query) == expected


@pytest.mark.parametrize(("language", "query"), [("tr", "Kubernetes'in podları"), ("fr", "l'IT")])
def test_what_touches_a_name_may_belong_to_the_language_of_the_query(language, query):
    assert spans(query) == []
    assert len(spans(query, languages=[language])) == 1


def test_a_shared_name_gives_separate_candidates_that_know_of_each_other():
    table = AliasTable(
        [entity("planet", "Mercury", "水星", domain="astronomy"), entity("metal", "Mercury", "汞", domain="chemistry")],
        [],
    )
    planet, metal = sorted(table.find("mercury", tenant_id="t"), key=lambda match: match.source, reverse=True)
    assert (planet.ambiguous, metal.ambiguous) == (True, True)
    assert planet.entity_ids == ("planet", "metal") and metal.entity_ids == ("metal", "planet")
    assert [name.text for name in planet.names] == ["水星"] and [name.text for name in metal.names] == ["汞"]
    (only,) = table.find("mercury", tenant_id="t", domain="chemistry")
    assert only.source == "entity:metal" and not only.ambiguous and only.entity_ids == ("metal",)
    assert table.find("mercury", tenant_id="t", domain="music") == []


def test_a_record_of_the_asked_domain_goes_before_one_of_no_domain():
    table = AliasTable([entity("general", "Orchard"), entity("cloud", "Orchard", domain="cloud")], [])
    assert spans("orchard", table, domain="cloud") == [("orchard", "cloud")]
    assert spans("orchard", table, domain="farming") == [("orchard", "general")]
    assert len(spans("orchard", table)) == 2


def test_a_record_marked_ambiguous_says_so_even_alone():
    (match,) = AliasTable([entity("p", "partition", ambiguous=True)], []).find("partition", tenant_id="t")
    assert match.ambiguous and match.entity_ids == ("p",) and match.names == ()


def test_an_entity_and_a_term_of_one_name_stay_apart():
    table = AliasTable([entity("e", "Pod", "容器组")], [term("t", "Pod", "豆荚")])
    assert [(m.source, [n.text for n in m.names], m.ambiguous) for m in table.find("Pod", tenant_id="default")] == [
        ("entity:e", ["容器组"], True),
        ("term:t", ["豆荚"], True),
    ]


def test_translations_of_a_term_are_names_in_their_languages():
    table = AliasTable([], [term("gw", "gateway", "网关"), term("gw", "gateway", "ゲートウェイ", "en->ja")])
    (match,) = table.find("网关超时", tenant_id="default")
    assert match.languages == ("zh",)
    assert match.names == (AliasName("gateway", "en"), AliasName("ゲートウェイ", "ja"))
    (match,) = table.find("gateways", tenant_id="default")
    assert match.names == (AliasName("网关", "zh"), AliasName("ゲートウェイ", "ja"))


def test_terms_are_seen_by_their_tenant_and_in_their_time_only():
    early = datetime(2026, 1, 1, tzinfo=UTC)
    table = AliasTable(
        [],
        [
            term("a", "gateway", "网关", tenant_id="a"),
            term("b", "gateway", "闸道", tenant_id="b"),
            term("a", "gateway", "ゲートウェイ", "en->ja", tenant_id="a", valid_from=NOW),
            term("a", "gateway", "Tor", "en->de", tenant_id="a", valid_to=NOW),
        ],
    )

    def names(tenant, as_of=None):
        return [[name.text for name in match.names] for match in table.find("gateway", tenant_id=tenant, as_of=as_of)]

    assert names("a", NOW) == [["网关", "ゲートウェイ"]]
    assert names("a", early) == [["网关", "Tor"]]
    assert names("b", NOW) == [["闸道"]]
    assert names("nobody") == []
    assert table.find("闸道", tenant_id="a") == []
    assert table.find("ゲートウェイ", tenant_id="a", as_of=early) == []


def test_a_term_narrowed_by_context_needs_it():
    table = AliasTable([], [term("v", "volume", "卷", only_with=("pod",)), term("s", "set", "集合", not_with=("up",))])
    assert spans("mount a volume", table) == []
    assert spans("mount a volume into a Pod", table) == [("volume", "v")]
    assert spans("set up", table) == [] and spans("a set", table) == [("set", "s")]


def test_forbidden_translations_are_no_names():
    table = AliasTable([], [term("p", "pod", "容器组", forbidden_translations=("豆荚",))])
    assert [name.text for name in table.find("pod", tenant_id="default")[0].names] == ["容器组"]
    assert table.find("豆荚", tenant_id="default") == []


def test_pinyin_is_off_unless_asked_for_and_takes_whole_words():
    pytest.importorskip("pypinyin")
    things = [entity("queue", "消息队列", "message queue")]
    assert spans("xiaoxiduilie", AliasTable(things, [])) == []
    table = AliasTable(things, [], pinyin=True)
    assert spans("xiaoxiduilie shezhi", table) == [("xiaoxiduilie", "queue")]
    assert spans("xiaoxiduilies", table) == [] and spans("xiaoxi duilie", table) == []
    assert table.version != AliasTable(things, []).version


def test_pinyin_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pypinyin", None)
    with pytest.raises(ConfigError, match=r"babelray\[pinyin\]"):
        AliasTable([entity("q", "消息队列")], [], pinyin=True)
    assert AliasTable([entity("q", "queue")], [], pinyin=True).records


def test_version_follows_every_record_and_nothing_else():
    first, second = entity("a", "Alpha", "A1"), entity("b", "Beta")
    version = AliasTable([first, second], []).version
    assert version == AliasTable([first, second], []).version
    changed = [
        AliasTable([first], []),
        AliasTable([first, second.model_copy(update={"ambiguous": True})], []),
        AliasTable([first.model_copy(update={"aliases": ("A2",)}), second], []),
        AliasTable([first, second], [term("t", "x", "y")]),
        AliasTable([first, second], [term("t", "x", "y", valid_to=NOW)]),
    ]
    assert len({version, *(table.version for table in changed)}) == 6


def test_two_entities_of_one_id_are_refused():
    with pytest.raises(InputError, match="twice"):
        AliasTable([entity("a", "Alpha"), entity("a", "Beta")], [])


_PIECES = st.sampled_from(
    ["k8s", "Kubernetes", "库伯内特斯", "PG", "P", "容器", "组", "C++", " ", ".", "'", "é", "İ", "는", "\n"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=3)), max_size=14).map("".join))
@settings(deadline=None)
def test_any_query_gives_sane_matches_twice_the_same(query):
    found = TABLE.find(query, tenant_id="t")
    assert TABLE.find(query, tenant_id="t") == found
    end = 0
    for match in found:
        assert end <= match.start < match.end <= len(query) and query[match.start : match.end] == match.matched
        end = match.end
        assert match.matched.casefold() not in {name.text.casefold() for name in match.names}


PLAIN = AliasTable([entity(name, name) for name in ("alpha", "beta", "gamma delta", "pgp", "alpha beta")], [])


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma delta", "PG", "PGP", "x"]), max_size=8))
def test_finds_what_a_plain_look_at_the_words_finds(words):
    expected, at = [], 0
    while at < len(words):
        pair = " ".join(words[at : at + 2]).lower()
        if pair == "alpha beta":
            expected.append(pair)
            at += 2
            continue
        if words[at].lower() in {"alpha", "beta", "gamma delta", "pgp"}:
            expected.append(words[at].lower())
        at += 1
    assert [found.lower() for found, _ in spans(" ".join(words), PLAIN)] == expected


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_entity_files_are_read_in_order(tmp_path):
    one = write(tmp_path / "one.jsonl", '{"entity_id": "a", "canonical_name": "Alpha"}\n\n')
    two = write(tmp_path / "two.jsonl", '{"entity_id": "b", "canonical_name": "Beta", "aliases": ["贝塔"]}')
    assert [found.entity_id for found in load_entities([two, one])] == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"entity_id": "a", "canonical_name": "A"}\n{"entity_id": "b"}\n', r"canonical_name(?s:.*)line 2"),
        ("not json\n", r"JSON(?s:.*)line 1"),
        ('{"entity_id": "a", "canonical_name": "A", "alias": "x"}\n', r"alias(?s:.*)line 1(?s:.*)aliases"),
        ('{"entity_id": "a", "canonical_name": "A"}\n' * 2, r"twice(?s:.*)line 2(?s:.*)line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, message):
    path = write(tmp_path / "entities.jsonl", text)
    with pytest.raises(InputError, match=message) as caught:
        load_entities([path])
    assert str(path) in str(caught.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.jsonl"):
        load_entities([tmp_path / "gone.jsonl"])
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"entity_id": "\xe9"}')
    with pytest.raises(InputError, match="UTF-8"):
        load_entities([path])


def test_the_demo_entities_load_and_meet():
    table = AliasTable(load_entities([Path("demo/entities.jsonl")]), [])
    assert spans("k8s和死信队列", table) == [("k8s", "product:kubernetes"), ("死信队列", "concept:dead-letter-queue")]
    both = table.find("delete a partition", tenant_id="orchard")
    assert [match.ambiguous for match in both] == [True, True]
    (one,) = table.find("delete a partition", tenant_id="orchard", domain="cloud-platform")
    assert "分区" in {name.text for name in one.names}
