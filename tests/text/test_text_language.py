"""Language policy: the tricky short texts, documents as priors, and what must hold for any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.protocols import LanguageCandidate
from babelray.text.language import LanguagePolicy, canonical_language
from babelray.text.types import BlockKind
from models.identifier import FastTextIdentifier

PARAGRAPH = BlockKind.PARAGRAPH
ZH = "容器编排系统可以自动部署、扩展和管理容器化的应用程序。这个页面说明如何配置它，以及出现错误时该怎么办。"
ZH_HANT = "容器編排系統可以自動部署、擴展和管理容器化的應用程式。這個頁面說明如何設定它，以及出現錯誤時該怎麼辦。"
JA = "コンテナ化されたアプリケーションを自動的にデプロイし、管理するシステムです。ここでは設定方法を説明します。"
DE = (
    "Kubernetes ist ein System zur automatischen Bereitstellung und Verwaltung von Containern. Hier steht, wie es geht."
)
PT = "O Kubernetes é um sistema para automatizar a implantação e a gestão de aplicações. Esta página explica tudo."
ES = "Kubernetes es un sistema para automatizar el despliegue y la gestión de aplicaciones. Esta página lo explica."
SR_CYRL = "Ова страница објашњава како да подесите систем за аутоматско управљање и шта да радите када дође до грешке."
SR_LATN = "Ova stranica objašnjava kako da podesite sistem za automatsko upravljanje i šta da radite kod greške."
HR = "Ova stranica objašnjava kako podesiti sustav za automatsko upravljanje i što učiniti kada dođe do pogreške."
RU = "На этой странице объясняется, как настроить систему автоматического управления и что делать при ошибке."


@pytest.fixture(scope="module")
def policy():
    return LanguagePolicy(FastTextIdentifier())


def candidates(verdict):
    return {candidate.language: candidate.probability for candidate in verdict.candidates}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ZH, "zh-Hans"), (ZH_HANT, "zh-Hant"), (JA, "ja"), (DE, "de"), (PT, "pt"), (ES, "es"), (SR_CYRL, "sr-Cyrl"),
        (SR_LATN, "sr-Latn"), (HR, "hr"), (RU, "ru"),
        ("retry policy", "en"),
        ("what is the retry policy", "en"),
        ("configuração do serviço", "pt"),
        ("configuración del servicio", "es"),
        ("como configurar o serviço", "pt"),
        ("como configurar el servicio", "es"),
        ("Wie installiere ich das?", "de"),
        ("繁體中文的設定檔案", "zh-Hant"),
        ("简体中文的设置文件", "zh-Hans"),
        ("Gde je datoteka koju treba da promenite?", "sr-Latn"),
        ("Где је датотека?", "sr-Cyrl"),
        ("Kubernetesの概要", "ja"),
        ("対応表", "ja"),
        ("コンテナ", "ja"),
        ("서버 설정", "ko"),
        ("สวัสดี", "th"),
        ("Как установить пакет", "ru"),
    ],
)  # fmt: skip
def test_confident_and_right(policy, text, language):
    verdict = policy.judge_query(text)
    assert verdict.language == language
    assert not verdict.low_confidence


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("PTO?", {"it"}),
        ("v3.2 error", set()),
        ("error", set()),
        ("文件", {"ko"}),
        ("設定", {"zh-Hans"}),
        ("Kako da instalirate paket na server", {"uz", "mk"}),
        ("Како да инсталирате пакет на серверу", {"ru"}),
        ("Gdje je datoteka koju treba promijeniti?", {"sr-Latn"}),
        ("Konfiguration", set()),
        ("max_retries", set()),
        ("HTTP 429", set()),
        ("PTO 怎么算？", {"ja", "en"}),
    ],
)
def test_honestly_unsure(policy, text, never):
    verdict = policy.judge_query(text)
    assert verdict.low_confidence
    assert verdict.language not in never
    assert len(verdict.candidates) > 1


def test_code_switching_gives_both_languages(policy):
    verdict = policy.judge_query("Auto 为什么慢？")
    assert verdict.language == "zh-Hans"
    assert verdict.code_switching
    assert candidates(verdict)["en"] > 0.05
    assert verdict.scripts == {"Hani": 0.5, "Latn": 0.5}


def test_a_particle_between_foreign_names_gives_the_language(policy):
    assert policy.judge_query("CapacityとAllocatable").language == "ja"


def test_identifiers_do_not_make_a_text_english(policy):
    verdict = policy.judge_query("为什么Elasticsearch的index.mapping.total_fields.limit会超？")
    assert (verdict.language, verdict.code_switching) == ("zh-Hans", True)
    assert not policy.judge_query("为什么 index.mapping.total_fields.limit 会超？").code_switching


@pytest.mark.parametrize("text", ["", " \n", "123 456", "???", "😀", "\ud800", "3.14 %"])
def test_no_words_no_language(policy, text):
    verdict = policy.judge_query(text)
    assert (verdict.language, verdict.candidates, verdict.low_confidence) == ("und", (), True)


def test_code_is_no_language_whatever_it_says(policy):
    prose, code = policy.judge([DE, "print('hello world')"], [PARAGRAPH, BlockKind.CODE])
    assert (prose.language, code.language, code.low_confidence) == ("de", "zxx", False)
    assert code.scripts == {"Latn": 1.0}


@pytest.mark.parametrize(
    ("page", "heading", "language"),
    [
        (ZH, "回响", "zh-Hans"),
        (ZH, "概要", "zh-Hans"),
        (ZH_HANT, "文件", "zh-Hant"),
        (JA, "設定", "ja"),
        (DE, "Beispiel", "de"),
        (PT, "Uso da memória", "pt"),
        (ES, "Uso de la memoria", "es"),
        (DE, "Before you begin, read this page", "en"),
    ],
)
def test_a_page_is_the_prior_of_its_headings(policy, page, heading, language):
    verdict = policy.judge([page, heading], [PARAGRAPH, BlockKind.HEADING])[1]
    assert verdict.language == language


def test_an_acronym_stays_a_guess_inside_a_page(policy):
    assert policy.judge([DE, "PTO?"], [PARAGRAPH, PARAGRAPH])[1].low_confidence


@pytest.mark.parametrize(
    ("declared", "language"), [("ja", "ja"), ("zh-TW", "zh-Hant"), ("zh-cn", "zh-Hans"), (None, "zh-Hans")]
)
def test_declared_language_decides_what_the_text_leaves_open(policy, declared, language):
    assert policy.judge(["文件"], [PARAGRAPH], declared)[0].language == language


def test_declared_language_does_not_overrule_the_text(policy):
    assert [v.language for v in policy.judge([DE, ZH], [PARAGRAPH] * 2, "fr")] == ["de", "zh-Hans"]
    assert policy.judge([SR_LATN, HR], [PARAGRAPH] * 2, "sr")[0].language == "sr-Latn"


@pytest.mark.parametrize(
    ("tag", "canonical"),
    [
        ("zh-cn", "zh-Hans"), ("zh_TW", "zh-Hant"), ("zh", "zh-Hans"), ("pt-br", "pt"), ("EN", "en"), ("sh", "sr"),
        ("sr-Latn-RS", "sr"), ("nb", "no"), ("und", None), ("", None), (None, None), ("not a tag!", None),
    ],
)  # fmt: skip
def test_canonical_language(tag, canonical):
    assert canonical_language(tag) == canonical


class FixedIdentifier:
    """Says the same of every text, to see what the policy makes of it."""

    version = "fixed-1"

    def __init__(self, *pairs):
        self.calls = 0
        self.answer = [LanguageCandidate(tag, probability) for tag, probability in pairs]

    def identify(self, texts, limit=5):
        self.calls += 1
        return [self.answer for _ in texts]


def test_impossible_scripts_are_refused():
    verdict = LanguagePolicy(FixedIdentifier(("ru", 0.99))).judge_query("a plain sentence of the English language")
    assert verdict.language == "en"
    assert "ru" not in candidates(verdict)


def test_identifier_is_asked_once_a_document():
    identifier = FixedIdentifier(("en", 0.9))
    LanguagePolicy(identifier).judge(["one text", "another text", "第三"], [PARAGRAPH] * 3)
    assert identifier.calls == 1


def test_version_names_policy_and_identifier():
    assert LanguagePolicy(FixedIdentifier()).version == "language-1/fixed-1"


def test_an_identifier_without_an_answer_leaves_letters_and_words():
    verdict = LanguagePolicy(FixedIdentifier()).judge_query("wie und warum ist das so, wenn es nicht geht")
    assert verdict.language == "de"


_MESSY = st.text(alphabet="aé ßиіћ为説のㄅ서ไع1._@\n\u200f\ud800\x00😀", max_size=30)


@given(st.lists(st.one_of(st.text(max_size=40), _MESSY), max_size=4), st.sampled_from([None, "ja", "sr", "xx", "?"]))
@settings(max_examples=80, deadline=None)
def test_any_text_gets_a_distribution(texts, declared):
    verdicts = LanguagePolicy(FastTextIdentifier()).judge(texts, [PARAGRAPH] * len(texts), declared)
    assert len(verdicts) == len(texts)
    for verdict in verdicts:
        probabilities = [candidate.probability for candidate in verdict.candidates]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) <= 1.001
        assert verdict.language == (verdict.candidates[0].language if verdict.candidates else "und")
