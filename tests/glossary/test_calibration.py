import itertools
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelray.config import CalibrationSettings
from babelray.errors import InputError, PublishConflict
from babelray.evaluation.simulated_hints import World, simulate
from babelray.glossary.calibration.evidence import Evidence, Point, gather, precision, recall
from babelray.glossary.calibration.rule import Direction, decide
from babelray.glossary.calibration.thresholds_store import (
    PairThreshold,
    ThresholdSet,
    ThresholdStore,
    current_thresholds,
)
from babelray.glossary.thresholds import STARTING, UNKNOWN_MODEL, Thresholds, starting_thresholds
from babelray.index.store import open_store
from tests.index.segment_worlds import KEY

SETTINGS = CalibrationSettings(minimum_sample=20)


def evidence(meant=(), other=(), **more):
    """Every point twice: decided by and held out."""
    both = [(score, True) for score in meant] + [(score, False) for score in other]
    return Evidence([Point(score, label, held) for held in (False, True) for score, label in both], **more)


def test_a_model_begins_where_its_family_was_measured():
    e5, mini = (KEY.model_copy(update={"name": name}) for name in ("intfloat/multilingual-e5-base", "all-MiniLM-L6-v2"))
    assert starting_thresholds(e5).of("en", "es") == STARTING["e5"]
    assert starting_thresholds(mini).default == STARTING["minilm"]
    assert starting_thresholds(KEY.model_copy(update={"name": "other"})).default == UNKNOWN_MODEL
    assert starting_thresholds(e5, 0.5) == Thresholds("fixed-0.5", 0.5)
    assert Thresholds("v", 0.9, {("en", "es"): 0.8}).of("en", "es") == 0.8


class TestOneDecision:
    def test_too_few_labels_move_nothing(self):
        move = decide(0.9, evidence(meant=[0.89] * 5), SETTINGS)
        assert (move.direction, move.threshold) == (Direction.KEPT, 0.9) and "20 are needed" in move.reason

    def test_meant_terms_under_it_loosen_it_no_further_than_they_need(self):
        move = decide(0.9, evidence(meant=[0.91] * 6 + [0.897] * 6 + [0.92] * 8), SETTINGS)
        assert (move.direction, move.threshold) == (Direction.LOOSENED, 0.897)

    def test_a_step_is_the_most_that_one_calibration_moves(self):
        move = decide(0.9, evidence(meant=[0.91] * 6 + [0.875] * 12), SETTINGS)
        assert (move.direction, move.threshold) == (Direction.LOOSENED, 0.89)

    def test_irrelevant_hints_tighten_it(self):
        move = decide(0.9, evidence(meant=[0.95] * 10, other=[0.905] * 12), SETTINGS)
        assert move.direction is Direction.TIGHTENED and move.threshold == pytest.approx(0.9051)

    def test_within_its_targets_nothing_moves(self):
        assert decide(0.9, evidence(meant=[0.95] * 20 + [0.89], other=[0.91] * 5), SETTINGS).direction is Direction.KEPT

    @pytest.mark.parametrize("misses", [0, 40, 4000])
    def test_what_the_translator_ignored_moves_nothing(self, misses):
        found = evidence(meant=[0.95] * 20, translator_misses=misses)
        assert decide(0.9, found, SETTINGS) == decide(0.9, evidence(meant=[0.95] * 20), SETTINGS)
        few = evidence(translator_misses=misses)
        assert decide(0.9, few, SETTINGS).direction is Direction.KEPT

    def test_terms_that_no_threshold_in_reach_would_find_move_nothing(self):
        assert decide(0.9, evidence(meant=[0.95] * 20, unseen=500), SETTINGS).direction is Direction.KEPT

    def test_turning_back_needs_twice_the_labels(self):
        found = evidence(meant=[0.95] * 5, other=[0.905] * 9)
        assert decide(0.9, found, SETTINGS, Direction.LOOSENED).direction is Direction.KEPT
        assert decide(0.9, found, SETTINGS, Direction.TIGHTENED).direction is Direction.TIGHTENED

    def test_a_move_that_does_not_hold_on_held_out_records_is_refused(self):
        points = [Point(0.897, True, False)] * 15 + [Point(0.95, True, False)] * 5
        points += [Point(0.897, False, True)] * 15 + [Point(0.95, True, True)] * 5
        move = decide(0.9, Evidence(points), SETTINGS)
        assert move.direction is Direction.KEPT and "held-out precision would be 0.25" in move.reason

    @given(
        st.floats(0.6, 0.98),
        st.lists(st.tuples(st.floats(0.5, 1), st.booleans(), st.booleans()), max_size=80),
        st.sampled_from(Direction),
    )
    @settings(max_examples=300, deadline=None)
    def test_no_move_is_over_a_step_or_out_of_bounds_or_against_its_name(self, current, points, last):
        move = decide(current, Evidence([Point(*one) for one in points]), SETTINGS, last)
        assert abs(move.threshold - current) <= SETTINGS.step + 1e-4
        assert SETTINGS.lowest <= move.threshold <= SETTINGS.highest
        if move.direction is not Direction.KEPT:
            assert (move.threshold < current) == (move.direction is Direction.LOOSENED)
        else:
            assert move.threshold == current


def test_recall_and_precision_by_hand():
    points = [Point(0.9, True, False), Point(0.8, True, False), Point(0.85, False, False)]
    assert (recall(points, 0.85), precision(points, 0.85)) == (0.5, 0.5)
    assert (recall([], 0.5), precision(points, 0.95)) == (None, None)


def means(weeks, last=8):
    """Mean recall and precision of the last weeks, and how far the threshold still wanders."""
    tail = weeks[-last:]
    return (
        float(np.mean([one.recall for one in tail])),
        float(np.mean([one.precision or 0 for one in tail])),
        float(np.ptp([one.threshold for one in tail])),
    )


class TestSimulations:
    """Each over several seeds: a rule that holds for one is luck."""

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("start", [0.985, 0.90])
    def test_from_either_side_it_comes_to_rest_where_both_targets_are_near(self, start, seed):
        weeks = simulate(World(), 30, CalibrationSettings(), KEY, threshold=start, seed=seed)
        found, clean, wander = means(weeks)
        assert found >= 0.80 and clean >= 0.60 and wander <= 0.01
        assert all(abs(b.threshold - a.threshold) <= 0.0101 for a, b in itertools.pairwise(weeks))

    @pytest.mark.parametrize("seed", range(4))
    def test_it_follows_embeddings_that_drift(self, seed):
        def drift(world, week):
            shift = min(week, 20) * 0.003
            return World(world.meant_at - shift, world.other_at - shift, world.spread)

        weeks = simulate(World(), 40, CalibrationSettings(), KEY, threshold=0.94, change=drift, seed=seed)
        found, clean, _ = means(weeks)
        assert weeks[-1].threshold == pytest.approx(0.94 - 0.06, abs=0.02)
        assert found >= 0.80 and clean >= 0.60

    @pytest.mark.parametrize("seed", range(4))
    def test_a_glossary_that_grows_tightens_it_and_does_not_run_away(self, seed):
        def grow(world, week):
            return World(world.meant_at, world.other_at, world.spread, world.meant, 200 + 100 * week)

        weeks = simulate(World(), 30, CalibrationSettings(), KEY, threshold=0.92, change=grow, seed=seed)
        found, clean, _ = means(weeks)
        assert weeks[-1].threshold > weeks[0].threshold
        assert clean >= 0.60 and found >= 0.60

    @pytest.mark.parametrize("seed", range(4))
    def test_it_does_not_chase_a_faulty_translator(self, seed):
        good = simulate(World(), 30, CalibrationSettings(), KEY, threshold=0.94, seed=seed)
        bad = simulate(World(faults=0.6), 30, CalibrationSettings(), KEY, threshold=0.94, seed=seed)
        assert np.mean([one.adherence for one in bad]) < 0.5
        assert [one.threshold for one in bad] == [one.threshold for one in good]


def made(version, threshold=0.9, parent="start"):
    pair = PairThreshold(
        source_locale="en", target_locale="es", threshold=threshold, direction=Direction.LOOSENED, reason="r"
    )
    return ThresholdSet(
        version=version, parent=parent, model_key=KEY.digest, default=0.97, pairs=(pair,),
        made_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip


class TestStore:
    @pytest.fixture
    def store(self, tmp_path):
        return ThresholdStore(open_store(str(tmp_path)), "main", KEY)

    def test_versions_are_put_in_force_and_gone_back_to(self, store):
        assert store.current() is None and store.history() == []
        for number in (1, 2, 3):
            store.publish(made(f"t{number}", 0.9 + number / 100))
        assert store.current().version == "t3" and store.current().thresholds().of("en", "es") == 0.93
        assert [one.version for one in store.history()] == ["t3", "t2", "t1"]
        assert store.rollback().version == "t2" == store.current().version
        assert store.rollback().version == "t1", "going back twice goes back two"
        with pytest.raises(InputError, match="no such calibration"):
            store.rollback()
        assert store.rollback("t3").version == "t3"
        with pytest.raises(InputError):
            store.rollback("t9")

    def test_of_two_calibrations_at_once_one_wins(self, store, monkeypatch):
        store.publish(made("t1"))
        inner = store._pointer
        calls = []

        def slow():
            found = inner()
            if not calls:
                calls.append(1)
                store.publish(made("t2"))
            return found

        monkeypatch.setattr(store, "_pointer", slow)
        with pytest.raises(PublishConflict):
            store.publish(made("t3"))
        assert store.current().version == "t2"

    def test_what_is_in_force_is_fixed_calibrated_or_where_the_model_begins(self, store, tmp_path):
        from babelray.config import LocalizationSettings

        opened = open_store(str(tmp_path))
        assert current_thresholds(opened, LocalizationSettings(), KEY).version == "start"
        store.publish(made("t1", 0.88))
        assert current_thresholds(opened, LocalizationSettings(), KEY).of("en", "es") == 0.88
        fixed = LocalizationSettings(hints={"threshold": 0.7})
        assert current_thresholds(opened, fixed, KEY).of("en", "es") == 0.7


def test_nothing_is_gathered_from_records_that_nobody_labelled():
    assert gather([]) == {}
