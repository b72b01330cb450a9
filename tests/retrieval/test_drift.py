"""What counts as drift and what does not: tables in four languages and more, each variant by itself."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.protocols import LanguageCandidate
from babelray.retrieval.analysis import analyze_query
from babelray.retrieval.drift import check_drift, check_placeholders
from babelray.text.language import LanguagePolicy

NOW = datetime(2026, 8, 6, tzinfo=UTC)


class KnownLanguage:
    """Says one language of every text."""

    version = "known-1"

    def __init__(self, language):
        self.language = language

    def identify(self, texts, limit=5):
        return [[LanguageCandidate(self.language, 0.99)] for _ in texts]


def analysis(text, language):
    return analyze_query(text, LanguagePolicy(KnownLanguage(language)), max_characters=5000, now=NOW)


def problems(source, language, text, target, *, translated=True):
    query = analysis(source, language)
    return check_drift(query, text, target, check_language=None, translated=translated)


def kinds(*arguments, **options):
    return {one.kind for one in problems(*arguments, **options)}


DRIFTS = [
    # anchors
    (
        "zh",
        "ERR_1205 在 TDW 删除分区时为什么失败？",
        "en",
        "Why does the database fail to delete a partition?",
        "anchor_loss",
    ),
    ("en", "upgrade to v2.1 fails", "de", "Upgrade auf v2.10 schlägt fehl", "anchor_loss"),
    ("en", "set max_retries to 3", "es", "configurar max_retries_total en 3", "anchor_loss"),
    ("de", "Was bedeutet ERR_1205?", "zh", "err_1205 是什么意思？", "anchor_loss"),
    ("es", "¿qué dice RFC 9111 sobre la caché?", "en", "what does RFC 9110 say about caching?", "anchor_loss"),
    ("zh", "报错“connection reset by peer”怎么办", "en", "what to do about a reset connection", "anchor_loss"),
    ("en", "kubectl rollout undo hangs", "de", "kubectl rollback hängt", "anchor_loss"),
    ("zh", "如何请求 GET /v1/users", "en", "how to request POST /v1/users", "anchor_loss"),
    # entities
    ("zh", "为什么 Elasticsearch 会变慢", "en", "why does the search engine get slow", "entity_drift"),
    ("en", "why does Kafka lose messages", "zh", "为什么消息队列会丢失消息", "entity_drift"),
    ("de", "warum verliert Kafka Nachrichten", "es", "por qué se pierden los mensajes", "entity_drift"),
    ("es", "por qué Prometheus va lento", "de", "warum ist die Überwachung langsam", "entity_drift"),
    ("en", "why is it slow", "en", "why is v1.2.3 slow", "entity_drift"),
    # negation
    ("zh", "哪些版本不支持 IPv6？", "en", "Which versions support IPv6?", "negation_flip"),
    ("zh", "哪些版本支持 IPv6？", "en", "Which versions do not support IPv6?", "negation_flip"),
    ("en", "run the job without root", "de", "den Job mit Root starten", "negation_flip"),
    ("de", "warum wird der Pod nicht gestartet", "es", "por qué se inicia el pod", "negation_flip"),
    ("es", "qué nodos no tienen etiquetas", "zh", "哪些节点有标签", "negation_flip"),
    ("en", "pods that have no limits", "fr", "les pods qui ont des limites", "negation_flip"),
    ("ru", "почему под не запускается", "en", "why does the pod start", "negation_flip"),
    # numbers
    ("zh", "保留 30 天的日志", "en", "keep logs for 3 days", "numeric_drift"),
    ("en", "retry 5 times", "zh", "重试 6 次", "numeric_drift"),
    ("de", "1,5 GB Speicher", "es", "15 GB de memoria", "numeric_drift"),
    ("es", "esperar 30 segundos", "de", "30 Minuten warten", "numeric_drift"),
    ("en", "keep the logs", "de", "die Protokolle 30 Tage aufbewahren", "numeric_drift"),
    ("zh", "占用超过百分之五的内存", "en", "uses more than 50% of the memory", "numeric_drift"),
    ("en", "ports 3 to 5", "es", "los puertos de 3 a 6", "numeric_drift"),
    # dates
    ("zh", "2026年8月6日的变更", "en", "changes of August 7, 2026", "temporal_drift"),
    ("en", "releases of August 2026", "de", "Veröffentlichungen im September 2026", "temporal_drift"),
    ("de", "Fehler vom 3. Mai", "es", "errores del 4 de mayo", "temporal_drift"),
    ("es", "cambios de 2026-08-06", "zh", "2025年8月6日的变更", "temporal_drift"),
    ("en", "errors of last week", "zh", "上个月的错误", "temporal_drift"),
    # before and after
    ("zh", "升级之前要做什么？", "en", "What is to be done after the upgrade?", "temporal_drift"),
    ("en", "back up before upgrading", "de", "Sicherung nach dem Upgrade", "temporal_drift"),
    ("de", "nachdem der Dienst gestartet ist", "es", "antes de que arranque el servicio", "temporal_drift"),
    ("es", "antes de borrar el nodo", "zh", "删除节点之后", "temporal_drift"),
    ("en", "wait until it is ready", "es", "esperar después de que esté listo", "temporal_drift"),
    # comparisons
    ("en", "at least 3 replicas", "zh", "最多 3 个副本", "comparator_drift"),
    ("zh", "内存超过 2 GB", "en", "memory of less than 2 GB", "comparator_drift"),
    ("de", "mindestens 3 Knoten", "es", "hasta 3 nodos", "comparator_drift"),
    ("es", "no más de 10 conexiones", "de", "mehr als 10 Verbindungen", "comparator_drift"),
    ("en", "3 replicas", "de", "mehr als 3 Replikate", "comparator_drift"),
    # obligation
    ("zh", "必须设置哪些标签？", "en", "Which labels should be set?", "modality_drift"),
    ("en", "which labels must be set", "de", "welche Labels können gesetzt werden", "modality_drift"),
    ("de", "welche Felder muss ich setzen", "zh", "我可以设置哪些字段", "modality_drift"),
    ("es", "qué campos son obligatorios", "en", "which fields are optional", "modality_drift"),
    ("en", "which fields are optional", "es", "qué campos son obligatorios", "modality_drift"),
    # scope
    ("en", "only nodes of department A", "de", "Knoten der Abteilung A", "scope_drift"),
    ("zh", "仅限管理员的操作", "en", "operations of administrators", "scope_drift"),
    ("es", "solo los pods del equipo", "zh", "团队的 pod", "scope_drift"),
    ("de", "nur lesbare Dateien", "es", "archivos legibles", "scope_drift"),
]


@pytest.mark.parametrize(("source", "query", "target", "text", "kind"), DRIFTS)
def test_drift_is_caught(source, query, target, text, kind):
    assert kind in kinds(query, source, text, target)


def test_the_table_covers_each_kind_on_both_sides_of_four_languages():
    for kind in {row[4] for row in DRIFTS} - {"empty", "language"}:
        rows = [row for row in DRIFTS if row[4] == kind]
        assert {"en", "zh", "de", "es"} <= {side for row in rows for side in (row[0], row[2])}, kind


FAITHFUL = [
    (
        "为什么Elasticsearch的index.mapping.total_fields.limit会超？",
        {
            "en": "Why is Elasticsearch's index.mapping.total_fields.limit exceeded?",
            "de": "Warum wird index.mapping.total_fields.limit von Elasticsearch überschritten?",
            "es": "¿Por qué se supera index.mapping.total_fields.limit de Elasticsearch?",
        },
    ),
    (
        "ERR_1205 在 TDW 删除分区时为什么失败？",
        {
            "en": "Why does ERR_1205 fail in TDW on partition delete?",
            "de": "Warum schlägt ERR_1205 in TDW beim Löschen fehl?",
            "es": "¿Por qué falla ERR_1205 en TDW al borrar la partición?",
        },
    ),
    (
        "不支持 IPv6 的版本有哪些？",
        {
            "en": "Which versions do not support IPv6?",
            "de": "Welche Versionen unterstützen IPv6 nicht?",
            "es": "¿Qué versiones no son compatibles con IPv6?",
            "fr": "Quelles versions ne prennent pas en charge IPv6 ?",
        },
    ),
    (
        "日志保留 30 天",
        {
            "en": "logs are kept for 30 days",
            "de": "Protokolle werden 30 Tage aufbewahrt",
            "es": "los registros se guardan 30 días",
            "ru": "журналы хранятся 30 дней",
            "ja": "ログは30日間保存される",
        },
    ),
    (
        "升级之前必须备份吗？",
        {
            "en": "Must I back up before the upgrade?",
            "de": "Muss ich vor dem Upgrade ein Backup machen?",
            "es": "¿Debo hacer una copia antes de actualizar?",
        },
    ),
    (
        "至少需要 3 个副本",
        {
            "en": "at least 3 replicas are needed",
            "de": "mindestens 3 Replikate sind nötig",
            "es": "se necesitan al menos 3 réplicas",
        },
    ),
    (
        "2026年8月6日之后的变更",
        {
            "en": "changes after August 6, 2026",
            "de": "Änderungen nach dem 6. August 2026",
            "es": "cambios después del 6 de agosto de 2026",
        },
    ),
    (
        "最近 30 天的错误",
        {
            "en": "errors of the last 30 days",
            "de": "Fehler der letzten 30 Tage",
            "es": "errores de los últimos 30 días",
        },
    ),
    (
        "仅管理员可以删除吗",
        {
            "en": "can only administrators delete it",
            "de": "können nur Administratoren löschen",
            "es": "¿solo los administradores pueden borrar?",
        },
    ),
    (
        "能不能不重启就更新配置",
        {
            "en": "can the config be updated without a restart",
            "de": "kann man die Konfiguration ohne Neustart ändern",
            "es": "¿se puede cambiar sin reiniciar?",
        },
    ),
    (
        "内存占用超过 1.5 GB 怎么办",
        {
            "en": "what to do when memory use is above 1.5 GB",
            "de": "was tun bei mehr als 1,5 GB Speicherverbrauch",
            "es": "qué hacer si la memoria usa más de 1,5 GB",
        },
    ),
    (
        "三分钟内重试 5 次",
        {
            "en": "retry 5 times in three minutes",
            "de": "5 Mal in drei Minuten wiederholen",
            "es": "reintentar 5 veces en tres minutos",
        },
    ),
    (
        "kubectl rollout undo 为什么没有效果",
        {
            "en": "why does kubectl rollout undo have no effect",
            "de": "warum hat kubectl rollout undo keine Wirkung",
            "es": "por qué kubectl rollout undo no tiene efecto",
        },
    ),
    ("10,000 个连接", {"en": "10,000 connections", "de": "10.000 Verbindungen", "es": "10 000 conexiones"}),
    (
        "1980 年代的系统",
        {"en": "systems of the 1980s", "de": "Systeme der 1980er", "es": "sistemas de la década de 1980"},
    ),
]


@pytest.mark.parametrize(
    ("query", "source", "text", "target"),
    [(query, "zh", text, target) for query, others in FAITHFUL for target, text in others.items()]
    + [(text, source, query, "zh") for query, others in FAITHFUL for source, text in others.items()]
    + [(others["en"], "en", others["de"], "de") for _, others in FAITHFUL]
    + [(others["es"], "es", others["de"], "de") for _, others in FAITHFUL],
)
def test_faithful_translations_are_not_refused(query, source, text, target):
    assert problems(query, source, text, target) == ()


@pytest.mark.parametrize(
    ("text", "language", "target", "expected"),
    [
        ("Why does the pod fail to start?", "en", "de", {"language"}),  # came back unchanged
        ("ERR_1205", "en", "zh", set()),  # has no words to translate
        ("How do I restart a node?", "en", "zh", {"language"}),  # came back in Latin letters
    ],
)
def test_a_translation_is_in_its_language(text, language, target, expected):
    assert kinds(text, language, text, target) == expected


def test_the_identifier_speaks_for_languages_of_one_script():
    query = analysis("Wie startet man den Knoten neu?", "de")
    text = "Wie kann man einen Knoten neu starten?"
    found = check_drift(query, text, "es", check_language=LanguagePolicy(KnownLanguage("de")), translated=True)
    assert [(one.kind, one.expected, one.got) for one in found] == [("language", "es", "de")]
    text = "¿Cómo se reinicia el nodo del clúster?"
    policy = LanguagePolicy(KnownLanguage("es"))
    assert check_drift(query, text, "es", check_language=policy, translated=True) == ()


@pytest.mark.parametrize(
    ("query", "language", "text", "target"),
    [
        ("ConfigMap 的用法", "zh", "using ConfigMaps", "en"),
        ("Pod Pod 的调试", "zh", "debug a pod", "en"),
        ("IPv4/IPv6 双协议栈服务", "zh", "IPv4/IPv6 dual-stack services", "en"),
        ("自愿干扰和非自愿干扰", "zh", "voluntary and involuntary disruptions", "en"),
        ("一个或多个集群", "zh", "one or more clusters", "en"),
        ("1つのPod", "ja", "a pod", "en"),
        ("不平等的程度", "zh", "degree of inequality", "en"),
        ("ADN humano", "es", "human DNA", "en"),
        ("den 70er Jahren", "de", "the 1970s", "en"),
        ("1620-21", "en", "entre 1620 y 1621", "es"),
    ],
)
def test_differences_of_grammar_are_no_drift(query, language, text, target):
    assert problems(query, language, text, target) == ()


def test_an_empty_rewriting_is_refused():
    assert kinds("why", "en", " \n", "de") == {"empty"}


def test_a_rewriting_in_the_same_language_keeps_names_and_every_negation():
    query = "Why does Warsaw not show nodes that do not run?"
    assert kinds(query, "en", query, "en", translated=False) == set()
    assert "negation_flip" in kinds(query, "en", "Why does Warsaw not show nodes that run?", "en", translated=False)
    assert "entity_drift" in kinds(query, "en", "Why does it not show nodes that do not run?", "en", translated=False)
    assert problems("Where is Warsaw?", "en", "Wo liegt Warschau?", "de") == ()


@pytest.mark.parametrize(
    ("value", "text", "kept"),
    [
        ("v2.1", "in v2.1.", True),
        ("v2.1", "in v2.1.5", False),
        ("v2.1", "xv2.1", False),
        ("v2.1", "v2.1版本", True),
        ("ERR_1205", "der ERR_1205-Fehler", True),
        ("ERR_1205", "ERR_12055", False),
        ("ERR_1205", "(ERR_1205)", True),
        ("kube-proxy", "kube-proxy-config", False),
        ("kube-proxy", "my-kube-proxy", False),
        ("kube-proxy", "`kube-proxy`", True),
        ("/v1/users", "/v1/users/3", False),
        ("index.mapping.limit", "index.mapping.limit会", True),
        ("RFC 9111", "RFC9111", True),
        ("max_retries", "Max_Retries", False),
        ("max_retries", "max_retriesé", False),
    ],
)
def test_names_are_kept_with_their_borders(value, text, kept):
    assert ("anchor_loss" not in kinds(f"what is {value} for", "en", text, "de")) is kept


@pytest.mark.parametrize(
    ("sent", "got", "kept"),
    [
        (["⟦0⟧", "⟦1⟧"], "a ⟦0⟧ b ⟦1⟧", True),
        (["⟦0⟧", "⟦1⟧"], "⟦1⟧ ⟦0⟧", False),
        (["⟦0⟧", "⟦1⟧"], "⟦0⟧", False),
        (["⟦0⟧"], "⟦0⟧⟦0⟧", False),
        (["⟦0⟧", "⟦0⟧"], "⟦0⟧ x ⟦0⟧", True),
        ([], "anything", True),
        (["⟦0⟧"], "⟦ 0 ⟧", False),
    ],
)
def test_placeholders_come_back_once_and_in_order(sent, got, kept):
    found = check_placeholders(sent, got)
    assert (found == ()) is kept
    assert {one.kind for one in found} <= {"placeholder_damage"}


@given(st.text(min_size=1, max_size=80).filter(lambda text: text.strip().isprintable() and any(map(str.isalnum, text))))
def test_a_query_never_drifts_from_itself(text):
    assert problems(text, "en", analysis(text, "en").text, "en", translated=False) == ()
