import numpy as np
import pytest

from babelray.errors import InputError
from babelray.evaluation.intervals import mean_interval, ratio_interval


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(200):
        values = rng.normal(0.5, 0.2, 60).tolist()
        interval = mean_interval(values, [str(at) for at in range(60)], resamples=400, seed=seed)
        assert interval.value == pytest.approx(np.mean(values))
        inside += interval.low <= 0.5 <= interval.high
    assert 175 <= inside <= 200


def test_cases_of_one_group_are_drawn_together():
    values = [0.0, 1.0] * 50
    alone = mean_interval(values, [str(at) for at in range(100)])
    together = mean_interval(values, [str(at % 2) for at in range(100)])
    assert (together.low, together.high) == (0.0, 1.0)
    assert alone.high - alone.low < 0.25


def test_a_ratio_is_of_the_sums_and_paired():
    above, below = [0.2, 0.4, 0.9], [0.1, 0.2, 0.45]
    interval = ratio_interval(above, below, ["a", "b", "c"])
    assert (interval.value, interval.low, interval.high) == pytest.approx((2.0, 2.0, 2.0))
    assert mean_interval(above, ["a", "b", "c"], seed=5) == mean_interval(above, ["a", "b", "c"], seed=5)


def test_nothing_below_gives_zero_and_nothing_at_all_is_an_error():
    assert ratio_interval([1.0], [0.0], ["a"]).value == 0.0
    with pytest.raises(InputError, match="one value and one group"):
        mean_interval([], [])
    with pytest.raises(InputError):
        ratio_interval([1.0], [1.0, 2.0], ["a"])
