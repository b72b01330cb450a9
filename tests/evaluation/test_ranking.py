import math

import pytest

from babelray.errors import InputError
from babelray.evaluation.ranking import ChannelGain, averages, channel_report, per_case

JUDGED = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}}
RANKED = {"q1": ["x", "a", "y", "b"], "q2": ["c", "x"]}


def test_measures_are_those_of_the_definitions():
    got = per_case(RANKED, JUDGED, ["RR@10", "R@2", "nDCG@10", "Success@1"])
    assert got["RR@10"] == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    assert got["R@2"] == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    assert got["Success@1"] == {"q1": 0.0, "q2": 1.0, "q3": 0.0}
    ideal = 1 + 1 / math.log2(3)
    assert got["nDCG@10"]["q1"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def test_a_case_that_found_nothing_counts_in_the_average():
    assert averages(RANKED, JUDGED, ["RR@10"]) == {"RR@10": pytest.approx(0.5)}
    assert averages({}, JUDGED, ["R@10"]) == {"R@10": 0.0}


def test_the_order_given_is_the_order_judged():
    many = [f"d{at:04d}" for at in range(300)]
    for target in ("d0000", "d0150", "d0299"):
        got = per_case({"q": many}, {"q": {target: 1}}, ["RR"])
        assert got["RR"]["q"] == pytest.approx(1 / (many.index(target) + 1))


def test_channels_their_union_and_what_each_alone_finds():
    channels = {
        "dense": {"q1": ["a", "x"], "q2": ["c"]},
        "words": {"q1": ["b", "a"], "q2": ["x"]},
        "empty": {},
    }
    report = channel_report(channels, JUDGED, 2)
    assert (report.cases, report.union) == (3, pytest.approx(2 / 3))
    assert report.channels["dense"] == ChannelGain(pytest.approx(0.5), pytest.approx(1 / 3), 1)
    assert report.channels["words"] == ChannelGain(pytest.approx(1 / 3), pytest.approx(1 / 6), 0)
    assert report.channels["empty"] == ChannelGain(0.0, 0.0, 0)
    assert channel_report(channels, JUDGED, 1).channels["words"].recall == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("rankings", "judged", "measures", "message"),
    [
        ({}, {}, ["RR@10"], "nothing is judged"),
        ({}, {"q": {"a": 0}}, ["RR@10"], "no relevant document"),
        ({"q": ["a", "a"]}, {"q": {"a": 1}}, ["RR@10"], "twice"),
        ({"q": ["a"]}, {"q": {"a": 1}}, ["Wit@3"], "not a ranking measure"),
    ],
)
def test_what_cannot_be_measured_is_refused(rankings, judged, measures, message):
    with pytest.raises(InputError, match=message):
        averages(rankings, judged, measures)
