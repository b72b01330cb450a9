import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from babelray.errors import InputError
from babelray.glossary.importing import ImportOptions, read_terms, write_terms
from babelray.glossary.lint import find_conflicts, lint
from babelray.glossary.tbx import read_tbx, write_tbx
from babelray.glossary.terms import Term


def term(source, target="x", **more):
    kind = more.pop("kind", "custom_translation" if target else "non_translatable")
    values = {"term_id": source, "source_locale": "en", "target_locale": "es"} | more
    return Term(source=source, target=target, kind=kind, **values)


# XML has no characters below space, and folds line ends; CSV and JSONL would keep them.
words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), min_size=1, max_size=8
).filter(lambda word: any(one.isprintable() and not one.isspace() for one in word))
moments = st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2024, 1, 1)).map(lambda d: d.replace(tzinfo=UTC))


@st.composite
def terms(draw):
    translated = draw(st.booleans())
    start = draw(moments)
    lists = st.lists(words, max_size=2, unique=True).map(tuple)
    source = draw(words)
    return Term(
        term_id=draw(words),
        tenant_id=draw(words),
        domain=draw(st.just("") | words),
        source_locale=draw(st.sampled_from(["en", "pt-BR"])),
        target_locale=draw(st.sampled_from(["*", "es", "zh-Hans"])),
        source=source,
        target=draw(words) if translated else draw(st.sampled_from(["", source])),
        kind="custom_translation" if translated else "non_translatable",
        surface_forms=draw(lists),
        aliases=tuple(a for a in draw(lists) if a != source),
        forbidden_translations=draw(lists),
        hint=draw(st.just("") | words),
        case=draw(st.sampled_from(["auto", "sensitive"])),
        part_of_speech=draw(st.sampled_from(["", "noun", "proper"])),
        expand=draw(st.booleans()),
        only_with=draw(lists),
        not_with=draw(lists),
        valid_from=start,
        valid_to=None if start is None else draw(st.none() | st.just(datetime(2025, 1, 1, tzinfo=UTC))),
        version=draw(st.integers(1, 9)),
    )


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".tbx"])
@given(st.lists(terms(), max_size=4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_property_what_is_written_is_read_back_equal(tmp_path, suffix, written):
    path = tmp_path / f"glossary{suffix}"
    write_terms(path, written)
    result = read_terms(path)
    assert list(result.terms) == written
    assert result.problems == ()


def test_a_small_csv_needs_only_source_and_target(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text('source;target;owner\nnode;nodo;me\n"a;b";;me\n', encoding="utf-8-sig")
    options = ImportOptions(defaults={"source_locale": "en", "target_locale": "es", "domain": "k8s"})
    result = read_terms(path, options)
    assert [(t.source, t.target, t.kind.value, t.domain) for t in result.terms] == [
        ("node", "nodo", "custom_translation", "k8s"),
        ("a;b", "", "non_translatable", "k8s"),
    ]
    assert [(p.code, p.where) for p in result.problems] == [("unknown_column", ("owner",))]
    assert read_terms(path, ImportOptions(defaults=options.defaults, ignore=frozenset({"owner"}))).problems == ()


def test_rows_that_are_no_terms_are_reported_with_their_line(tmp_path):
    path = tmp_path / "g.jsonl"
    good = {
        "term_id": "a",
        "source_locale": "en",
        "target_locale": "es",
        "source": "a",
        "text": "b",
        "kind": "custom_translation",
    }
    path.write_text(json.dumps(good) + "\n\n" + json.dumps(good | {"kind": "odd"}) + "\n")
    result = read_terms(path, ImportOptions(rename={"target": "text"}))
    assert [t.target for t in result.terms] == ["b"]
    assert [(p.code, p.where) for p in result.problems] == [("bad_row", (f"{path}:3",))]
    contradiction = tmp_path / "c.jsonl"
    contradiction.write_text(json.dumps(good | {"kind": "non_translatable", "target": "z", "text": None}))
    assert "no other target" in read_terms(contradiction).problems[0].message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "cannot tell"),
        ("a.csv", b"", "no header"),
        ("a.csv", b"source,target\na\n", "more or fewer cells"),
        ("a.csv", b"source\n\xff\n", "not UTF-8"),
        ("a.jsonl", b"{oops", "not JSON"),
        ("a.jsonl", b"[1]", "not a JSON object"),
        ("a.tbx", b"<tbx>", "not XML"),
        ("a.tbx", b"<html/>", "not TBX"),
        ("a.tbx", b"<tbx><text><body><conceptEntry/></body></text></tbx>", "no language section"),
    ],
)
def test_files_that_are_not_what_they_say(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_terms(tmp_path / name)


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % remote SYSTEM "http://127.0.0.1:9/x.dtd"> %remote;',
    ],
)
def test_tbx_with_entities_is_refused(declaration):
    data = f"<!DOCTYPE tbx [{declaration}]><tbx><text/></tbx>".encode()
    with pytest.raises(InputError, match="declares entities"):
        list(read_tbx(data, "x.tbx"))


OLD = b"""<?xml version="1.0"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="en"><text><body>
 <termEntry id="c7"><descrip type="subjectField">networking</descrip>
  <langSet xml:lang="en"><tig><term>load balancer</term><termNote type="partOfSpeech">noun</termNote></tig>
    <tig><term>LB</term><termNote type="administrativeStatus">admittedTerm-admn-sts</termNote></tig></langSet>
  <langSet xml:lang="es"><ntig><termGrp><term>repartidor</term>
      <termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></termGrp></ntig>
    <ntig><termGrp><term>balanceador de <hi>carga</hi></term></termGrp></ntig></langSet>
  <langSet xml:lang="de"><tig><term>Lastverteiler</term></tig></langSet>
 </termEntry></body></text></martif>"""


def test_the_older_tbx_form_is_read_and_its_dtd_is_not_fetched():
    rows = [row for _, row in read_tbx(OLD, "x.tbx")]
    assert [(r["term_id"], r["target_locale"], r["target"], r["domain"]) for r in rows] == [
        ("c7", "es", "balanceador de carga", "networking"),
        ("c7", "de", "Lastverteiler", "networking"),
    ]
    assert rows[0]["forbidden_translations"] == ["repartidor"]
    assert rows[0]["aliases"] == ["LB"] and rows[0]["part_of_speech"] == "noun"


def test_tbx_groups_the_targets_of_a_concept():
    data = write_tbx([term("node", "nodo", term_id="n"), term("node", "Knoten", term_id="n", target_locale="de")])
    assert data.count(b"<conceptEntry") == 1 and data.count(b"<langSec") == 3
    assert b'xmlns="urn:iso:std:iso:30042:ed-2"' in data


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("source", " \u200b ", "nothing in it can be seen"),
        ("term_id", " ", "nothing in it can be seen"),
        ("target", "  ", "needs a target"),
        ("target", "no\x00do", "control character"),
        ("aliases", ("fine", "\x1b[31m"), "control character"),
    ],
)
def test_terms_that_cannot_be_stored_or_found_are_refused(field, value, said):
    with pytest.raises(ValueError, match=said):
        Term.model_validate({**term("node", "nodo").model_dump(), field: value})


@pytest.mark.parametrize(
    ("terms", "codes"),
    [
        ([term("node", "nodo"), term("Node", "nudo")], ["two_targets"]),
        ([term("node", "nodo", term_id="n"), term("pod", "vaina", term_id="n")], ["one_id_two_sources"]),
        ([term("node", "nodo"), term("Node", "")], ["two_kinds"]),
        ([term("node", "nodo", term_id="a"), term("node", "nodo", term_id="b")], ["duplicate"]),
        ([term("Pod", ""), term("pod", "")], ["two_spellings"]),
        ([term("node", "nodo"), term("machine", "máquina", aliases=("Node",))], ["alias_is_term"]),
        ([term("node", "nodo"), term("node", "nudo", domain="other")], []),
        ([term("node", "nodo"), term("node", "nudo", tenant_id="other")], []),
        ([term("node", "nodo"), term("node", "Knoten", target_locale="de")], []),
        ([term("node", "nodo"), term("node", "", target_locale="*")], ["two_kinds"]),
        (
            [
                term("node", "nodo", valid_to=datetime(2026, 1, 1, tzinfo=UTC)),
                term("node", "nudo", valid_from=datetime(2026, 1, 1, tzinfo=UTC)),
            ],
            [],
        ),
    ],
)
def test_conflicts(terms, codes):
    assert [p.code for p in find_conflicts(terms)] == codes


@pytest.mark.parametrize(
    ("case", "codes"),
    [
        (term("paid time off", "permiso", aliases=("PTO",)), ["alias_needless"]),
        (term("paid time off", "permiso", aliases=("time off", "telecommute leave policy")), ["alias_unrelated"]),
        (term("paid time off", "permiso", aliases=("remote desk rules",)), ["alias_unrelated"]),
        (term("configuration", "ajustes", aliases=("config", "cfg")), ["alias_needless"]),
        (term("node", "nodo", aliases=("nodes",)), ["alias_needless"]),
        (term("node", "nodo", aliases=("no",)), ["alias_short"]),
        (term("node", "nodo", aliases=("nodo",)), ["alias_is_target"]),
        (term("node", "nodo", aliases=("the",)), ["alias_function_word"]),
        (term("property", "propiedad, atributo"), ["target_alternatives"]),
        (term("add-on", "complemento (add-on)"), ["target_remark"]),
        (term("node", "node"), ["target_is_source"]),
        (term("your", "tu"), ["function_word"]),
        (term("--", "x"), ["no_words"]),
        (term("node", "nodo", target_locale="xx-YYYYYYYYYYY"), ["bad_locale"]),
        (term("node", "nodo", forbidden_translations=("Nodo",)), ["forbidden_is_target"]),
        (term("{n} nodes", "nodos"), ["target_placeholders"]),
        (term("OK", "x"), ["short"]),
        (term("load balancer", "balanceador"), []),
    ],
)
def test_lint_of_one_term(case, codes):
    assert [p.code for p in lint([case])] == codes
