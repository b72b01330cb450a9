import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.batching import plan_batches


@given(st.lists(st.integers(0, 600), max_size=200), st.integers(1, 4096))
def test_every_text_once_within_budget_and_longest_first(lengths, budget):
    batches = plan_batches(lengths, budget)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        padded = max(max(lengths[position] for position in batch), 1) * len(batch)
        assert padded <= budget or len(batch) == 1
    flat = [lengths[position] for batch in batches for position in batch]
    assert [max(length, 1) for length in flat] == sorted((max(length, 1) for length in flat), reverse=True)


@given(st.lists(st.integers(1, 600), max_size=200), st.integers(1, 4096))
def test_only_the_last_batch_has_room_for_one_more(lengths, budget):
    batches = plan_batches(lengths, budget)
    for batch in batches[:-1]:
        assert lengths[batch[0]] * (len(batch) + 1) > budget


def test_ties_keep_the_order_of_the_input():
    assert [batch.tolist() for batch in plan_batches([3, 5, 3, 5, 3], 10)] == [[1, 3], [0, 2, 4]]


def test_text_over_the_budget_is_alone():
    assert [batch.tolist() for batch in plan_batches([100, 2, 2], 4)] == [[0], [1, 2]]


def test_nothing_to_do():
    assert plan_batches(np.array([], dtype=np.int64), 16) == []


def test_budget_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        plan_batches([1], 0)
