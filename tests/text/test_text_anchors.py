"""Anchors: tables of tricky cases, exact spans on any text, linear time on hostile ones."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from babelray.text.anchors import AnchorType as T
from babelray.text.anchors import exact_tokens, find_anchors


def kinds(text):
    return [(anchor.type, anchor.value) for anchor in find_anchors(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("为什么index.mapping.total_fields.limit会超？", [(T.DOTTED, "index.mapping.total_fields.limit")]),
        ("ERR_1205 在 TDW 失败", [(T.ERROR_CODE, "ERR_1205"), (T.ACRONYM, "TDW")]),
        ("返回ORA-00942错误", [(T.ERROR_CODE, "ORA-00942")]),
        ("版本v2.1.0已发布", [(T.VERSION, "v2.1.0")]),
        ("設定kube-apiserverの--dry-runを", [(T.KEBAB, "kube-apiserver"), (T.FLAG, "--dry-run")]),
        ("참고:https://a.example/b는", [(T.URL, "https://a.example/b")]),
        ("见https://example.com/a?x=1，然后", [(T.URL, "https://example.com/a?x=1")]),
        ("(see https://example.com/a_(b)).", [(T.URL, "https://example.com/a_(b)")]),
        ("ＥＲＲ＿１２０５の原因", [(T.ERROR_CODE, "ＥＲＲ＿１２０５")]),
        ("connect ECONNREFUSED 10.0.0.1", [(T.ERROR_CODE, "ECONNREFUSED"), (T.IP, "10.0.0.1")]),
        ("HTTP 429 and HTTP/1.1 503", [(T.ERROR_CODE, "HTTP 429"), (T.ERROR_CODE, "HTTP/1.1 503")]),
        ("TS2304 E0502 0x80070005", [(T.ERROR_CODE, "TS2304"), (T.ERROR_CODE, "E0502"), (T.CODE, "0x80070005")]),
        ("bge-reranker-v2-m3", [(T.KEBAB, "bge-reranker-v2-m3")]),
        ("max_retries maxRetries MaxRetries HTTPServer __init__", [
            (T.SNAKE, "max_retries"), (T.CAMEL, "maxRetries"), (T.CAMEL, "MaxRetries"), (T.CAMEL, "HTTPServer"),
            (T.SNAKE, "__init__"),
        ]),
        ("C++ c++17 C# .NET node.js std::vector", [
            (T.NAME, "C++"), (T.NAME, "c++17"), (T.NAME, "C#"), (T.DOTTED, ".NET"), (T.DOTTED, "node.js"),
            (T.DOTTED, "std::vector"),
        ]),
        ("RFC 7231, RFC2119 and rfc-822", [(T.RFC, "RFC 7231"), (T.RFC, "RFC2119"), (T.RFC, "rfc-822")]),
        ("POST /users/{id} then /api/v1/retrieve", [
            (T.ACRONYM, "POST"), (T.ROUTE, "/users/{id}"), (T.ROUTE, "/api/v1/retrieve"),
        ]),
        ("/etc/kubernetes/admin.conf ~/x ./y C:\\Temp\\a.txt docs/a.md", [
            (T.PATH, "/etc/kubernetes/admin.conf"), (T.PATH, "~/x"), (T.PATH, "./y"), (T.PATH, "C:\\Temp\\a.txt"),
            (T.PATH, "docs/a.md"),
        ]),
        ("kubectl -n foo --dry-run=client", [(T.FLAG, "-n"), (T.FLAG, "--dry-run")]),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", [(T.UUID, "3f2504e0-4f89-11d3-9a0c-0305e82c3301")]),
        ("sha256:abcdef0123 at 1a2b3c4d", [(T.HASH, "sha256:abcdef0123"), (T.HASH, "1a2b3c4d")]),
        ("10.0.0.0/8 fe80::1", [(T.IP, "10.0.0.0/8"), (T.IP, "fe80::1")]),
        ("on 2024-01-31 at 2024-01-31T10:00:00Z", [(T.DATE, "2024-01-31"), (T.DATE, "2024-01-31T10:00:00Z")]),
        ("PROJ-123 CVE-2024-3094 #1234", [(T.TICKET, "PROJ-123"), (T.TICKET, "CVE-2024-3094"), (T.TICKET, "#1234")]),
        ("ops@example.com", [(T.EMAIL, "ops@example.com")]),
        ("version 3.2, 版本3.2, versão 3.2, バージョン3.2", [(T.VERSION, "3.2")] * 4),
        ("1.29.0-alpha.2 v1beta1 2.x", [(T.VERSION, "1.29.0-alpha.2"), (T.VERSION, "v1beta1"), (T.VERSION, "2.x")]),
        ("PTO?", [(T.ACRONYM, "PTO")]),
        ("the APIs", [(T.ACRONYM, "APIs")]),
        ("_ConfigMap_ **kube_proxy**", [(T.CAMEL, "ConfigMap"), (T.SNAKE, "kube_proxy")]),
    ],
)  # fmt: skip
def test_found(text, expected):
    assert kinds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a well-known, state-of-the-art, 24-hour, out-of-the-box solution",
        "Segunda-feira torna-se diga-me, est-ce que, peut-être, c'est-à-dire",
        "Pod-Vorlage und E-Mail",
        "and/or, km/h, he/she/they, 1/2, 24/7",
        "It costs 3.50 or 1,000.50 and 5% of 100",
        "e.g. this, i.e. that, z.B. dies, U.S.A.",
        "He said so.The next sentence lost its space.",
        "HOW TO INSTALL THE NEW SERVER NOW",
        "configuração não é über_größe",
        "a facade, decade, defaced, effaced",
        "1000000 20240131 3.14159",
        "Section II and part XIV",
        "wait -- what -",
        "<b>bold</b> text",
        "... ___ --- :// ::: @@",
        "N-1 replicas",
    ],
)
def test_prose_has_no_anchors(text):
    assert kinds(text) == []


@pytest.mark.parametrize("text", ["UTF-8", "COVID-19", "ISO-8859-1", "SHA-256", "ISO 8601", "IEEE 802.11"])
def test_names_with_numbers_are_designations_and_no_codes(text):
    assert kinds(text) == [(T.DESIGNATION, text)]


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("v2.1.0", "2.1.0"),
        ("RFC2119", "RFC 2119"),
        ("rfc-2119", "RFC 2119"),
        ("HTTPS://Example.COM/Path", "https://example.com/Path"),
        ("HTTP/1.1 429", "HTTP 429"),
        ("APIs", "API"),
        ("utf-8", "UTF-8"),
        ("ＥＲＲ＿１２０５", "ERR_1205"),
        ("ERR_1205", "ERR_1205"),
        ("maxRetries", "maxRetries"),
    ],
)
def test_normalized(text, normalized):
    assert [anchor.normalized for anchor in find_anchors(text)] == [normalized]


def test_tokens_end_at_their_borders():
    assert exact_tokens("v2.10") == ("v2.10",)
    assert "v2.1" not in exact_tokens("v2.10 v2.1.5")
    assert exact_tokens("max_retries_total") == ("max_retries_total",)


def test_exact_tokens_are_unique_and_in_order():
    assert exact_tokens("b_2 a_1 b_2 ERR_7 a_1") == ("b_2", "a_1", "ERR_7")


def test_overlong_runs_are_data_and_not_names():
    assert find_anchors("x_" * 200 + "x") == []
    assert find_anchors("https://example.com/" + "a" * 3000) == []


_TECHNICAL = st.text(alphabet="aA1._-/:@#+~\\{}[]()<> \n%=&?é为のا\u200f\ud800\x00", max_size=60)


@given(st.one_of(st.text(), _TECHNICAL))
@example("http://[")
@example("a://")
@example("https://[::1]:80/x")
def test_spans_are_exact_sorted_and_disjoint(text):
    end = 0
    for anchor in find_anchors(text):
        assert end <= anchor.start < anchor.end <= len(text)
        assert text[anchor.start : anchor.end] == anchor.value
        assert anchor.normalized
        end = anchor.end


@given(_TECHNICAL)
def test_an_anchor_alone_is_still_that_anchor_or_lacks_its_context(text):
    for anchor in find_anchors(text):
        alone = find_anchors(anchor.value)
        # A version after a version word, a short flag between spaces and a route after its method need their context.
        if anchor.type not in {T.VERSION, T.FLAG, T.ROUTE}:
            assert [found.value for found in alone] == [anchor.value]


_HOSTILE = [
    ".", "_", "a", "a.", "a-", "a_", "/a", "::", "-", "://", "a://", "http://", "@a", "1.1", "A", "A ", "{a}", "#1",
    "RFC ", "a@a.a", "~/", "\\", "0x", "[", "a+", "AbC", "为a", "(((http://", "1-1-", "v1.",
    "--a", "a:", "%a", "HTTP ", "ISO ",
]  # fmt: skip


@pytest.mark.parametrize("piece", _HOSTILE)
def test_time_is_linear_on_hostile_text(piece):
    def seconds(length):
        text = (piece * (length // len(piece) + 1))[:length]
        started = time.process_time()
        find_anchors(text)
        return time.process_time() - started

    small, large = min(seconds(20_000) for _ in range(2)), seconds(200_000)
    # Ten times the text; a quadratic scan would take a hundred times as long.
    assert large < 40 * small + 0.5
