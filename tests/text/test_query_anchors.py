"""Constraints of queries: tables of eight languages, what only looks like one."""

import pytest

from babelray.text.anchors import AnchorType, find_anchors
from babelray.text.query_anchors import ConstraintType as C
from babelray.text.query_anchors import find_query_anchors
from babelray.text.query_words import languages_with_words


def found(text, *languages):
    return {(one.type, one.normalized) for one in find_query_anchors(text, languages)}


def values(text, *languages):
    return [one.value for one in find_query_anchors(text, languages) if one.must_preserve]


def test_names_glued_to_han_are_whole():
    assert values("为什么Elasticsearch的index.mapping.total_fields.limit会超？", "zh") == [
        "Elasticsearch",
        "index.mapping.total_fields.limit",
    ]


@pytest.mark.parametrize("language", ["", "en", "zh-Hans", "de", "es"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERR_1205", (AnchorType.ERROR_CODE, "ERR_1205")),
        ("v2.1.0", (AnchorType.VERSION, "2.1.0")),
        ("RFC 9111", (AnchorType.RFC, "RFC 9111")),
        ("GET /v1/users", (C.COMMAND, "GET /v1/users")),
        ("kubectl rollout undo", (C.COMMAND, "kubectl rollout undo")),
        ("sha256:abcdef0123", (AnchorType.HASH, "sha256:abcdef0123")),
        (">= 3", (C.COMPARATOR, ">= 3")),
        ("2026-08-06", (AnchorType.DATE, "2026-08-06")),
        ("1.5 GB", (C.QUANTITY, "1.5 GB")),
    ],
)
def test_what_is_the_same_in_all_languages(text, expected, language):
    anchors = find_query_anchors(text, (language,) if language else ())
    assert expected in {(one.type, one.normalized) for one in anchors if one.must_preserve}


@pytest.mark.parametrize(
    ("normalized", "kind", "spellings"),
    [
        (
            "30 day",
            C.QUANTITY,
            {
                "zh": ["30 天", "三十天", "３０天"],
                "en": ["30 days", "thirty days", "a 30-day period"],
                "de": ["30 Tage"],
                "es": ["30 días"],
                "fr": ["30 jours"],
                "pt": ["30 dias"],
                "ru": ["30 дней"],
                "ja": ["30日間"],
            },
        ),
        ("1.5 GB", C.QUANTITY, {"en": ["1.5 GB", "1.5GB"], "de": ["1,5 GB"], "fr": ["1,5 Go"], "zh": ["1.5 GB"]}),
        ("10000", C.NUMBER, {"en": ["10,000"], "de": ["10.000"], "fr": ["10 000"], "zh": ["1万"], "ru": ["10 000"]}),
        (
            "1500000",
            C.NUMBER,
            {"en": ["1.5 million"], "de": ["1,5 Millionen"], "zh": ["150万"], "es": ["1,5 millones"]},
        ),
        (
            "5 percent",
            C.PERCENTAGE,
            {
                "en": ["5%", "5 percent"],
                "de": ["5 Prozent", "5 %"],
                "es": ["5 por ciento"],
                "zh": ["百分之五", "5％"],
                "ja": ["5パーセント"],
            },
        ),
        (
            "3..5",
            C.RANGE,
            {
                "en": ["3-5", "3 to 5", "between 3 and 5"],
                "de": ["3 bis 5", "zwischen 3 und 5"],
                "zh": ["3到5", "3~5个"],
                "es": ["de 3 a 5", "entre 3 y 5"],
            },
        ),
        (
            ">= 3",
            C.COMPARATOR,
            {
                "en": ["at least 3", "3 or more", "no fewer than 3", "≥3", ">=3"],
                "zh": ["至少 3", "至少需要 3 个", "3 个以上"],
                "de": ["mindestens 3", "3 oder mehr"],
                "es": ["al menos 3", "3 o más"],
                "fr": ["au moins 3"],
                "pt": ["pelo menos 3"],
                "ru": ["не менее 3", "как минимум 3"],
                "ja": ["3つ以上", "少なくとも3"],
            },
        ),
        (
            "<= 5",
            C.COMPARATOR,
            {
                "en": ["no more than 5", "up to 5", "at most 5"],
                "zh": ["不超过 5", "最多5"],
                "de": ["höchstens 5", "bis zu 5"],
                "es": ["como máximo 5", "no más de 5"],
                "ja": ["5以下"],
                "ru": ["не более 5"],
            },
        ),
        (
            "2026-08-06",
            C.DATE,
            {
                "en": ["August 6, 2026", "6 August 2026", "8/6/2026"],
                "zh": ["2026年8月6日", "2026/8/6"],
                "de": ["6. August 2026", "6.8.2026"],
                "es": ["6 de agosto de 2026", "6/8/2026"],
                "fr": ["6 août 2026"],
                "pt": ["6 de agosto de 2026"],
                "ru": ["6 августа 2026 года"],
                "ja": ["2026年8月6日"],
            },
        ),
        (
            "2026-08",
            C.DATE,
            {"en": ["August 2026"], "zh": ["2026年8月"], "de": ["August 2026"], "es": ["agosto de 2026"]},
        ),
        ("--05-03", C.DATE, {"es": ["3 de mayo"], "en": ["May 3", "3rd of May"], "zh": ["5月3日"], "ru": ["3 мая"]}),
        ("2026", C.DATE, {"zh": ["2026年", "二〇二六年"], "ja": ["2026年"]}),
        ("1980s", C.DATE, {"en": ["the 1980s"], "de": ["der 1980er Jahre"], "zh": ["20世纪80年代"]}),
        (
            "last 30 day",
            C.DATE,
            {
                "en": ["the last 30 days"],
                "zh": ["最近 30 天"],
                "de": ["den letzten 30 Tagen"],
                "es": ["los últimos 30 días"],
            },
        ),
        ("-1 week", C.DATE, {"en": ["last week"], "zh": ["上周"], "de": ["letzte Woche"], "es": ["la semana pasada"]}),
        (
            "not",
            C.NEGATION,
            {
                "zh": ["不支持", "没有权限", "无法连接", "未找到"],
                "en": ["not supported", "without root", "doesn't", "NOT"],
                "de": ["nicht unterstützt", "kein Zugriff", "ohne Root"],
                "es": ["no funciona", "sin permiso"],
                "fr": ["ne fonctionne pas", "n'est pas"],
                "pt": ["não funciona"],
                "ru": ["не работает"],
                "ja": ["動作しない", "起動できません"],
            },
        ),
        (
            "must",
            C.MODALITY,
            {
                "zh": ["必须设置"],
                "en": ["must be set", "have to"],
                "de": ["muss gesetzt sein"],
                "es": ["debe estar", "hay que"],
                "fr": ["doit être", "il faut"],
                "pt": ["deve ser"],
                "ru": ["должен быть"],
                "ja": ["必須", "設定しなければならない"],
            },
        ),
        (
            "should",
            C.MODALITY,
            {"zh": ["应该用"], "en": ["should I"], "de": ["sollte ich"], "es": ["debería usar"], "ja": ["使うべき"]},
        ),
        ("may", C.MODALITY, {"en": ["may be set", "optional"], "zh": ["可选"], "de": ["darf man"], "es": ["opcional"]}),
        (
            "before",
            C.ORDER,
            {
                "zh": ["之前"],
                "en": ["before", "prior to"],
                "de": ["vor dem Start", "bevor"],
                "es": ["antes de"],
                "fr": ["avant de"],
                "pt": ["antes de"],
                "ru": ["перед запуском"],
                "ja": ["起動前に"],
            },
        ),
        ("after", C.ORDER, {"zh": ["之后"], "en": ["after"], "de": ["nachdem"], "es": ["después de"], "fr": ["après"]}),
        ("since", C.ORDER, {"zh": ["自从"], "en": ["since"], "de": ["seit"], "es": ["desde"], "pt": ["desde"]}),
        (
            "until",
            C.ORDER,
            {"zh": ["直到"], "en": ["until"], "de": ["bis morgen"], "es": ["hasta mañana"], "ja": ["明日まで"]},
        ),
        (
            "only",
            C.SCOPE,
            {"zh": ["仅限管理员"], "en": ["only admins"], "de": ["nur"], "es": ["solo"], "ja": ["管理者のみ"]},
        ),
    ],
)
def test_one_normalized_form_for_all_languages(normalized, kind, spellings):
    for language, texts in spellings.items():
        for text in texts:
            assert (kind, normalized) in found(text, language), (language, text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("不同的节点", "zh"),
        ("不仅如此", "zh"),
        ("能不能用", "zh"),
        ("是否支持", "zh"),
        ("非常慢", "zh"),
        ("无线网络", "zh"),
        ("有没有例子", "zh"),
        ("支不支持", "zh"),
        ("特别快", "zh"),
        ("not only fast", "en"),
        ("nicht nur schnell", "de"),
        ("no solo rápido", "es"),
        ("データが少ない", "ja"),
        ("遅いかもしれない", "ja"),
        ("не только", "ru"),
        ("a notable node", "en"),
    ],
)
def test_words_that_only_look_negative(text, language):
    assert not [one for one in find_query_anchors(text, (language,)) if one.type == C.NEGATION and one.must_preserve]


@pytest.mark.parametrize(
    ("text", "language", "kind"),
    [
        ("fails to start", "en", C.NEGATION),
        ("启动失败", "zh", C.NEGATION),
        ("unsupported field", "en", C.NEGATION),
        ("can I use it", "en", C.MODALITY),
        ("nach dem Neustart", "de", C.ORDER),
        ("three nodes", "en", C.NUMBER),
        ("Why does Grafana Labs exist", "en", C.ENTITY),
    ],
)
def test_hints_explain_but_demand_nothing(text, language, kind):
    hints = [one for one in find_query_anchors(text, (language,)) if one.type == kind]
    assert hints and not any(one.must_preserve for one in hints if one.value.lower() != "grafana")


@pytest.mark.parametrize(
    ("text", "language", "kinds"),
    [
        ("x86 and IPv6 3D", "en", {C.NUMBER, C.QUANTITY}),
        ("may I march on", "en", {C.DATE}),
        ("a -> b => c <b>3</b> << 2", "en", {C.COMPARATOR}),
        ("more than ever, at least", "en", {C.COMPARATOR}),
        ("make sure to go on", "en", {C.COMMAND}),
        ("the git repository is slow", "en", {C.COMMAND}),
        ("5M rows", "en", {C.QUANTITY}),
        ("der Server im Netz", "de", {C.ENTITY}),
        ("it's the node's fault", "en", {C.QUOTED}),
        ("1.2.3.4.5.6.7", "en", {C.NUMBER}),
    ],
)
def test_what_is_no_constraint(text, language, kinds):
    assert not {one for one in found(text, language) if one[0] in kinds}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("不支持 Redis Cluster 的 Helm chart", ["Redis Cluster", "Helm"]),
        ("なぜPrometheusが遅い", ["Prometheus"]),
        ("почему Kafka теряет сообщения", ["Kafka"]),
        ("why does Elasticsearch reject it", ["Elasticsearch"]),
        ("Internet2是什么", ["Internet2"]),
    ],
)
def test_entities_that_a_translation_keeps(text, expected):
    anchors = find_query_anchors(text)
    assert [one.value for one in anchors if one.type == C.ENTITY and one.must_preserve] == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('the error "connection reset by peer"', "connection reset by peer"),
        ("报错“连接被重置”怎么办", "连接被重置"),
        ("「接続がリセット」とは", "接続がリセット"),
        ("der Fehler „Zeitüberschreitung der Anfrage“ tritt auf", "Zeitüberschreitung der Anfrage"),
        ("el error «conexión rechazada»", "conexión rechazada"),
        ("use `make the thing` now", "make the thing"),
    ],
)
def test_quotations(text, value):
    quoted = [one for one in find_query_anchors(text) if one.type == C.QUOTED]
    assert [one.value for one in quoted] == [value] and quoted[0].must_preserve


def test_commands_end_with_their_subcommands():
    text = "why does kubectl rollout undo --to-revision=2 hang when docker run --rm works"
    commands = [one.value for one in find_query_anchors(text, ("en",)) if one.type == C.COMMAND]
    assert commands == ["kubectl rollout undo --to-revision=2", "docker run --rm"]


def test_capitals_for_emphasis_are_words():
    assert found("it MUST NOT restart", "en") == {(C.MODALITY, "must"), (C.NEGATION, "not")}


def test_abbreviations_that_languages_translate_meet():
    assert ("acronym", "DNA") in found("What is chloroplast DNA", "en")
    assert ("acronym", "DNA") in found("el ADN del cloroplasto", "es")
    assert ("acronym", "DNS") in found("the DNS server", "en")


def test_everything_that_is_an_exact_anchor_stays_one():
    text = "ERR_1205 at https://a.example/x?y=1 in v2.1.0 of kube-proxy, RFC 9111, 10.0.0.1"
    exact = {(one.type, one.start, one.end, one.normalized) for one in find_anchors(text)}
    assert exact <= {(one.type, one.start, one.end, one.normalized) for one in find_query_anchors(text, ("en",))}


def test_eight_languages_have_every_class():
    assert {"en", "zh", "ja", "de", "es", "fr", "pt", "ru"} <= languages_with_words()
