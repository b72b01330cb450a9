import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelray.config import ChannelSettings, ChannelsSettings, CohortWeights, FusionSettings
from babelray.retrieval.channels import Channel, Found
from babelray.retrieval.fusion import CohortTable, fuse

EQUAL = dict.fromkeys(Channel, 1.0)


def ranked(*places):
    return [Found(place, rank, 1.0 / rank, "v") for rank, place in enumerate(places, start=1)]


def test_scores_are_weighted_reciprocal_ranks():
    found = {Channel.DENSE: ranked((0, 1), (0, 2)), Channel.EXACT: ranked((0, 2))}
    fused = fuse(found, lambda _: {Channel.DENSE: 1.0, Channel.EXACT: 2.0}, 60)
    assert [one.place for one in fused] == [(0, 2), (0, 1)]
    assert fused[0].score == pytest.approx(2 / 61 + 1 / 62)
    assert set(fused[0].found) == {Channel.DENSE, Channel.EXACT}


def test_ties_go_by_best_rank_then_place():
    found = {Channel.DENSE: ranked((1, 5), (0, 9)), Channel.ORIGINAL: ranked((0, 9), (1, 5)), Channel.ALIAS: []}
    assert [one.place for one in fuse(found, lambda _: EQUAL, 60)] == [(0, 9), (1, 5)]


def test_weights_may_depend_on_the_passage():
    found = {Channel.DENSE: ranked((0, 1), (0, 2))}
    fused = fuse(found, lambda place: {Channel.DENSE: 5.0 if place == (0, 2) else 1.0}, 60)
    assert fused[0].place == (0, 2)


places = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), unique=True, max_size=12)


@given(st.dictionaries(st.sampled_from(list(Channel)), places))
def test_the_order_of_the_channels_does_not_matter(lists):
    found = {channel: ranked(*hits) for channel, hits in lists.items()}
    backwards = dict(reversed(found.items()))
    one, other = fuse(found, lambda _: EQUAL, 60), fuse(backwards, lambda _: EQUAL, 60)
    assert [(hit.place, hit.score) for hit in one] == [(hit.place, hit.score) for hit in other]
    assert {hit.place for hit in one} == {place for hits in lists.values() for place in hits}
    assert [hit.score for hit in one] == sorted((hit.score for hit in one), reverse=True)


def test_the_most_exact_cohort_wins():
    fusion = FusionSettings(
        cohorts=(
            CohortWeights(query="zh-Hans", passage="en", weights={"dense": 4.0}),
            CohortWeights(query="zh", weights={"dense": 2.0, "original": 0.5}),
            CohortWeights(weights={"dense": 1.5}),
        )
    )
    equal = ChannelsSettings(**dict.fromkeys(Channel, ChannelSettings()))
    table = CohortTable(equal, fusion)
    assert table.weights("zh-Hans", "en")[Channel.DENSE] == 4.0
    assert table.weights("zh-Hans", "en")[Channel.ORIGINAL] == 0.5
    assert table.weights("zh-Hant", "en")[Channel.DENSE] == 2.0
    assert table.weights("de", "en")[Channel.DENSE] == 1.5
    assert table.weights("de", "en")[Channel.ORIGINAL] == FusionSettings().cross_language["original"]


def test_words_count_less_where_two_known_languages_meet():
    equal = ChannelsSettings(**dict.fromkeys(Channel, ChannelSettings()))
    table = CohortTable(equal, FusionSettings(cross_language={"original": 0.25}))
    assert table.weights("zh-Hans", "en")[Channel.ORIGINAL] == 0.25
    assert table.weights("zh-Hans", "en")[Channel.DENSE] == 1.0
    for query, passage in (("zh-Hans", "zh-Hant"), ("und", "en"), ("en", "zxx"), ("en", "en")):
        assert table.weights(query, passage)[Channel.ORIGINAL] == 1.0
