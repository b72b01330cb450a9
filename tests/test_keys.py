import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from babelray.keys import ModelKey, Role, digest_of

KEY = ModelKey(
    provider="hf",
    name="bge-m3",
    revision="rev-x",
    dimension=1024,
    dtype="fp32",
    max_tokens=512,
    tokenizer_revision="rev-x",
    query_template="query: {text}",
    passage_template="passage: {text}",
)
CHANGES = {
    "provider": "endpoint",
    "name": "bge-m4",
    "revision": "rev-y",
    "endpoint": "http://127.0.0.1:1",
    "dimension": 768,
    "pooling": "cls",
    "dtype": "bf16",
    "max_tokens": 256,
    "tokenizer_revision": "rev-y",
    "query_template": "{text}",
    "query_template_version": "2",
    "passage_template": "{text}",
    "passage_template_version": "2",
}


def test_every_field_but_the_only_normalization_changes_the_digest() -> None:
    assert set(CHANGES) | {"normalization"} == set(ModelKey.model_fields)
    keys = [KEY, *(KEY.model_copy(update={field: value}) for field, value in CHANGES.items())]
    for one, other in itertools.combinations(keys, 2):
        assert one.digest != other.digest
        assert one != other


def test_differences_name_the_field_and_both_values() -> None:
    other = KEY.model_copy(update={"dtype": "bf16", "dimension": 8})
    assert KEY.differences(other) == {"dtype": ("fp32", "bf16"), "dimension": (1024, 8)}


def test_readable_form() -> None:
    assert KEY.readable() == "hf|bge-m3|rev-x|local|1024|l2|mean|fp32|512|rev-x|q-1|p-1"


def test_role_picks_the_template_and_braces_in_texts_are_left_alone() -> None:
    assert KEY.render("{text} {0}", Role.QUERY) == "query: {text} {0}"
    assert KEY.render("a", Role.PASSAGE) == "passage: a"


@pytest.mark.parametrize("template", ["", "query: ", "{text} and {text}"])
def test_a_template_without_exactly_one_place_is_refused(template: str) -> None:
    with pytest.raises(ValidationError):
        ModelKey(**{**KEY.model_dump(), "query_template": template})


def test_a_key_cannot_be_changed_after_construction() -> None:
    with pytest.raises(ValidationError):
        KEY.dimension = 3  # type: ignore[misc]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
)


@given(st.dictionaries(st.text(), JSON))
def test_digest_does_not_depend_on_key_order(value: dict[str, object]) -> None:
    assert digest_of(value) == digest_of(dict(reversed(value.items())))


def test_digest_takes_lone_surrogates() -> None:
    assert digest_of("\ud800") != digest_of("\ud801")
