"""The scoring job: record files to score files, apart from the localizer and whenever one likes.

A score file says which records and which scoring it is of, so that running again scores only what changed.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

import ray
from pydantic import BaseModel, ConfigDict, ValidationError
from ray.exceptions import RayError

from babelray.config import Settings
from babelray.errors import ConfigError, IncompleteRun, InputError, IntegrityError
from babelray.glossary.adherence import Scorer
from babelray.glossary.labels import Labels, read_labels
from babelray.glossary.match import TermMatcher
from babelray.glossary.profile import EngineProfile
from babelray.glossary.records import LocalizedString
from babelray.glossary.score_records import ScoreRecord, score_record
from babelray.glossary.scoring import SCORING_VERSION
from babelray.glossary.terms import Term
from babelray.index.digests import sha256_of
from babelray.index.layout import LAYOUT
from babelray.index.store import Store, open_store
from babelray.keys import digest_of
from jobs.cluster import connect, readable, task_options
from models.judges import ChatJudge
from models.localizers.registry import load_terms, profile_of

JOB = "score"
RULES = "rules"


class ScoreSummary(BaseModel):
    """What a scoring run did.

    Attributes:
        unscored: Records without an output: they failed, which is no matter of terms.
        kept: Files whose scores were there already.
    """

    model_config = ConfigDict(frozen=True)

    output: str
    scoring: str
    files: int
    kept: int
    records: int
    unscored: int
    labelled: int


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """What workers need; terms and labels lie in the store.

    Attributes:
        scoring: Digest of all that shapes scores.
    """

    settings: Settings
    profile: EngineProfile
    scoring: str

    @property
    def root(self) -> str:
        """Folder of terms and labels."""
        return LAYOUT.run(JOB, self.scoring).root


def run(settings: Settings) -> ScoreSummary:
    """Score all records of the settings' output folder that this scoring has not scored yet.

    Raises:
        InputError: There are no records, or the labels cannot be read.
        ConfigError: A judge is configured that localizes too.
        IncompleteRun: Files could not be scored; the others are.
    """
    output = open_store(settings.localization.output)
    paths = [path for path, _ in output.files("records")]
    if not paths:
        raise InputError(
            "there is nothing to score",
            where=f"{settings.localization.output}/records",
            fix="`babelray backfill run` with the same settings writes records",
        )
    plan = _plan(settings)
    connect(settings)
    rows = [{"path": path} for path in paths]
    dataset = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        partial(score_file, plan=plan), **task_options(settings)
    )
    results: list[dict[str, Any]] = []
    try:
        results += dataset.iter_rows()
    except RayError as error:
        raise readable(error, "scoring") from error
    failed = {str(row["path"]): str(row["error"]) for row in results if row["error"]}
    missing = sorted(set(paths) - {str(row["path"]) for row in results})
    if failed or missing:
        raise IncompleteRun(
            f"{len(failed) + len(missing)} of {len(paths)} record files were not scored",
            where=settings.localization.output,
            got="; ".join([*(f"{path}: {error}" for path, error in failed.items()), *missing][:5]),
            fix="remove the cause and run it again: what is scored is kept",
        )
    return ScoreSummary(
        output=settings.localization.output,
        scoring=plan.scoring,
        files=len(paths),
        **{name: sum(int(row[name]) for row in results) for name in ("kept", "records", "unscored", "labelled")},
    )


def _plan(settings: Settings) -> ScorePlan:
    """Decide what scores are made with, and put terms and labels where workers find them."""
    scoring = settings.localization.scoring
    profile = profile_of(settings)
    terms = load_terms(settings, profile)
    labels: Labels = read_labels(scoring.labels) if scoring.labels else {}
    judge = _judge(settings, profile)
    lines = [term.model_dump_json() for term in terms.terms]
    digest = digest_of(
        [SCORING_VERSION, profile.model_dump(mode="json"), lines, labels, judge.version if judge else ""]
    )
    plan = ScorePlan(settings, profile, digest)
    store = open_store(settings.store)
    store.create_if_absent(f"{plan.root}/terms.jsonl", "".join(f"{line}\n" for line in lines).encode())
    store.create_if_absent(f"{plan.root}/labels.json", json.dumps(labels, sort_keys=True).encode())
    return plan


def _judge(settings: Settings, profile: EngineProfile) -> ChatJudge | None:
    wanted = settings.localization.scoring.judge
    if wanted is None:
        return None
    translation = settings.localization.translation
    for one in translation.translators if translation else ():
        if one.kind == "http" and (one.model, one.url) == (wanted.model, wanted.url):
            fix = "choose another model for scoring"
            raise ConfigError("a model may not score its own translations", where="localization.scoring.judge",
                              got=wanted.model, fix=fix)  # fmt: skip
    return ChatJudge(wanted, profile.boundary)


def score_file(row: dict[str, Any], *, plan: ScorePlan) -> dict[str, Any]:
    """Score one record file, unless this scoring has done it."""
    path = str(row["path"])
    counts = {"kept": 0, "records": 0, "unscored": 0, "labelled": 0}
    try:
        counts |= _score_file(path, plan)
    except Exception as error:  # noqa: BLE001 - raised to Ray it would end the job, and the other files with it
        return {"path": path, "error": f"{type(error).__name__}: {error}", **counts}
    return {"path": path, "error": "", **counts}


def _score_file(path: str, plan: ScorePlan) -> dict[str, int]:
    output = open_store(plan.settings.localization.output)
    data = output.read_bytes(path)
    header = {"scoring": plan.scoring, "records_sha256": sha256_of(data)}
    target = f"scores/{path.partition('/')[2]}"
    if output.exists(target):
        first = output.read_bytes(target).partition(b"\n")[0]
        known = json.loads(first)
        if {name: known.get(name) for name in header} == header:
            return {**known["counts"], "kept": 1}
    scorers: dict[str, Scorer] = {}
    labels = _labels(plan.settings.store, plan.root)
    judge = _judge(plan.settings, plan.profile)
    scored: list[ScoreRecord] = []
    records = [LocalizedString.model_validate_json(line) for line in data.decode("utf-8").splitlines()]
    for record in records:
        locale = record.source_locale
        if locale not in scorers:
            scorers[locale] = Scorer(_matcher(plan.settings.store, plan.root, locale), plan.profile, judge)
        said = labels.get(record.record_id)
        one = scorers[locale].score(record, said)
        if one is not None:
            scorer = f"{RULES}+{judge.version}" if judge else RULES
            scored.append(score_record(one, scorer, datetime.now(UTC), said))
    counts = {
        "records": len(scored),
        "unscored": len(records) - len(scored),
        "labelled": sum(one.labelled for one in scored),
    }
    lines = [json.dumps({**header, "counts": counts}), *(one.model_dump_json() for one in scored)]
    output.write_atomic(target, "".join(f"{line}\n" for line in lines).encode())
    return counts


@lru_cache(maxsize=4)
def _matcher(store: str, root: str, locale: str) -> TermMatcher:
    lines = open_store(store).read_bytes(f"{root}/terms.jsonl").decode("utf-8").splitlines()
    return TermMatcher([Term.model_validate_json(line) for line in lines], locale)


@lru_cache(maxsize=2)
def _labels(store: str, root: str) -> Labels:
    found: Labels = json.loads(open_store(store).read_bytes(f"{root}/labels.json"))
    return found


def read_scores(output: Store) -> Iterator[ScoreRecord]:
    """All scores of an output folder, file by file.

    Raises:
        IntegrityError: A line cannot be read.
    """
    for path, _ in output.files("scores"):
        for number, line in enumerate(output.read_bytes(path).decode("utf-8").splitlines()[1:], start=2):
            try:
                yield ScoreRecord.model_validate_json(line)
            except ValidationError as error:
                fix = "delete the file and run `babelray score run`"
                raise IntegrityError("a score cannot be read", where=f"{path}:{number}", got=str(error)[:200],
                                     fix=fix) from error  # fmt: skip
