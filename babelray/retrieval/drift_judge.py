"""What a model would be asked about the drift that no rule sees, and how one is calibrated before it is trusted.

No judge comes with Babelray and none is asked by default: a judge that was not measured on people's verdicts is one
more thing that may drift.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import Field, ValidationError

from babelray.errors import InputError
from babelray.retrieval.query import Record


class DriftVerdict(Record):
    """Whether a rewriting says the same as a query, point by point."""

    equivalent_intent: bool
    negation_preserved: bool
    temporal_constraints_preserved: bool
    numeric_constraints_preserved: bool
    entity_constraints_preserved: bool
    missing_constraints: tuple[str, ...] = ()
    added_constraints: tuple[str, ...] = ()

    def drifts(self) -> Mapping[str, bool]:
        """Field -> whether it reports a drift."""
        return {
            name: bool(value) if isinstance(value, tuple) else not value
            for name, value in ((name, getattr(self, name)) for name in type(self).model_fields)
        }


@runtime_checkable
class SemanticDriftJudge(Protocol):
    """Judges rewritings that the deterministic checks have accepted; it can only refuse more, never less."""

    @property
    def version(self) -> str:
        """Names model and prompt; part of cache keys and traces."""
        ...

    def judge(self, query: str, query_language: str, text: str, language: str) -> DriftVerdict:
        """The verdict on one rewriting.

        Args:
            query: As typed.
            query_language: BCP 47.
            text: The rewriting.
            language: BCP 47.

        Raises:
            UpstreamError: The model failed or answered nonsense; the rewriting is then not searched.
        """
        ...


class CalibrationCase(Record):
    """One line of a calibration set: a query, a rewriting, and what people said of it.

    Attributes:
        case_id: Stable name of the case.
        verdict: What people agreed on.
        annotators: How many of them looked at it.
    """

    case_id: str = Field(min_length=1)
    query: str = Field(min_length=1)
    query_language: str
    text: str
    language: str
    verdict: DriftVerdict
    annotators: int = Field(default=1, ge=1)


class FieldAccuracy(Record):
    """How a judge finds the drifts of one field.

    Attributes:
        precision: Share of its reports that people agree with; `None` without reports.
        recall: Share of the drifts that it reports; `None` where the set has none.
    """

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @property
    def precision(self) -> float | None:
        """True reports of all reports."""
        reports = self.true_positives + self.false_positives
        return self.true_positives / reports if reports else None

    @property
    def recall(self) -> float | None:
        """True reports of all drifts."""
        drifts = self.true_positives + self.false_negatives
        return self.true_positives / drifts if drifts else None


def read_calibration(path: Path) -> Iterator[CalibrationCase]:
    """The cases of a JSONL file, one an object a line; empty lines are skipped.

    Raises:
        InputError: The file cannot be read, a line is no case, or a name stands twice.
    """
    seen: set[str] = set()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "cannot read the calibration set", where=path, got=str(error), fix="give a UTF-8 file of JSON lines"
        ) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            case = CalibrationCase.model_validate_json(line)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise InputError(
                "a line is no calibration case",
                where=f"{path}:{number}",
                got=f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}",
                allowed=", ".join(CalibrationCase.model_fields),
                fix="repair or remove the line",
            ) from None
        if case.case_id in seen:
            raise InputError(
                "a case stands twice in the calibration set",
                where=f"{path}:{number}",
                got=case.case_id,
                allowed="each case_id once",
                fix="rename or remove one of the two",
            )
        seen.add(case.case_id)
        yield case


def calibrate_judge(judge: SemanticDriftJudge, cases: Iterable[CalibrationCase]) -> dict[str, FieldAccuracy]:
    """Precision and recall of a judge by field of the verdict; a drift is what is to be found.

    Raises:
        UpstreamError: The judge failed on a case.
    """
    outcomes: dict[str, list[tuple[bool, bool]]] = {name: [] for name in DriftVerdict.model_fields}
    for case in cases:
        expected = case.verdict.drifts()
        got = judge.judge(case.query, case.query_language, case.text, case.language).drifts()
        for name, pairs in outcomes.items():
            pairs.append((expected[name], got[name]))
    return {name: _accuracy(pairs) for name, pairs in outcomes.items()}


def _accuracy(pairs: Sequence[tuple[bool, bool]]) -> FieldAccuracy:
    return FieldAccuracy(
        true_positives=pairs.count((True, True)),
        false_positives=pairs.count((False, True)),
        false_negatives=pairs.count((True, False)),
        true_negatives=pairs.count((False, False)),
    )
