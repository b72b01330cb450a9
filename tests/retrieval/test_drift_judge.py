"""A judge of drift is measured against people's verdicts before anyone trusts it."""

import pytest

from babelray.errors import InputError
from babelray.retrieval.drift import (
    CalibrationCase,
    DriftVerdict,
    SemanticDriftJudge,
    calibrate_judge,
    read_calibration,
)


class RuleJudge:
    """A judge that finds lost digits and nothing else."""

    version = "rule-1"

    def judge(self, query, query_language, text, language):
        kept = set(filter(str.isdigit, query)) <= set(filter(str.isdigit, text))
        return verdict(numeric_constraints_preserved=kept, missing_constraints=() if kept else ("a digit",))


def verdict(**changes):
    fields = {name: True for name in DriftVerdict.model_fields if not name.endswith("constraints")} | changes
    return DriftVerdict(**fields)


def test_a_judge_is_measured_field_by_field(tmp_path):
    rows = [
        ("a", "keep 3", "behalte 3", verdict()),
        ("b", "keep 3", "behalte 4", verdict(numeric_constraints_preserved=False, missing_constraints=("3",))),
        ("c", "keep 3", "behalte drei", verdict()),
        ("d", "not 3", "3", verdict(negation_preserved=False, equivalent_intent=False)),
    ]
    cases = [
        CalibrationCase(case_id=name, query=query, query_language="en", text=text, language="de", verdict=said)
        for name, query, text, said in rows
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n\n".join(case.model_dump_json() for case in cases), encoding="utf-8")
    judge = RuleJudge()
    assert isinstance(judge, SemanticDriftJudge)
    measured = calibrate_judge(judge, read_calibration(path))
    numeric = measured["numeric_constraints_preserved"]
    assert (numeric.precision, numeric.recall) == (0.5, 1.0)
    assert (measured["negation_preserved"].precision, measured["negation_preserved"].recall) == (None, 0.0)
    assert measured["entity_constraints_preserved"].recall is None
    assert measured["missing_constraints"].true_positives == 1


@pytest.mark.parametrize(
    ("content", "what"),
    [('{"case_id": "a"}', "no calibration case"), ("{", "no calibration case"), (b"\xff", "cannot read")],
)
def test_broken_calibration_sets_are_refused(tmp_path, content, what):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=what) as caught:
        list(read_calibration(path))
    assert caught.value.fix and str(path) in str(caught.value.where)


def test_a_case_stands_once(tmp_path):
    case = CalibrationCase(case_id="a", query="x", query_language="en", text="y", language="de", verdict=verdict())
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{case.model_dump_json()}\n{case.model_dump_json()}\n", encoding="utf-8")
    with pytest.raises(InputError, match="twice"):
        list(read_calibration(path))
