from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from babelray.errors import AccessDenied
from babelray.index.access import (
    AccessClass,
    AccessScope,
    AccessTable,
    AccessValues,
    compile_scope,
    is_valid_at,
    to_micros,
)
from babelray.text.types import Document

TENANTS = ["a", "b"]
BASES = ["docs", "wiki"]
GROUPS = ["*", "dev", "ops", "hr"]
STATUSES = ["active", "draft"]
DOC_IDS = [f"d{n}" for n in range(6)]


def values(tenant="a", base="docs", groups=("*",), status="active"):
    return AccessValues(tenant, base, tuple(groups), status)


def table_of(*effective, **kwargs):
    return AccessTable(classes=tuple(AccessClass(one, one) for one in effective), **kwargs)


value_sets = st.builds(
    AccessValues,
    st.sampled_from(TENANTS),
    st.sampled_from(BASES),
    st.lists(st.sampled_from(GROUPS), max_size=3).map(tuple),
    st.sampled_from(STATUSES),
)


@st.composite
def tables(draw):
    declared = draw(st.lists(value_sets, max_size=6, unique=True))
    classes = []
    for one in declared:
        now = draw(st.none() | value_sets)
        effective = one if now is None else AccessValues(one.tenant_id, now.knowledge_base_id, now.groups, now.status)
        classes.append(AccessClass(one, effective))
    overrides = draw(st.dictionaries(st.sampled_from(DOC_IDS), value_sets, max_size=3))
    deleted = draw(st.frozensets(st.sampled_from(DOC_IDS), max_size=2))
    return AccessTable("r1", tuple(classes), overrides, deleted)


scopes = st.builds(
    AccessScope,
    tenant_id=st.sampled_from([*TENANTS, "nobody-knows"]),
    groups=st.frozensets(st.sampled_from(GROUPS[1:]), max_size=3),
    knowledge_bases=st.none() | st.frozensets(st.sampled_from(BASES), max_size=2),
    statuses=st.frozensets(st.sampled_from(STATUSES), max_size=2),
    as_of=st.just(datetime(2025, 1, 1, tzinfo=UTC)),
)


def oracle(table, scope, number, doc_id, valid_from, valid_to):
    """The rules written out once more, the long way, with nothing shared."""
    if number >= len(table.classes):
        return False
    if doc_id in table.deleted:
        return False
    effective = table.classes[number].effective
    if doc_id in table.overrides:
        if table.overrides[doc_id].tenant_id != effective.tenant_id:
            return False
        effective = table.overrides[doc_id]
    if effective.tenant_id != scope.tenant_id:
        return False
    if effective.status not in scope.statuses:
        return False
    if scope.knowledge_bases is not None and effective.knowledge_base_id not in scope.knowledge_bases:
        return False
    if "*" not in effective.groups and not any(group in scope.groups for group in effective.groups):
        return False
    now = to_micros(scope.as_of)
    if valid_from is not None and now < valid_from:
        return False
    return valid_to is None or now < valid_to


@given(
    tables(),
    scopes,
    st.integers(0, 7),
    st.sampled_from(DOC_IDS),
    st.none() | st.integers(-1, 1),
    st.none() | st.integers(-1, 1),
)
def test_compiled_sets_and_row_check_equal_the_rules(table, scope, number, doc_id, from_shift, to_shift):
    compiled = compile_scope(table, scope)
    now = compiled.as_of
    valid_from = None if from_shift is None else now + from_shift
    valid_to = None if to_shift is None else now + to_shift
    expected = oracle(table, scope, number, doc_id, valid_from, valid_to)
    declared = table.classes[number].declared if number < len(table.classes) else values("a")
    assert compiled.permits(number, declared, doc_id, valid_from, valid_to) == expected
    by_sets = number in compiled.classes
    if doc_id in table.overrides:
        same_tenant = number < len(table.classes) and table.classes[number].declared.tenant_id == scope.tenant_id
        by_sets = doc_id in compiled.documents and same_tenant
    if doc_id in table.deleted:
        by_sets = False
    assert (by_sets and is_valid_at(now, valid_from, valid_to)) == expected


@given(tables(), scopes, st.data())
def test_narrowing_never_shows_more(table, scope, data):
    groups = data.draw(st.none() | st.frozensets(st.sampled_from(sorted(scope.groups)))) if scope.groups else None
    pool = sorted(scope.knowledge_bases) if scope.knowledge_bases is not None else BASES
    bases = data.draw(st.none() | st.frozensets(st.sampled_from(pool))) if pool else None
    narrow = scope.narrow(groups=groups, knowledge_bases=bases)
    wide_set, narrow_set = compile_scope(table, scope), compile_scope(table, narrow)
    assert set(narrow_set.classes) <= set(wide_set.classes)
    assert narrow_set.documents <= wide_set.documents


@pytest.mark.parametrize(
    "asked", [{"groups": ["ops"]}, {"knowledge_bases": ["wiki", "docs"]}, {"statuses": ["active", "draft"]}]
)
def test_widening_is_refused(asked):
    scope = AccessScope(tenant_id="a", groups=frozenset({"dev"}), knowledge_bases=frozenset({"docs"}))
    with pytest.raises(AccessDenied, match="only narrow"):
        scope.narrow(**asked)


def test_an_unlimited_scope_may_be_narrowed_to_any_base_and_not_back():
    narrow = AccessScope(tenant_id="a").narrow(knowledge_bases=["docs"])
    assert narrow.knowledge_bases == frozenset({"docs"})
    with pytest.raises(AccessDenied):
        narrow.narrow(knowledge_bases=["wiki"])


def test_a_scope_cannot_be_made_loosely():
    with pytest.raises(ValidationError):
        AccessScope(groups=frozenset({"dev"}))
    with pytest.raises(ValidationError):
        AccessScope(tenant_id="")
    with pytest.raises(ValidationError, match="mark documents"):
        AccessScope(tenant_id="a", groups=frozenset({"*"}))
    with pytest.raises(ValidationError):
        AccessScope(tenant_id="a", as_of=datetime(2025, 1, 1))
    with pytest.raises(ValidationError):
        AccessScope(tenant_id="a").tenant_id = "b"


def test_no_groups_on_a_document_means_nobody_and_star_means_the_tenant_only():
    table = table_of(values(groups=()), values(groups=("*",)))
    everything = frozenset({"dev", "ops", "hr"})
    assert compile_scope(table, AccessScope(tenant_id="a", groups=everything)).classes == (1,)
    assert compile_scope(table, AccessScope(tenant_id="b", groups=everything)).classes == ()


def test_an_override_into_another_tenant_hides_the_document_from_both():
    table = table_of(values("a"), overrides={"d0": values("b")})
    for tenant in TENANTS:
        compiled = compile_scope(table, AccessScope(tenant_id=tenant))
        assert not compiled.permits(0, values("a"), "d0", None, None)


def test_a_row_whose_class_is_not_the_one_its_document_declared_is_refused():
    table = table_of(values(groups=("hr",)), values(groups=("*",)))
    compiled = compile_scope(table, AccessScope(tenant_id="a"))
    assert compiled.permits(1, values(groups=("*",)), "d", None, None)
    assert not compiled.permits(1, values(groups=("hr",)), "d", None, None)


def test_validity_is_half_open():
    assert is_valid_at(10, 10, None) and not is_valid_at(9, 10, None)
    assert is_valid_at(9, None, 10) and not is_valid_at(10, None, 10)
    assert not is_valid_at(10, 10, 10)


def test_micros_are_exact_far_from_now():
    last = datetime.max.replace(tzinfo=UTC)
    assert to_micros(last) - to_micros(last - timedelta(microseconds=1)) == 1
    assert to_micros(datetime(1970, 1, 1)) == 0


def test_groups_are_a_set():
    assert values(groups=("b", "a", "b")) == values(groups=("a", "b"))
    document = Document("d", "u", "r", "t", tenant_id="a", acl_groups=("x", "x"))
    assert AccessValues.of(document) == AccessValues("a", "default", ("x",), "active")


def test_digests_name_scope_and_compiled_sets():
    table = table_of(values(groups=("dev",)), values(groups=("ops",)))
    moment = datetime(2025, 1, 1, tzinfo=UTC)
    dev = AccessScope(tenant_id="a", groups=frozenset({"dev"}), as_of=moment)
    later = AccessScope(tenant_id="a", groups=frozenset({"dev"}), as_of=moment + timedelta(seconds=1))
    ops = AccessScope(tenant_id="a", groups=frozenset({"ops"}), as_of=moment)
    assert dev.digest != later.digest != ops.digest
    assert compile_scope(table, dev).digest == compile_scope(table, later).digest
    assert compile_scope(table, dev).digest != compile_scope(table, ops).digest
