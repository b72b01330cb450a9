import json

import pytest

from babelray.errors import InputError
from babelray.evaluation.cases import load_clapnq, load_k8s_xretrieval, load_xquad, load_xquad_long


def write(folder, **files):
    for name, rows in files.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def xquad_row(number, language, question):
    return {"id": f"{number}-{language}", "group_id": number, "lang": language, "question": question, "gold_group": "p"}


def test_xquad_judgements_cross_languages(tmp_path):
    passages = [
        {"id": f"p-{lang}", "group_id": "p", "lang": lang, "title": "T", "text": "a\u2028b"} for lang in ("en", "zh")
    ]
    queries = [xquad_row("q1", "en", "Who?"), xquad_row("q1", "zh", "谁？"), xquad_row("q2", "zh", "哪里？")]
    loaded = load_xquad(write(tmp_path, passages=passages, queries=queries))
    assert loaded.judgements("zh", "en") == {"q1-zh": {"p-en": 1}, "q2-zh": {"p-en": 1}}
    assert loaded.judgements("en", "de") == {}
    assert loaded.passages[0].text == "a\u2028b"


def test_doubtful_headings_are_left_out(tmp_path):
    def query(name, **more):
        return {"id": name, "kind": "heading", "lang": "ja", "query": "概要", "gold_group": "g", **more}

    passages = [{"id": "g-en", "group_id": "g", "lang": "en", "title": "Pods", "heading": "", "text": "x"}]
    queries = [
        query("keep", generic=False, anchor_ok=True),
        query("generic", generic=True, anchor_ok=True),
        query("moved", generic=False, anchor_ok=False),
        {**query("plain"), "kind": "definition"},
    ]
    loaded = load_k8s_xretrieval(write(tmp_path, passages=passages, queries=queries))
    assert [(case.case_id, case.kind) for case in loaded.cases] == [("keep", "heading"), ("plain", "definition")]
    assert loaded.passages[0].title == "Pods"


def test_evidence_of_an_answer_is_its_whole_sentences(tmp_path):
    text = "One here. Two here. Three."
    docs = [
        {"id": f"d-{lang}", "lang": lang, "title": "T", "text": text, "sentences": [[0, 9], [10, 19], [20, 26]]}
        for lang in ("en", "zh")
    ]
    queries = [
        {"id": f"q-{lang}", "group_id": "q", "lang": lang, "question": ask, "doc": f"d-{lang}",
         "answer": {"sentences": [1, 2]}}
        for lang, ask in (("en", "Which?"), ("zh", "哪个？"))
    ]  # fmt: skip
    loaded = load_xquad_long(write(tmp_path, docs=docs, queries=queries))
    crossed = loaded.pair("zh", "en")
    assert [one.doc_id for one in crossed.documents] == ["d-en"]
    (case,) = crossed.cases
    assert (case.question, case.doc_id, case.evidence) == ("哪个？", "d-en", ((10, 19), (20, 26)))
    assert [text[start:end] for start, end in case.evidence] == ["Two here.", "Three."]
    assert loaded.pair("de", "en").cases == ()


def test_evidence_of_several_annotators_is_joined_and_located(tmp_path):
    docs = [{"id": "d", "lang": "en", "title": "T", "text": "So . So . End . ", "sentences": ["So .", "So .", "End ."]}]

    def query(name, answerable, *evidence):
        outputs = [{"answer": "", "evidence": list(one)} for one in evidence]
        return {"id": name, "lang": "en", "question": "?", "answerable": answerable, "doc": "d", "outputs": outputs}

    queries = [query("two", True, [1], [2, 1]), query("none", False, []), query("unmarked", True, [])]
    loaded = load_clapnq(write(tmp_path, docs=docs, queries=queries))
    assert loaded.documents[0].sentences == ((0, 4), (5, 9), (10, 15))
    assert [(case.case_id, case.evidence) for case in loaded.cases] == [("two", ((5, 9), (10, 15))), ("none", ())]


@pytest.mark.parametrize(
    "row",
    ["{", "[]", '{"id": "d"}', json.dumps({"id": "d", "lang": "en", "title": "", "text": "a", "sentences": ["b"]})],
)
def test_a_broken_row_is_named(tmp_path, row):
    (tmp_path / "docs.jsonl").write_text(f"\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match="a row of the collection"):
        load_clapnq(tmp_path)
    with pytest.raises(InputError, match="cannot read"):
        load_xquad(tmp_path)
